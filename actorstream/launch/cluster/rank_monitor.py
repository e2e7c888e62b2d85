"""RankMonitor: the driver's end of the connections to the tasks that run workers: output comes in, signals go out."""

from __future__ import annotations

import hmac
import json
import secrets
import signal
import socket
import sys
import threading
from contextlib import suppress
from typing import Any

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
        self.token = secrets.token_hex(16)
        self.attempts = 0
        self._workers = workers
        self._links: set[socket.socket] = set()
        self._waiting: dict[int, socket.socket] = {}
        self._changed = threading.Condition()
        self._listener = socket.create_server((address, 0), backlog=128)
        self.address: tuple[str, int] = self._listener.getsockname()[:2]
        threading.Thread(target=self._accept, name="rank-monitor", daemon=True).start()

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
            links = [self._listener, *self._links, *self._waiting.values()]
        for link in links:
            with suppress(OSError):
                link.shutdown(socket.SHUT_RDWR)
            link.close()

    def _accept(self) -> None:
        while True:
            try:
                link, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(link,), name="rank-monitor", daemon=True).start()

    def _serve(self, link: socket.socket) -> None:
        with link, link.makefile("rb") as file, suppress(OSError, ValueError, KeyError, TypeError):
            hello = json.loads(file.readline(LONGEST_LINE))
            if not hmac.compare_digest(str(hello["token"]), self.token):
                return
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
