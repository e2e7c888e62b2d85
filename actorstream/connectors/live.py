"""Pump: takes events from an async generator as they come, so that whoever reads gets those that are there
at once."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from time import time_ns
from typing import TYPE_CHECKING, Any

from actorstream.actors.size import estimate
from actorstream.connectors.event_reader import TAKEN_BYTES
from actorstream.connectors.position import Position, unexpected

if TYPE_CHECKING:
    from actorstream.connectors.position import Places

LIMIT = 4096
"""Events that wait to be read before the generator is held up; or as many as have TAKEN_BYTES."""


class Pump:
    """Runs `events` in a task of its own from the first `take` on.

    Args:
        skip: so many rows are dropped first. places: is told of each row and each `Position`. only: see `EventReader`.
    """

    def __init__(self, events: AsyncIterator[Any], skip: int, places: Places | None, only: str) -> None:
        self._events, self._skip, self._places, self._only = events, skip, places, only
        self._waiting: deque[tuple[Any, int, int]] = deque()
        """Events, each with its bytes, and the wall clock, in ns, when it came."""
        self._bytes = 0
        self._task: Any = None
        self._arrived: Any = None
        self._room: Any = None

    async def take(self, most: int) -> list[Any]:
        """At least one event, at most `most`; none when the generator has ended, or `most` is 0. Raises what the
        generator raised."""
        import asyncio

        if most <= 0:
            return []
        if self._task is None:
            self._arrived, self._room = asyncio.Event(), asyncio.Event()
            self._task = asyncio.ensure_future(self._run())
        while not self._waiting and not self._task.done():
            self._arrived.clear()
            await self._arrived.wait()
        if not self._waiting:
            self._task.result()
            return []
        taken = []
        for _ in range(min(most, len(self._waiting))):
            event, size, _ = self._waiting.popleft()
            taken.append(event)
            self._bytes -= size
        self._room.set()
        return taken

    @property
    def waits_since(self) -> int | None:
        """When the oldest event came that nobody has taken, by the wall clock in ns; None: there is none."""
        return self._waiting[0][2] if self._waiting else None

    def close(self) -> None:
        """Ends the generator; its `finally` blocks run in the loop."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            async for event in self._events:
                if type(event) is Position:
                    if self._places is None:
                        raise unexpected(event)
                    self._places.place(event, self._only)
                    continue
                if self._places is not None:
                    self._places.row()
                if self._skip:
                    self._skip -= 1
                    continue
                size = estimate(event)
                self._waiting.append((event, size, time_ns()))
                self._bytes += size
                self._arrived.set()
                while len(self._waiting) >= LIMIT or self._bytes >= TAKEN_BYTES:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._arrived.set()
            close = getattr(self._events, "aclose", None)
            if close is not None:
                await close()
