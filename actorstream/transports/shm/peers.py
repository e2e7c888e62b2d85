"""Learns that another worker's process is gone: a pidfd for each peer, watched by the loop.

Says who is lost; what that means for a channel is the transport's business.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable

from actorstream.native.pidfd import open_pidfd, require_pidfds
from actorstream.transports.shm.fabric import ShmFabric
from actorstream.transports.shm.layout import LEFT, RUNS

FIRST_LOOK = 0.005
LAST_LOOK = 0.1
"""Seconds between looks for peers that have not started yet or could not be watched: doubled from the first value up to
the last."""


class Peers:
    """Watches the workers that share a channel with this one. Used from one loop, between `start` and `close`."""

    def __init__(self, fabric: ShmFabric, worker: int, peers: set[int], lost: Callable[[int], None]) -> None:
        """`lost(peer)` is called once for each peer whose process ended without leaving."""
        self._fabric = fabric
        self._line = fabric.line(fabric.layout.worker_line(worker))
        self._lines = {peer: fabric.line(fabric.layout.worker_line(peer)) for peer in peers}
        self._lost = lost
        self._watched: dict[int, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._unseen = set(peers)

    def start(self) -> None:
        """Tells the peers that this worker runs, and looks for them. ResourceError: this system has no pidfds."""
        require_pidfds()
        self._line[0] = os.getpid()
        self._line[1] = RUNS
        self._loop = asyncio.get_running_loop()
        self._look(FIRST_LOOK)

    def _look(self, again: float) -> None:
        self._timer = None
        for peer in [peer for peer in self._unseen if self._lines[peer][1] != 0]:
            with contextlib.suppress(OSError):  # no descriptor is left now: looks again
                self._watch(peer)
                self._unseen.discard(peer)
        if self._unseen:
            self._timer = self._loop.call_later(again, self._look, min(2 * again, LAST_LOOK))

    def _watch(self, peer: int) -> None:
        line = self._lines[peer]
        process, state = line[0], line[1]
        if state == LEFT or process == os.getpid():
            return
        try:
            pidfd = open_pidfd(process)
        except ProcessLookupError:
            self._gone(peer)
            return
        self._watched[peer] = pidfd
        self._loop.add_reader(pidfd, self._gone, peer)

    def _gone(self, peer: int) -> None:
        pidfd = self._watched.pop(peer, None)
        if pidfd is not None:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)
        if self._lines[peer][1] != LEFT:
            self._lost(peer)

    def close(self) -> None:
        """Tells the peers that this worker left in order, and stops watching."""
        self._line[1] = LEFT
        if self._timer is not None:
            self._timer.cancel()
        for pidfd in self._watched.values():
            self._loop.remove_reader(pidfd)
            os.close(pidfd)
        self._watched.clear()
