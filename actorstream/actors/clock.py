"""Where control actors get time from: the event loop, or a clock that a test moves by hand. Never sleeps."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any, Protocol


class TimerHandle(Protocol):
    """What a clock gives for a call that is to come: it can be called off."""

    def cancel(self) -> None: ...


class Clock(Protocol):
    """What timers, timeouts and backoffs need. An asyncio or uvloop event loop is one."""

    def time(self) -> float:
        """Monotone seconds."""

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any) -> TimerHandle:
        """Calls back once, not before `when`."""


class _ManualAlarm:
    __slots__ = ("args", "callback", "cancelled")

    def __init__(self, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.callback, self.args, self.cancelled = callback, args, False

    def cancel(self) -> None:
        self.cancelled = True


class ManualClock:
    """Time that stands still until `advance` moves it: for tests of timers, timeouts and backoff."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._alarms: list[tuple[float, int, _ManualAlarm]] = []
        self._count = itertools.count()

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any) -> TimerHandle:
        alarm = _ManualAlarm(callback, args)
        heapq.heappush(self._alarms, (when, next(self._count), alarm))
        return alarm

    def advance(self, seconds: float) -> int:
        """Moves time on and calls what became due, in time order. Returns how many alarms rang."""
        until = self._now + seconds
        rang = 0
        while self._alarms and self._alarms[0][0] <= until:
            when, _, alarm = heapq.heappop(self._alarms)
            self._now = max(self._now, when)
            if not alarm.cancelled:
                rang += 1
                alarm.callback(*alarm.args)
        self._now = until
        return rang

    @property
    def alarms(self) -> int:
        """Alarms that are still set."""
        return sum(not alarm.cancelled for _, _, alarm in self._alarms)
