"""Who runs next in a system: actors with messages take bounded turns, then what links have gathered is written.

One callback of the event loop for all of it; no task per message, nothing scheduled while nothing is to do.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections import deque
from time import perf_counter
from typing import Protocol

RUN_SECONDS = 0.002
"""After this long the event loop gets its turn."""
TURN_MESSAGES = 64
"""After this many messages the next actor gets its turn."""


class Runnable(Protocol):
    """Who takes turns."""

    def turn(self, end: float) -> bool:
        """Processes messages until `end` (perf_counter seconds) or `TURN_MESSAGES`. True if more are waiting."""


class Flushable(Protocol):
    """Who sends what it has gathered when the turns are over."""

    def flush(self) -> None: ...


class RunQueue:
    """The run queue of a system."""

    __slots__ = ("_armed", "_dirty", "_loop", "_ready", "_running")

    def __init__(self, loop: AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[Runnable] = deque()
        self._dirty: list[Flushable] = []
        self._armed = False
        self._running = False

    def ready(self, actor: Runnable) -> None:
        """The actor has messages. The caller sees to it that it is queued once."""
        self._ready.append(actor)
        if not self._armed and not self._running:
            self._armed = True
            self._loop.call_soon(self._wake)

    def dirty(self, link: Flushable) -> None:
        """The link has frames to write. The caller sees to it that it is noted once."""
        self._dirty.append(link)
        if not self._armed and not self._running:
            self._armed = True
            self._loop.call_soon(self._wake)

    def run(self) -> None:
        """Runs what is ready, for at most `RUN_SECONDS`, then writes what was gathered.

        Called by the loop, and by a link that has read messages: that saves an iteration of the loop."""
        if self._running:
            return
        self._running = True
        ready = self._ready
        try:
            if ready:
                end = perf_counter() + RUN_SECONDS
                while ready:
                    actor = ready.popleft()
                    if actor.turn(end):
                        ready.append(actor)
                    if perf_counter() >= end:
                        break
            while self._dirty:
                self._dirty.pop().flush()
        finally:
            self._running = False
            if (ready or self._dirty) and not self._armed:
                self._armed = True
                self._loop.call_soon(self._wake)

    @property
    def idle(self) -> bool:
        """Nothing is queued, and nothing will be until a message comes."""
        return not (self._armed or self._running or self._ready or self._dirty)

    def _wake(self) -> None:
        self._armed = False
        self.run()
