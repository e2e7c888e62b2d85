"""Makes calls in an event loop at moments of the monotonic clock, to the microsecond; an event loop's own timers count
milliseconds, and poll away what is left of one."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from actorstream.native.timer import TimerFd

NEVER = 2**63


class Alarm:
    """One call that is due at `at` (monotonic ns)."""

    __slots__ = ("arguments", "at", "call", "cancelled", "number")

    def __init__(self, at: int, number: int, call: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        self.at, self.number, self.call, self.arguments = at, number, call, arguments
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def __lt__(self, other: Alarm) -> bool:
        return (self.at, self.number) < (other.at, other.number)


class Alarms:
    """The alarms of one event loop. Makes its timer when it first needs it.

    Attributes:
        polled: whether somebody has promised to call `run_due` every few milliseconds. No timer is set then: in a virtual machine
            it takes 10 to 30 µs of a core to set one and let it go off.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heap: list[Alarm] = []
        self._timer: TimerFd | None = None
        self._armed = NEVER
        self._number = 0
        self.polled = False

    def call_later(self, seconds: float, call: Callable[..., None], *arguments: Any) -> Alarm:
        """Calls `call(*arguments)` on the loop after `seconds`."""
        self._number += 1
        alarm = Alarm(monotonic_ns() + int(seconds * 1e9), self._number, call, arguments)
        heapq.heappush(self._heap, alarm)
        if alarm.at < self._armed and not self.polled:
            self._arm(alarm.at)
        return alarm

    def next_ns(self) -> int:
        """When the next alarm is due; NEVER if there is none."""
        heap = self._heap
        while heap and heap[0].cancelled:
            heapq.heappop(heap)
        return heap[0].at if heap else NEVER

    def run_due(self) -> None:
        """Calls what is due by now."""
        now = monotonic_ns()
        while self.next_ns() <= now:
            alarm = heapq.heappop(self._heap)
            alarm.call(*alarm.arguments)

    def _arm(self, at: int) -> None:
        if self._timer is None:
            self._timer = TimerFd()
            self._loop.add_reader(self._timer.fd, self._fired)
        self._timer.arm(at)
        self._armed = at

    def _fired(self) -> None:
        assert self._timer is not None
        self._timer.clear()
        self._armed = NEVER
        self.run_due()
        at = self.next_ns()
        if at < self._armed and not self.polled:
            self._arm(at)

    def close(self) -> None:
        """No alarm goes off any more."""
        self._heap.clear()
        if self._timer is not None:
            self._loop.remove_reader(self._timer.fd)
            self._timer.close()
            self._timer = None
