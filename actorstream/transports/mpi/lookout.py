"""When a rank looks for messages although its worker does not look at its doorbell: without a pause after one has come, then
after pauses that grow to 3 ms. A thread of C looks after the pauses, and wakes the loop thread once a message has come."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from time import monotonic_ns

from actorstream.native.memory import create_eventfd
from actorstream.native.timer import TimerFd
from actorstream.transports.mpi.port import MpiPort

TRAFFIC_NS = 100_000
"""For so long after a message a rank looks for the next one without a pause."""
SHARE, LEAST_NS, MOST_NS = 8, 20_000, 4_000_000
"""Where the thread cannot look, the loop thread pauses for an eighth of the time that nothing has come, within these bounds."""


class Lookout:
    """Used by the rank's loop thread alone.

    Args:
        poll: takes in what has come.
        eager: whether the rank has a core of its own, and may look without a pause.
    """

    def __init__(self, port: MpiPort, poll: Callable[[], None], *, eager: bool) -> None:
        self._port, self._poll, self._eager = port, poll, eager
        self._timer, self._eventfd = TimerFd(), create_eventfd()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._soon: asyncio.Handle | None = None

    def start(self) -> None:
        """Looks for the first time."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._timer.fd, self._fired)
        self._loop.add_reader(self._eventfd, self._woken)
        self._look()

    def close(self) -> None:
        """Looks no more. Idempotent."""
        self._port.on_traffic = None
        if self._loop is not None:
            self._loop.remove_reader(self._timer.fd)
            self._loop.remove_reader(self._eventfd)
            self._loop = None
        if self._soon is not None:
            self._soon.cancel()
        if self._eventfd >= 0:
            self._timer.close()
            os.close(self._eventfd)
            self._eventfd = -1

    def _look(self) -> None:
        self._soon = None
        if self._loop is None:
            return
        self._port.on_traffic = None
        self._poll()
        now = monotonic_ns()
        quiet = now - self._port.received_ns
        if self._eager and quiet < TRAFFIC_NS:
            self._look_soon()
        elif self._port.progress is not None and self._port.is_done():
            self._port.progress.watch(self._eventfd)
            self._port.on_traffic = self._look_soon
        else:
            self._timer.arm(now + min(max(quiet // SHARE, LEAST_NS), MOST_NS))

    def _look_soon(self) -> None:
        if self._soon is None and self._loop is not None:
            self._soon = self._loop.call_soon(self._look)

    def _fired(self) -> None:
        self._timer.clear()
        self._look_soon()

    def _woken(self) -> None:
        os.eventfd_read(self._eventfd)
        self._look_soon()
