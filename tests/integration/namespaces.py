"""Test hosts on one machine: network namespaces behind a bridge, which is in a namespace of its own, so that several tests run
at a time and nothing of the machine's network changes. Needs root and `ip` (iproute2)."""

from __future__ import annotations

import os
import secrets
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NETWORK = "10.99.0."
SWITCH = f"{NETWORK}1"
"""Address of the namespace with the bridge, where relays and mpiexec run."""
BRIDGE = "br0"
MTU = "9000"
"""Bytes of a frame between hosts that a program joins."""
ENDING_S = 1.0
MPI_SHELL = """#!/bin/sh
while [ "${{1#-}}" != "$1" ]; do shift; done
host=${{1##*.}}
shift
exec ip netns exec {run}h$((host - 11)) {within} sh -c "$*"
"""
"""What mpiexec calls in the place of ssh: [OPTIONS] ADDRESS COMMAND."""
APART_S = 5000
APART = f"unshare --time --monotonic $(({APART_S} * (host - 11))) --fork"
"""What runs each host in a time namespace, whose monotonic clock is so far ahead of that of the host before."""


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Hosts:
    """`count` hosts, numbered from 0.

    Attributes:
        wires: the program that joins them, with what it is told of delay and loss (`wires.py`); None: a bridge does.
    """

    def __init__(self, count: int, wires: tuple[float, float] | None = None) -> None:
        self.run = f"as{secrets.token_hex(3)}"
        self.count = count
        self._says = wires
        self.wires: subprocess.Popen[str] | None = None

    def name(self, number: int) -> str:
        """The namespace of a host."""
        return f"{self.run}h{number}"

    @property
    def switch(self) -> str:
        return f"{self.run}sw"

    @staticmethod
    def address(number: int) -> str:
        return f"{NETWORK}{11 + number}"

    def up(self) -> None:
        _ip("netns", "add", self.switch)
        if self._says is not None:
            self._join(*self._says)
        else:
            _ip("-n", self.switch, "link", "add", BRIDGE, "type", "bridge")
        _ip("-n", self.switch, "addr", "add", f"{SWITCH}/24", "dev", BRIDGE)
        _ip("-n", self.switch, "link", "set", BRIDGE, "up")
        _ip("-n", self.switch, "link", "set", "lo", "up")
        for number in range(self.count):
            name, port = self.name(number), f"v{number}"
            if self._says is None:
                _ip("netns", "add", name)
                _ip(
                    *("-n", self.switch, "link", "add", port, "type", "veth", "peer", "name", "eth0"),
                    *("netns", name),
                )
                _ip("-n", self.switch, "link", "set", port, "master", BRIDGE, "up")
            _ip("-n", name, "addr", "add", f"{self.address(number)}/24", "dev", "eth0")
            for device in ("eth0", "lo"):
                _ip("-n", name, "link", "set", device, "up")

    def _join(self, delay: float, loss: float) -> None:
        """Starts the program that joins the hosts, and makes them."""
        names = [self.name(number) for number in range(self.count)]
        for name in names:
            _ip("netns", "add", name)
        words = [sys.executable, "-m", "tests.integration.wires", str(delay), str(loss), MTU, *names]
        self.wires = self.start(self.switch, *words)
        assert self.wires.stdout is not None and self.wires.stdout.readline() == "ready\n"

    def down(self) -> None:
        for name in (*(self.name(number) for number in range(self.count)), self.switch):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def cut(self, number: int) -> None:
        """Takes the cable of a host out."""
        _ip("-n", self.switch, "link", "set", f"v{number}", "down")

    def mend(self, number: int) -> None:
        """Puts it in again."""
        _ip("-n", self.switch, "link", "set", f"v{number}", "up")

    def start(
        self, name: str, *command: str, cwd: Path = ROOT, environment: dict[str, str] | None = None
    ) -> subprocess.Popen[str]:
        """Starts a program in a namespace."""
        return subprocess.Popen(
            ["ip", "netns", "exec", name, *command],
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def launch(self, number: int, *words: object, **options: object) -> subprocess.Popen[str]:
        """`actorstream launch` on a host."""
        return self.start(
            self.name(number),
            *(sys.executable, "-m", "actorstream", "launch", *map(str, words)),
            **options,  # type: ignore[arg-type]
        )

    def mpi(self, folder: Path, *words: object, ranks: int = 1, within: str = "") -> subprocess.Popen[str]:
        """`actorstream launch` of ranks of MPI, so many on each host, from the namespace with the bridge. mpiexec reads the
        hosts, and how to reach them, from its variables. `within`: a command that runs those of each host."""
        shell, addresses = folder / "mpi-shell", folder / "mpi-hosts"
        shell.write_text(MPI_SHELL.format(run=self.run, within=within))
        shell.chmod(0o755)
        addresses.write_text("".join(f"{self.address(number)}:{ranks}\n" for number in range(self.count)))
        return self.start(
            self.switch,
            *(sys.executable, "-m", "actorstream", "launch", *map(str, words)),
            environment={
                "HYDRA_HOST_FILE": str(addresses),
                "HYDRA_IFACE": BRIDGE,
                "HYDRA_LAUNCHER": "ssh",
                "HYDRA_LAUNCHER_EXEC": str(shell),
                "UCX_TLS": "tcp,self",
            },
        )

    def processes(self) -> list[int]:
        """All processes in the namespaces."""
        found: list[int] = []
        for name in (*(self.name(number) for number in range(self.count)), self.switch):
            said = subprocess.run(["ip", "netns", "pids", name], capture_output=True, text=True, check=False)
            found += [int(word) for word in said.stdout.split()]
        return found


def _ends(pid: int) -> bool:
    """Whether a process ends by itself: one that was killed takes some time to give its memory back."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([descriptor], [], [], ENDING_S)[0])
    finally:
        os.close(descriptor)


def _command(pid: int) -> str:
    """The command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")


@contextmanager
def hosts(count: int, wires: tuple[float, float] | None = None) -> Iterator[Hosts]:
    """Test hosts, gone afterwards. Skips where they cannot be made; fails in CI, where they can."""
    why = "needs root" if os.geteuid() else "needs ip of iproute2" if shutil.which("ip") is None else ""
    if why:
        assert not os.environ.get("CI"), f"CI {why}"
        pytest.skip(why)
    made = Hosts(count, wires)
    try:
        made.up()
        yield made
        if made.wires is not None:
            made.wires.kill()
            made.wires.communicate()
        left = {pid: _command(pid) for pid in made.processes() if not _ends(pid)}
        assert not left, f"processes left behind: {left}"
    finally:
        for pid in made.processes():
            subprocess.run(["kill", "-9", str(pid)], check=False, capture_output=True)
        made.down()


def remote_shell(folder: Path, within: str = "") -> list[str]:
    """A command in the place of ssh: the namespace is its target."""
    script = folder / "remote-shell"
    script.write_text(f'#!/bin/sh\nhost=$((11 + ${{1##*h}}))\nexec ip netns exec "$1" {within} sh -c "$2"\n')
    script.chmod(0o755)
    return [str(script)]


def deployment(folder: Path, made: Hosts, *lines: str, slots: Sequence[int] = (), within: str = "") -> Path:
    """A deployment of all hosts. `lines`: of [network]. `within`: a command that runs the workers of each host."""
    text = ['transport = "zmq"', "[network]", f"remote_shell = {remote_shell(folder, within)}", *lines]
    for number in range(made.count):
        text += ["[[hosts]]", f'address = "{made.address(number)}"', f'ssh = "{made.name(number)}"']
        text += [f"slots = {slots[number]}"] if slots else []
    path = folder / "hosts.toml"
    path.write_text("\n".join(text).replace("'", '"') + "\n")
    return path
