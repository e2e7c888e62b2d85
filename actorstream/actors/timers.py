"""The named timers of one actor. A tick is an entry of the mailbox, so it never runs beside a message."""

from __future__ import annotations

from collections.abc import Callable

from actorstream.actors.clock import TimerHandle, TimeSource


class Timer:
    """One timer. `queued`: its tick waits in the mailbox. `live`: it has not been replaced or cancelled."""

    __slots__ = ("alarm", "due", "every", "live", "name", "queued")

    def __init__(self, name: str, due: float, every: float | None) -> None:
        self.name, self.due, self.every = name, due, every
        self.alarm: TimerHandle | None = None
        self.queued = False
        self.live = True


def next_due(due: float, every: float, now: float) -> float:
    """When a periodic timer rings next: on its own grid, without drift; periods that were missed are skipped."""
    following = due + every
    if following > now:
        return following
    return due + every * ((now - due) // every + 1)


class Timers:
    """`ring(timer)` is called when a timer is due; it queues a tick, and `took(timer)` is called when that is taken.

    A periodic timer whose tick still waits does not queue another.
    """

    __slots__ = ("_clock", "_ring", "_timers")

    def __init__(self, clock: TimeSource, ring: Callable[[Timer], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._timers: dict[str, Timer] = {}

    def set(self, name: str, after: float, every: float | None) -> None:
        self.cancel(name)
        timer = self._timers[name] = Timer(name, self._clock.time() + after, every)
        timer.alarm = self._clock.call_at(timer.due, self._due, timer)

    def cancel(self, name: str) -> None:
        timer = self._timers.pop(name, None)
        if timer is not None:
            timer.live = False
            if timer.alarm is not None:
                timer.alarm.cancel()

    def cancel_all(self) -> None:
        for name in list(self._timers):
            self.cancel(name)

    def took(self, timer: Timer) -> bool:
        """The tick has left the mailbox. False if it is void; a timer that rings once is then forgotten."""
        timer.queued = False
        if timer.live and timer.every is None:
            del self._timers[timer.name]
            timer.live = False
            return True
        return timer.live

    def _due(self, timer: Timer) -> None:
        if not timer.live:
            return
        timer.alarm = None
        if timer.every is not None:
            timer.due = next_due(timer.due, timer.every, self._clock.time())
            timer.alarm = self._clock.call_at(timer.due, self._due, timer)
        if not timer.queued:
            timer.queued = True
            self._ring(timer)

    def __len__(self) -> int:
        return len(self._timers)
