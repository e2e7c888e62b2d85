"""RankMonitor: the driver's end of the connections to the tasks that run workers: output comes in, signals go out."""

from __future__ import annotations

import json
import signal
import socket
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from actorstream.spark.task_listener import TaskListener

_NAMES = {signal.SIGINT: "INT", signal.SIGTERM: "TERM"}
LONGEST_LINE = 1 << 20


class RankMonitor:
    """Listens until it is closed.

    Args:
        address: of this host, under which executors reach it.
        workers: how many there are in each attempt.

    Attributes:
        attempts: how often the stage has been started.
    """

    def __init__(self, address: str, workers: int) -> None:
        self.attempts = 0
        self._workers = workers
        self._links: set[socket.socket] = set()
        self._waiting: dict[int, socket.socket] = {}
        self._changed = threading.Condition()
        listener = socket.create_server((address, 0))
        self.address: tuple[str, int] = listener.getsockname()[:2]
        self._listener = TaskListener(listener, "rank-monitor", self._serve)
        self.token = self._listener.token

    def signal(self, number: int) -> bool:
        """Sends a signal to all workers. False: none runs."""
        line = f"{_NAMES[signal.Signals(number)]}\n".encode()
        with self._changed:
            links = list(self._links)
        for link in links:
            with suppress(OSError):
                link.sendall(line)
        return bool(links)

    def close(self) -> None:
        with self._changed:
            links = [*self._links, *self._waiting.values()]
        self._listener.close(links)

    def _serve(self, link: socket.socket, hello: Mapping[str, Any]) -> None:
        with link.makefile("rb") as file:
            try:
                self._admit(int(hello["rank"]), link)
                while line := file.readline(LONGEST_LINE):
                    self._hear(json.loads(line))
            finally:
                with self._changed:
                    self._links.discard(link)
                    self._waiting = {rank: each for rank, each in self._waiting.items() if each is not link}
                    self._changed.notify_all()

    def _admit(self, rank: int, link: socket.socket) -> None:
        """Tells the tasks of an attempt its number, once all of them are here and all workers of the one before have gone,
        with what they had locked."""
        with self._changed:
            self._waiting[rank] = link
            self._changed.wait_for(lambda: len(self._waiting) < self._workers or not self._links)
            if len(self._waiting) < self._workers:
                return  # the last task that comes tells all
            if self.attempts:
                told = f"actorstream: Spark starts the workers again (attempt {self.attempts + 1})"
                print(told, file=sys.stderr, flush=True)
            for each in self._waiting.values():
                with suppress(OSError):
                    each.sendall(json.dumps({"attempt": self.attempts}).encode() + b"\n")
            self.attempts += 1
            self._links.update(self._waiting.values())
            self._waiting.clear()

    @staticmethod
    def _hear(line: dict[str, Any]) -> None:
        for kind, stream in (("out", sys.stdout), ("error", sys.stderr)):
            if kind in line:
                stream.write(line[kind])
                stream.flush()
