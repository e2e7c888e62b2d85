"""MemoryLink: connections to the source and the sink of a run that keep the rows of streaming queries in memory. A file in a
folder that all see says where each of them listens."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from time import sleep
from typing import Any

from actorstream.dataframes.run_beside import FAILED, LOCK
from actorstream.errors import RunError
from actorstream.spark.task_listener import TaskListener, connected, listening, reachable, read_line

INPUT, OUTPUT = "input", "output"
AGAIN_S = 0.01
Serve = Callable[[socket.socket, Mapping[str, Any]], None]
"""Answers a question."""


class MemoryListener:
    """The end of the run, until it is closed.

    Args:
        folder: of the queries. side: `INPUT` or `OUTPUT`.
        host: an address of this host that tasks on others reach, or "".
        serve: called in the thread of a connection with that and a question.

    Attributes:
        run: tells this run from any other.
    """

    def __init__(self, folder: Path, side: str, host: str, serve: Serve) -> None:
        listener, name = listening()
        self._serve = serve
        self._listener = TaskListener(listener, f"memory-{side}", self._answer_all)
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

    def _answer_all(self, link: socket.socket, question: dict[str, Any]) -> None:
        while True:
            self._serve(link, question)
            question = json.loads(read_line(link))

    def close(self) -> None:
        self._listener.close()
        if self._tunnel is not None:
            self._tunnel.close()


class MemoryLink:
    """A connection to one side of the run, which is opened by the first question and kept. Sent to a task, it is opened there.

    Args:
        folder: of the queries. side: `INPUT` or `OUTPUT`.
    """

    def __init__(self, folder: Path, side: str) -> None:
        self.folder, self.side = folder, side
        self._link: socket.socket | None = None
        self._file: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "side": self.side, "_link": None, "_file": None}

    def ask(self, **question: Any) -> Any:
        """Asks; returns the file from which the answer is to be read to its end. RunError: the run has failed or ended."""
        if self._link is not None:
            try:
                answer(self._link, **question)
            except OSError:
                self.close()
        if self._link is None:
            self._link = _connected(self.folder, self.side, question)
            self._file = self._link.makefile("rb")
        return self._file

    def get(self, **question: Any) -> dict[str, Any]:
        """The answer that is a line."""
        try:
            return answered(self.ask(**question))
        except (OSError, RunError):
            self.close()
            raise

    def send(self, write: Callable[[Any], None], **question: Any) -> dict[str, Any]:
        """As `get`, of a question behind which `write` writes more."""
        self.ask(**question)
        assert self._link is not None
        with self._link.makefile("wb") as out:
            write(out)
        return answered(self._file)

    def close(self) -> None:
        if self._link is not None:
            self._file.close()
            self._link.close()
            self._link = None


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
