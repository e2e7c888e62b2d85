"""The program that starts the workers of a run on the hosts of its deployment: those of this host by itself, the others by a
remote shell (ssh). It hands each the key of the job on its standard input, passes signals on, and waits. Nobody needs it once
all have started: workers go on if it is killed.

Its arguments are the deployment as JSON and the command of a worker.
"""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from actorstream.errors import ConfigurationError
from actorstream.transports.network.interfaces import address_of, is_of_this_host
from actorstream.transports.network.keys import KEY_BYTES, VARIABLE, parse_key, read_key
from actorstream.transports.zmq.places import host_of

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.hosts import HostSpec

RANK = "ACTORSTREAM_RANK"
"""Which worker a process is."""
FROM_STDIN = "-"
"""In the place of the key: it comes on standard input, and after it names of signals."""
_SIGNALS = {"INT": signal.SIGINT, "TERM": signal.SIGTERM}
_GIVE_UP = "GIVE UP"
"""A worker gets this if the remote shell of another one has failed. It then ends and prints nothing, unless the run has begun."""
_begun = threading.Event()
NOT_STARTED = 2
"""The exit status when a worker could not start."""
ENDING_S = 5.0
"""How long the other workers may take to end after the home worker has ended with an error, or a second signal was passed on,
beside the time after which they miss it."""
UNREACHED = 255
"""The exit status of a remote shell that has not reached the host, or has lost it or its worker."""
OF_SHELL = (UNREACHED, 127, 126)
"""Exit statuses of a remote shell without its worker's: this, or there is no such command."""


def starting_command(deploy: DeploySpec, command: Sequence[str]) -> list[str]:
    """The command that starts the workers, each of which runs `command`."""
    said = {"hosts": deploy.hosts, "network": deploy.network, "workers": deploy.workers}
    program = f"import sys; from {__name__} import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-P", "-c", program, msgspec.json.encode(said).decode(), *command]


def run_begins() -> None:
    """All workers have started, so from now on this one says what ends the run."""
    _begun.set()


def key_from_stdin() -> bytes:
    """The key that the starter hands over, and from now on the signals that it passes on. ConfigurationError: none came."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    threading.Thread(target=_pass_signals, name="actorstream-stdin", daemon=True).start()
    return parse_key(line.decode("ascii", "replace"), "standard input")


def _pass_signals() -> None:
    """Sends this process the signals that are named on standard input. Its end means nothing."""
    text = b""
    while data := os.read(0, 256):
        *lines, text = (text + data).split(b"\n")
        for line in lines:
            word = line.decode("ascii", "replace")
            if word == _GIVE_UP and not _begun.is_set():
                os._exit(NOT_STARTED)
            if word in _SIGNALS:
                os.kill(os.getpid(), _SIGNALS[word])


class Starter:
    """Starts and watches the workers.

    Args:
        deploy: hosts, network and number of workers. command: of one worker.
    """

    def __init__(self, deploy: DeploySpec, command: Sequence[str]) -> None:
        self.deploy, self.command = deploy, list(command)
        path = deploy.network.key
        key = read_key(Path(path)) if path else secrets.token_bytes(KEY_BYTES)
        self._line = key.hex().encode() + b"\n"
        self._home = min(deploy.network.home, deploy.workers - 1)
        self._started: list[subprocess.Popen[bytes]] = []
        self._signals = 0
        self._given_up: set[int] = set()

    def run(self) -> int:
        """Returns the exit status of the home worker, or of one that could not start; 1 if no worker is left to say it."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._signalled)
        signal.signal(signal.SIGALRM, self._out_of_time)
        for rank in range(self.deploy.workers):
            self._started.append(self._start(rank, host_of(self.deploy, rank)))
        return self._wait()

    def _start(self, rank: int, host: HostSpec) -> subprocess.Popen[bytes]:
        if not host.ssh and is_here(host.address):
            command, environment = self.command, {**os.environ, RANK: str(rank), VARIABLE: FROM_STDIN}
        else:
            there = f"cd {shlex.quote(str(Path.cwd()))} && exec env {RANK}={rank} {VARIABLE}={FROM_STDIN} "
            words = [*(self.deploy.network.command or self.command[:3]), *self.command[3:]]
            command = [*self.deploy.network.remote_shell, host.ssh or host.address, there + shlex.join(words)]
            environment = dict(os.environ)
        try:
            # a session of its own: the terminal sends Ctrl-C to all, and one wish is passed on once
            made = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment, start_new_session=True)
        except OSError as error:
            self._end_all()
            raise ConfigurationError(
                f"worker {rank} on host {host.address!r} cannot be started: {command[0]}: {error.strerror}; correct "
                "network.remote_shell, or start the hosts yourself (--rank N)"
            ) from error
        self._tell(made, self._line)
        return made

    @staticmethod
    def _tell(process: subprocess.Popen[bytes], line: bytes) -> None:
        assert process.stdin is not None
        with suppress(OSError, ValueError):
            process.stdin.write(line)
            process.stdin.flush()

    def _signalled(self, number: int, _: object) -> None:
        name = next(name for name, each in _SIGNALS.items() if each == number)
        for process in self._started:  # as under mpiexec: to all, who count it as one wish
            self._tell(process, f"{name}\n".encode())
        self._signals += 1
        if self._signals > 1:
            self._limit_the_end()

    def _limit_the_end(self) -> None:
        """Others end with the home worker, or at a second signal. A host that is gone ends nothing: neither its worker nor, if it
        is told nothing of that, the remote shell."""
        if signal.getitimer(signal.ITIMER_REAL)[0] == 0.0:
            signal.setitimer(signal.ITIMER_REAL, self.deploy.network.peer_timeout.total_seconds() + ENDING_S)

    def _out_of_time(self, *_: object) -> None:
        for rank, process in enumerate(self._started):
            if process.returncode is None:
                self._given_up.add(rank)
                host = host_of(self.deploy, rank).address
                print(
                    f"actorstream: worker {rank} on host {host!r} has not ended with the run, and launch waits for it no longer; "
                    "look there for what is left of it",
                    file=sys.stderr,
                )
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)

    def _wait(self) -> int:
        statuses: dict[int, int] = {}
        while len(statuses) < len(self._started):
            pid, status = os.wait()
            rank = next((r for r, each in enumerate(self._started) if each.pid == pid), None)
            if rank is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            self._started[rank].returncode = code
            statuses[rank] = code
            if code in OF_SHELL:
                self._end_all()  # before the run; those of a run that has begun go on
            elif rank == self._home and code:
                self._limit_the_end()
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        ended = {rank: code for rank, code in statuses.items() if rank not in self._given_up}
        failed = not_started(ended)
        if failed is None:
            return exit_status(statuses, self._home)
        host = host_of(self.deploy, failed)
        if set(ended.values()) == {UNREACHED}:  # no worker is left to say whether the run had begun
            print(
                f"actorstream: worker {failed} on host {host.address!r} could not be started, or the connection to it was lost: "
                f"{' '.join(self.deploy.network.remote_shell[:1])} ended with status {UNREACHED}, as for all workers; see its "
                "message above, and look there for a run that goes on",
                file=sys.stderr,
            )
            return 1
        print(
            f"actorstream: worker {failed} could not be started on host {host.address!r}: "
            f"{' '.join(self.deploy.network.remote_shell[:1])} ended with status {statuses[failed]}; see its message above, and "
            "try the command by hand",
            file=sys.stderr,
        )
        return NOT_STARTED

    def _end_all(self) -> None:
        for process in self._started:
            self._tell(process, f"{_GIVE_UP}\n".encode())


def not_started(statuses: Mapping[int, int]) -> int | None:
    """The first worker that could not start, by the exit statuses of all in the order of their ends; None: the run had begun, and
    a remote shell that failed has lost its worker. Workers that had begun do not give up, and say themselves who is lost."""
    failed = next((rank for rank, code in statuses.items() if code in OF_SHELL), None)
    said = [code for code in statuses.values() if code not in OF_SHELL]
    return failed if all(code == NOT_STARTED for code in said) else None


def exit_status(statuses: Mapping[int, int], home: int) -> int:
    """The exit status of a run. All workers end with the same one, so another one's stands for that of a home worker whose
    remote shell has failed."""
    status = statuses[home]
    if status in OF_SHELL:
        status = max((code for code in statuses.values() if code not in OF_SHELL), default=1)
    return status if status >= 0 else 1  # below 0: a signal has ended it


def is_here(address: str) -> bool:
    """Whether an address is one of this host's."""
    try:
        number = address_of(address, 0)
    except OSError:
        return False
    return is_of_this_host(number)


def main(arguments: Sequence[str]) -> int:
    """Returns the exit status."""
    from actorstream.topology.deploy import DeploySpec

    try:
        return Starter(msgspec.json.decode(arguments[0], type=DeploySpec), arguments[1:]).run()
    except ConfigurationError as error:
        print(f"actorstream: {error}", file=sys.stderr)
        return 2
