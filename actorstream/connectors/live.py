"""Pump: takes events from an async generator as they come, so that whoever reads gets those that are there
at once."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from typing import Any

LIMIT = 4096
"""Events that wait to be read before the generator is held up."""


class Pump:
    """Runs `events` in a task of its own from the first `take` on; the first `skip` events are dropped."""

    def __init__(self, events: AsyncIterator[Any], skip: int = 0) -> None:
        self._events, self._skip = events, skip
        self._waiting: deque[Any] = deque()
        self._task: Any = None
        self._arrived: Any = None
        self._room: Any = None

    async def take(self, most: int) -> list[Any]:
        """At least one event, at most `most`; none when the generator has ended. Raises what the generator
        raised."""
        import asyncio

        if self._task is None:
            self._arrived, self._room = asyncio.Event(), asyncio.Event()
            self._task = asyncio.ensure_future(self._run())
        while not self._waiting and not self._task.done():
            self._arrived.clear()
            await self._arrived.wait()
        if not self._waiting:
            self._task.result()
            return []
        taken = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
        self._room.set()
        return taken

    def close(self) -> None:
        """Ends the generator; its `finally` blocks run in the loop."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            async for event in self._events:
                if self._skip:
                    self._skip -= 1
                    continue
                self._waiting.append(event)
                self._arrived.set()
                if len(self._waiting) >= LIMIT:
                    self._room.clear()
                    await self._room.wait()
        finally:
            self._arrived.set()
            close = getattr(self._events, "aclose", None)
            if close is not None:
                await close()
