"""A task of the barrier stage: starts one worker of a run on its executor, and ends with it.

The driver sends this module itself, so that it runs where the package is missing: it imports the package only once the
environment that Spark has shipped is on the path."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ENVIRONMENT, PROJECT = "environment", "project"
"""Folders that shipped archives are unpacked in."""
LONGEST_PIECE = 1 << 16
"""Characters of a line that are sent at once: as JSON at most 12 bytes each, and the driver reads lines of at most 1 MiB."""
LOOK_S = 0.2
"""A worker is killed so long after the process of its executor has gone, at the latest."""


@dataclass(frozen=True)
class RankCommand:
    """The command that each task starts.

    Attributes:
        monitor, token: where the driver listens, and what shows it that a task of this run connects.
        arguments: of `actorstream launch`.
        folder: the working directory of the driver.
        hub: where sources meet the driver that reads for them; "": there are none.
        resumes: whether the run has checkpoints, so that a stage that starts again goes on from the last one.
        ships_environment, ships_project: whether the archives are there.
    """

    monitor: tuple[str, int]
    token: str
    arguments: tuple[str, ...]
    folder: str
    hub: str
    resumes: bool
    ships_environment: bool = False
    ships_project: bool = False

    def __call__(self, _: Iterator[Any]) -> Iterator[tuple[int, int]]:
        """Returns the rank, and the exit status of its worker. RuntimeError: a signal has ended the worker, so Spark is to
        start the stage again."""
        from pyspark import BarrierTaskContext

        context: Any = BarrierTaskContext.get()
        rank = context.partitionId()
        with socket.create_connection(self.monitor) as link:
            _send(link, {"token": self.token, "rank": rank})
            with link.makefile("r") as said:
                attempt = json.loads(said.readline())["attempt"]
                self._use_environment()
                status = self._run(context, link, said, attempt)
                link.shutdown(socket.SHUT_RDWR)  # ends the thread that waits for signals
        if status < 0:
            raise RuntimeError(f"worker {rank} was ended by signal {-status}")
        yield rank, status

    def _use_environment(self) -> None:
        if self.ships_environment and find_spec("actorstream") is None:
            from pyspark import SparkFiles

            sys.path.append(SparkFiles.get(ENVIRONMENT))

    def _folder(self) -> str | None:
        """Where the command runs: in the driver's working directory if that is here, too."""
        if self.ships_project:
            from pyspark import SparkFiles

            return SparkFiles.get(PROJECT)
        return self.folder if Path(self.folder).is_dir() else None

    def _run(self, context: Any, link: socket.socket, said: Any, attempt: int) -> int:
        """Meets the other tasks, and runs the worker to its end. Returns its exit status."""
        from actorstream.launch.process import die_with_parent
        from actorstream.spark.hub import HUB, OWN_HOST
        from actorstream.transports.network.keys import KEY_BYTES, VARIABLE
        from actorstream.transports.zmq.ports import free_ports
        from actorstream.transports.zmq.starter import FROM_STDIN, RANK

        address = link.getsockname()[
            0
        ]  # under which this host reaches the driver, and so the others reach it
        held, port = free_ports(address)
        own = {"address": address, "port": port, "key": os.urandom(KEY_BYTES).hex()}
        others = [json.loads(each) for each in context.allGather(json.dumps(own))]
        held.close()
        hosts = ", ".join(f'{{address = "{each["address"]}", port = {each["port"]}}}' for each in others)
        command = [sys.executable, "-m", "actorstream", "launch", *self.arguments]
        command += ["--transport", "zmq", "--workers", str(len(others)), "--set", f"deploy.hosts=[{hosts}]"]
        if attempt and self.resumes and "--resume" not in command:
            command.append("--resume")
        environment = {
            **os.environ,
            **{RANK: str(context.partitionId()), VARIABLE: FROM_STDIN},
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        if self.hub:
            environment |= {HUB: self.hub, OWN_HOST: address}
        parent = os.getpid()
        process = subprocess.Popen(
            command,
            cwd=self._folder(),
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=(link.fileno(),),  # so that the driver sees when both processes have ended
            preexec_fn=lambda: die_with_parent(parent, ""),
        )
        assert process.stdin is not None
        process.stdin.write(f"{others[0]['key']}\n".encode())
        process.stdin.flush()
        lock = threading.Lock()
        readers = [
            threading.Thread(target=_pass_on, args=(process.stdout, "out", link, lock), daemon=True),
            threading.Thread(target=_pass_on, args=(process.stderr, "error", link, lock), daemon=True),
        ]
        for reader in readers:
            reader.start()
        threading.Thread(target=_pass_signals, args=(said, process), daemon=True).start()
        return _waited(process, readers)


def _waited(process: subprocess.Popen[bytes], readers: list[threading.Thread]) -> int:
    """The exit status. Kills the worker if this process has lost its executor."""
    executor = os.getppid()
    while True:
        try:
            status = process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            if os.getppid() != executor:
                process.send_signal(signal.SIGKILL)
            continue
        for reader in readers:
            reader.join()
        return status


def _pass_on(pipe: Any, kind: str, link: socket.socket, lock: threading.Lock) -> None:
    """Sends the lines that the worker writes to the driver, whatever bytes they have."""
    text = io.TextIOWrapper(pipe, errors="replace")
    while piece := text.readline(LONGEST_PIECE):
        with lock, suppress(OSError):
            _send(link, {kind: piece})


def _pass_signals(said: Any, process: subprocess.Popen[bytes]) -> None:
    """Passes on names of signals from the driver to the worker; kills it when the driver has gone."""
    assert process.stdin is not None
    with suppress(OSError, ValueError):
        for line in said:
            process.stdin.write(line.encode())
            process.stdin.flush()
    process.kill()


def _send(link: socket.socket, line: dict[str, Any]) -> None:
    link.sendall(json.dumps(line).encode() + b"\n")


def probe(archives: str) -> Callable[[Any], list[str]]:
    """A function that says what an executor lacks: `environment`, `project` (a file that must be there), or nothing."""

    def look(_: Any) -> list[str]:
        lacks = [] if find_spec("actorstream") is not None else [ENVIRONMENT]
        return lacks if Path(archives).exists() else [*lacks, PROJECT]

    return look
