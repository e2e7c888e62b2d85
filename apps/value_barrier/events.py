"""What flows through event-based windowing. Times in any unit, as long as it is one."""

from __future__ import annotations

from actorstream import Event


class Value(Event, event_time="ts"):
    """A value of one of the streams."""

    stream: str
    ts: int
    value: int


class Barrier(Event, event_time="ts"):
    """Ends a window and begins the next."""

    ts: int


class Sum(Event):
    """What the window that a barrier ends has: values at or after the barrier before it, and before it."""

    barrier_ts: int
    sum: int
    count: int
