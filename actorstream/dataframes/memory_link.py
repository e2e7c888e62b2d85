"""MemoryLink: connections to the source and the sink of a run that keep the rows of streaming queries in memory. A file in a
folder that all see says where each of them listens."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import Any

from actorstream.dataframes.run_beside import FAILED, LOCK
from actorstream.errors import RunError
from actorstream.spark.task_listener import TaskListener, connected, listening, reachable

INPUT, OUTPUT = "input", "output"
AGAIN_S = 0.01
Serve = Callable[[socket.socket, Mapping[str, Any]], None]


class MemoryListener:
    """The end of the run, until it is closed.

    Args:
        folder: of the queries. side: `INPUT` or `OUTPUT`.
        host: an address of this host that tasks on others reach, or "".
        serve: called in a thread of its own with a connection and what is asked.

    Attributes:
        run: tells this run from any other.
    """

    def __init__(self, folder: Path, side: str, host: str, serve: Serve) -> None:
        listener, name = listening()
        self._listener = TaskListener(listener, f"memory-{side}", serve)
        self.run = self._listener.token
        self._tunnel = None
        if host:
            from actorstream.transports.zmq.tunnel import Tunnel

            self._tunnel = Tunnel(host, lambda: connected(name))
        address = reachable(name, self._tunnel.address if self._tunnel is not None else "")
        path = _place(folder, side)
        partial = path.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        file = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "w") as out:
            json.dump([address, self.run], out)
        partial.replace(path)

    def close(self) -> None:
        self._listener.close()
        if self._tunnel is not None:
            self._tunnel.close()


@contextmanager
def asked(folder: Path, side: str, **question: Any) -> Iterator[tuple[socket.socket, Any]]:
    """A connection that has asked a question, and a file of what comes back. RunError: the run has failed or ended."""
    with _connected(folder, side, question) as link, link.makefile("rb") as file:
        yield link, file


def answered(file: Any) -> dict[str, Any]:
    """The answer, which is a line. RunError: it is an error, or the run has ended meanwhile."""
    line = file.readline()
    if not line:
        raise RunError("the topology's run has ended while a query waited for it")
    found: dict[str, Any] = json.loads(line)
    if "error" in found:
        raise RunError(found["error"])
    return found


def answer(link: socket.socket, **line: Any) -> None:
    link.sendall(json.dumps(line).encode() + b"\n")


def _connected(folder: Path, side: str, question: Mapping[str, Any]) -> socket.socket:
    """Waits until the run listens."""
    while True:
        try:
            address, token = json.loads(_place(folder, side).read_text())
            link = connected(address)
            link.sendall(json.dumps({**question, "token": token}).encode() + b"\n")
            return link
        except (OSError, ValueError) as error:
            failed = folder / FAILED
            if failed.exists():
                raise RunError(failed.read_text()) from None
            if not _runs(folder):
                raise RunError(f"no run of the topology listens for {str(folder)!r} ({error})") from None
            sleep(AGAIN_S)


def _runs(folder: Path) -> bool:
    """Whether somebody holds the lock of the run."""
    with (folder / LOCK).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def _place(folder: Path, side: str) -> Path:
    return folder / f".{side}.json"
