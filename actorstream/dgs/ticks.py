"""Which ticks a program gets, told by how far its streams are: the same ones whatever comes first. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from actorstream.dgs.mailbox import ENDED, NOTHING
from actorstream.dgs.tagging import Every


class _Stream:
    """The times of a stream's first and last row so far (NOTHING: none), and its promise."""

    __slots__ = ("bound", "first", "last")

    def __init__(self) -> None:
        self.first = self.last = self.bound = NOTHING


class Ticks:
    """The ticks of one tag, as a tag's events: those that are certain, and the time before which no other will come.

    Args:
        every: how often.
        unit_ns: nanoseconds of a unit of the event time.
        streams: all streams of the program; where several replicas of a source may bring a stream, each one's part is a stream
            of its own. `moved` adds those that it names.
    """

    def __init__(self, every: Every, unit_ns: int, streams: Iterable[Hashable] = ()) -> None:
        self.period, self.offset = every.units(unit_ns)
        self._streams = {name: _Stream() for name in streams}
        self._next: int | None = None
        self.bound = NOTHING
        """No tick before this time will follow."""

    def kept(self) -> tuple[int | None, int]:
        """Which tick is the next, and the bound: what a checkpoint keeps."""
        return self._next, self.bound

    def take_back(self, next: int | None, bound: int) -> None:
        """Goes on after the ticks that were made before a checkpoint."""
        self._next, self.bound = next, bound

    def moved(self, stream: Hashable, first: int, last: int, bound: int) -> None:
        """What is known of a stream: time of its first row and of the last so far, NOTHING without one; its promise."""
        if (each := self._streams.get(stream)) is None:
            each = self._streams[stream] = _Stream()
        each.first, each.last, each.bound = first, last, max(each.bound, bound)

    def due(self) -> list[int]:
        """The ticks that have become certain since the last call, in order."""
        found: list[int] = []
        streams = self._streams.values()
        if self.bound == ENDED:
            return found
        begun = min((each.first for each in streams if each.first != NOTHING), default=ENDED)
        to_come = min((each.bound for each in streams if each.first == NOTHING), default=ENDED)
        if self._next is None:
            start = min(begun, to_come)
            if start == NOTHING:
                return found
            if start == ENDED:  # nobody had a row
                self.bound = ENDED
                return found
            self._next = self._after(start)
        furthest = max((each.last for each in streams if each.last != NOTHING), default=NOTHING)
        while self._next <= furthest:
            if begun < self._next:
                found.append(self._next)
            elif to_come < self._next:
                break  # a stream that begins yet may begin before it
            self._next += self.period
        ended = all(each.bound == ENDED for each in streams)
        self.bound = ENDED if ended and self._next > furthest else min(self._next, ENDED)
        return found

    def _after(self, time: int) -> int:
        """The first tick after a time."""
        return (time - self.offset) // self.period * self.period + self.period + self.offset
