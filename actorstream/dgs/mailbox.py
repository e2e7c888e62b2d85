"""Selective reordering (dgs-flumina section 3.4): an event waits for what it depends on, and for nothing else.

Pure: no clock, no actors. Works on slices of jumbo tuples, so that it costs per slice and not per event.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorstream.errors import DataError
from actorstream.native.ascending import first_descent

NOTHING, ENDED = -(2**63), 2**63 - 1
"""What a tag has promised that has promised nothing, and that has ended."""


Times = np.ndarray | tuple[int]
"""Of events: int64, shape (events,). That of a single event may also come as a number alone, which costs a tenth."""


class Slice(NamedTuple):
    """Events of one tag that go on together: rows `first` to `last` (exclusive) of `item`."""

    tag: Any
    item: Any
    first: int
    last: int


class _Waiting:
    """Times of one inserted item, and how far it has gone."""

    __slots__ = ("first", "item", "last", "places", "time", "times")

    def __init__(self, times: Times, item: Any, places: np.ndarray | None) -> None:
        self.times, self.item, self.places, self.first = times, item, places, 0
        self.time, self.last = int(times[0]), int(times[-1])
        """Of the first event that waits, and of the last."""

    def go_on(self, first: int) -> None:
        """The events before `first` have gone."""
        self.first, self.time = first, int(self.times[first])

    def place(self, at: int) -> int:
        """The place of an event in its stream; NOTHING: it was not said."""
        return NOTHING if self.places is None else int(self.places[at])

    def until(self, limit: int, place: int) -> int:
        """How many of the events come before (time `limit`, `place` in the stream)."""
        times = self.times
        if limit == ENDED or self.last < limit:
            return len(times)
        if limit < self.time:
            return self.first
        if place == ENDED:
            return self._behind(limit)
        first = self.first if limit == self.time else int(times.searchsorted(limit, "left"))  # type: ignore[union-attr]
        if place == NOTHING or self.places is None:
            return first
        last = self._behind(limit)
        return first + int(self.places[first:last].searchsorted(place, "left"))

    def _behind(self, limit: int) -> int:
        """How many of the events are at `limit` or before; it is not behind the last."""
        if limit == self.last:
            return len(self.times)
        return int(self.times.searchsorted(limit, "right"))  # type: ignore[union-attr]


class _Buffer:
    """The events of one tag that wait, in their order, and its timer."""

    __slots__ = ("bound", "dependents", "latest", "place", "rank", "stream", "tag", "waiting")

    def __init__(self, tag: Any, rank: int, stream: Any) -> None:
        self.tag, self.rank, self.stream = tag, rank, stream
        self.waiting: deque[_Waiting] = deque()
        self.bound = NOTHING
        self.latest = NOTHING
        """The last bound before the tag ended; NOTHING: it had none, or has not ended."""
        self.place = NOTHING
        self.dependents: tuple[_Buffer, ...] = ()

    @property
    def head(self) -> int:
        """The least time that this tag has waiting or may still bring."""
        return self.waiting[0].time if self.waiting else self.bound

    @property
    def head_place(self) -> int:
        """The least place in the stream that it has, or may still bring, at the time `head`; NOTHING: any."""
        if not self.waiting:
            return self.place
        first = self.waiting[0]
        return first.place(first.first)


class SelectiveMailbox:
    """Buffers and timers of the tags that one worker sees: its own and those of its ancestors.

    The order of events is (time, rank of the tag): of two events at one time the one whose tag is named first goes first.
    Between tags of one stream it is (time, place in the stream).

    Args:
        tags: in the order of their ranks; those of one stream side by side.
        depends: for each tag those that it depends on, itself left out or not; both ways round.
        streams: what stream a tag comes on. A tag without one shares its stream with no other.
    """

    def __init__(
        self,
        tags: Sequence[Hashable],
        depends: Mapping[Any, Iterable[Any]],
        streams: Mapping[Any, Hashable] | None = None,
    ) -> None:
        on = streams or {}
        self._buffers = {tag: _Buffer(tag, rank, on.get(tag, tag)) for rank, tag in enumerate(tags)}
        for tag, buffer in self._buffers.items():
            others = sorted(
                (self._buffers[other] for other in set(depends.get(tag, ())) if other != tag), key=_rank
            )
            buffer.dependents = tuple(others)
        self.changed = True
        """Whether a head may have changed since whoever looks at them set this to False."""
        self._work: dict[_Buffer, None] = {}
        """The dependent-tag workset: buffers that may have something to release now."""

    def insert(
        self,
        tag: Hashable,
        times: Times,
        item: Any,
        places: np.ndarray | None = None,
        *,
        checked: bool = False,
    ) -> None:
        """Events of a tag, in non-decreasing order of time; they promise that none before the last will follow.

        Args:
            times: int64, one an event, shape (events,).
            item: what comes back with the rows of these events.
            places: of the events in their stream, ascending; needed where dependent tags share a stream.
            checked: whether it is known already that the times do not decrease.

        Raises:
            DataError: the times decrease, or begin before what the tag has promised (Definition 3.3, monotonicity).
        """
        if not len(times):
            return
        buffer = self._buffers[tag]
        waiting = _Waiting(times, item, places)
        descends = not checked and len(times) > 1 and first_descent(times)  # type: ignore[arg-type]
        if waiting.time < buffer.bound or descends:
            raise DataError(_decreases(tag, np.asarray(times), buffer.bound))
        buffer.waiting.append(waiting)
        buffer.bound = waiting.last
        buffer.place = NOTHING if places is None else int(places[-1]) + 1
        self._moved(buffer)

    def passes(self, tag: Hashable, time: int) -> bool:
        """`insert` and `release` of a single event in one step, if it may go on at once: nothing that waits or may come goes
        before it. Nothing else goes on for it. False: it is not so, and nothing was changed. Not for tags with places."""
        buffer = self._buffers[tag]
        if buffer.waiting or time < buffer.bound:
            return False
        for other in buffer.dependents:
            head = other.waiting[0].time if other.waiting else other.bound
            if head <= time and (head < time or other.rank < buffer.rank or other.stream == buffer.stream):
                return False
        buffer.bound, buffer.place = time, NOTHING
        return True

    def promise(self, tag: Hashable, bound: int, place: int = NOTHING) -> None:
        """A heartbeat: no event of the tag before `bound`, and none at it before `place` in its stream, will follow;
        `ENDED`: none at all. A lower one does nothing."""
        buffer = self._buffers[tag]
        if bound > buffer.bound or (bound == buffer.bound and place > buffer.place):
            if bound == ENDED and buffer.bound != ENDED:
                buffer.latest = buffer.bound
            buffer.bound, buffer.place = bound, place
            self.changed = True
            if not buffer.waiting:
                self._wake(buffer)

    @property
    def moved(self) -> bool:
        """Whether `release` may find something."""
        return bool(self._work)

    def release(self) -> list[Slice]:
        """What may be processed now, in an order that respects every dependence; nothing that may stays behind."""
        found = []
        self.changed = True
        while self._work:
            buffer = next(iter(self._work))
            del self._work[buffer]
            limit, place = self._limit(buffer)
            released = False
            while buffer.waiting:
                first = buffer.waiting[0]
                rows = len(first.times)
                last = first.until(limit, place)
                if last <= first.first:
                    break
                found.append(Slice(buffer.tag, first.item, first.first, last))
                released = True
                if last < rows:
                    first.go_on(last)
                    break
                buffer.waiting.popleft()
            if released:
                self._wake(buffer)
        return found

    def head(self, tag: Hashable) -> tuple[int, int]:
        """The least time, and place in the stream at it, that a tag has waiting or may still bring."""
        buffer = self._buffers[tag]
        return buffer.head, buffer.head_place

    def latest(self, tag: Hashable) -> int:
        """The last time of a tag that has ended; NOTHING: there was none, or it has not ended."""
        return self._buffers[tag].latest

    def waits(self, tag: Hashable) -> bool:
        """Whether events of a tag wait; None, the end of all input, is no tag."""
        return tag is not None and bool(self._buffers[tag].waiting)

    def items(self) -> Iterator[tuple[Any, Any]]:
        """The tag and the item of what waits, in the order of each tag."""
        for buffer in self._buffers.values():
            for each in buffer.waiting:
                yield buffer.tag, each.item

    @property
    def ended(self) -> bool:
        """Whether nothing waits, and nothing may still come."""
        for buffer in self._buffers.values():  # noqa: SIM110 # asked at every turn: half of what `all` costs
            if buffer.waiting or buffer.bound != ENDED:
                return False
        return True

    @property
    def frontier(self) -> int:
        """No event before this time will be released any more."""
        return min((buffer.head for buffer in self._buffers.values()), default=ENDED)

    @property
    def waiting(self) -> int:
        """How many events wait."""
        return sum(
            len(each.times) - each.first for buffer in self._buffers.values() for each in buffer.waiting
        )

    def _moved(self, buffer: _Buffer) -> None:
        self.changed = True
        self._work[buffer] = None
        self._wake(buffer)

    def _wake(self, buffer: _Buffer) -> None:
        """Those that depend on a buffer may go on, if they wait."""
        work = self._work
        for other in buffer.dependents:
            if other.waiting:
                work[other] = None

    @staticmethod
    def _limit(buffer: _Buffer) -> tuple[int, int]:
        """Up to which time this tag's events may go, and of those at it up to which place: ENDED all, NOTHING none."""
        limit, place = ENDED, ENDED
        for other in buffer.dependents:
            head = other.head
            if head > limit:
                continue
            if other.stream == buffer.stream:
                allowed = other.head_place
            else:
                allowed = ENDED if other.rank > buffer.rank else NOTHING
            limit, place = head, allowed if head < limit else min(place, allowed)
        return limit, place


def _rank(buffer: _Buffer) -> int:
    return buffer.rank


def _decreases(tag: Any, times: np.ndarray, bound: int) -> str:
    at = first_descent(times)
    before = times[at - 1] if at else bound
    return (
        f"stream of {tag}: event {at} of its next {len(times)} has time {times[at]}, after {before}; allowed: times that "
        "do not decrease along a stream; sort the source, or give it max_out_of_orderness"
    )
