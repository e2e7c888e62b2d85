"""When a rank looks for messages although its worker does not look at its doorbell: without a pause after one has come, when a
peer knocks, and else after pauses that grow to 3 ms, or soon to 20 where all peers knock. A thread of C looks after the pauses,
and wakes the loop thread once a message has come."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection
from time import monotonic_ns

from actorstream.native.memory import create_eventfd
from actorstream.native.timer import TimerFd
from actorstream.transports.mpi.knocks import REST_NS, Knocks
from actorstream.transports.mpi.port import MpiPort

TRAFFIC_NS = 100_000
"""For so long after a message a rank looks for the next one without a pause."""
SHARE, LEAST_NS, MOST_NS = 8, 20_000, 4_000_000
"""Where the thread cannot look, the loop thread pauses for an eighth of the time that nothing has come, within these bounds."""

KNOCKED_S = 0.02
"""A pause of the thread where all peers knock, in case that a knock is lost."""
RESTED_S = 2e-9 * REST_NS
"""For so long it pauses as without knocks: a peer that has just sent does not knock."""


class Lookout:
    """Used by the rank's loop thread alone.

    Args:
        poll: takes in what has come.
        eager: whether the rank has a core of its own, and may look without a pause.
        knocks: how the `peers` wake this rank; None: they do not.
    """

    def __init__(
        self,
        port: MpiPort,
        poll: Callable[[], None],
        *,
        eager: bool,
        knocks: Knocks | None = None,
        peers: Collection[int] = (),
    ) -> None:
        self._port, self._poll, self._eager = port, poll, eager
        self._knocks, self._peers = knocks, peers
        self._timer, self._eventfd = TimerFd(), create_eventfd()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._soon: asyncio.Handle | None = None

    def start(self) -> None:
        """Looks for the first time."""
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._timer.fd, self._fired)
        self._loop.add_reader(self._eventfd, self._woken)
        if self._knocks is not None:
            self._loop.add_reader(self._knocks.fd, self._knocked)
            self._knocks.greet(self._peers)
        self._look()

    def close(self) -> None:
        """Looks no more. Idempotent."""
        self._port.on_traffic = None
        if self._loop is not None:
            self._loop.remove_reader(self._timer.fd)
            self._loop.remove_reader(self._eventfd)
            if self._knocks is not None:
                self._loop.remove_reader(self._knocks.fd)
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
            if self._knocks is not None and self._knocks.all_come(self._peers):
                self._port.progress.watch(self._eventfd, most_s=KNOCKED_S, rested_s=RESTED_S)
            else:
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

    def _knocked(self) -> None:
        if self._knocks is not None and self._knocks.take():
            self._poll()  # MPI looks among what it has taken in, and takes in more only then
            self._look_soon()
