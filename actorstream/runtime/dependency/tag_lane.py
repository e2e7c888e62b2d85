"""The receiving side of dependency edges. Slices of implementation tags stay in their ring until they are worked on.

So the budget of an edge bounds what waits in a mailbox, and a slice is never copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.dgs.tagging import Tick
from actorstream.events.batch import Batch
from actorstream.events.interleaved import cut
from actorstream.topology.serial import POSITION
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, NO_TIME_MIN, FrameKind

if TYPE_CHECKING:
    from actorstream.dgs.worker import WorkerProtocol
    from actorstream.events.feed import Feed
    from actorstream.plan.program_channels import StreamWords
    from actorstream.runtime.dependency.checkpoint import PlanCheckpoints
    from actorstream.runtime.lanes import InLane
    from actorstream.transports.base import Frame

DATA, BARRIER, END = int(FrameKind.DATA), int(FrameKind.BARRIER), int(FrameKind.END)


class HeldFrame:
    """A frame that was looked at and not consumed: its rows (a mark has none), and how many of them are not worked on yet."""

    __slots__ = ("_events", "batch", "left", "times")

    def __init__(self, batch: Batch | None, times: Any = None, events: list[Any] | None = None) -> None:
        self.batch, self.times = batch, times
        self._events: list[Any] | Feed | None = events
        self.left = 0 if batch is None else batch.rows

    def rows(self, first: int, last: int) -> Batch:
        return cut(self.batch, first, last - first)  # type: ignore[arg-type] # rows are left

    def events(self, first: int, last: int) -> list[Any] | Feed:
        """Rows `first` to `last` as events, made as they are taken unless they are there already."""
        events = self._feed()
        return events if last - first == len(events) else events[first:last]

    def event(self, row: int) -> Any:
        return (self._events or self._feed())[row]

    def _feed(self) -> list[Any] | Feed:
        if self._events is None:
            self._events = self.batch.feed()  # type: ignore[union-attr]
        return self._events

    def rest(self) -> Batch:
        """The rows that are not worked on."""
        batch: Any = self.batch
        return self.rows(batch.rows - self.left, batch.rows)

    @property
    def time(self) -> int:
        """Of the first row that is not worked on."""
        return int(self.times[-self.left])

    def finished(self, rows: int) -> None:
        """So many rows were worked on."""
        self.left -= rows
        if not self.left:
            self.batch = None
            self._events = None


def held_ticks(times: Sequence[int]) -> HeldFrame:
    """Ticks as events that wait."""
    batch = Batch.of_events(Tick, [Tick(time) for time in times])
    batch.entry_min = batch.entry_max = monotonic_ns()
    return HeldFrame(batch, times)


class TagLane:
    """The lane from a source to a worker of a plan, and its rows while they are not worked on.

    Args:
        tags: numbers of the tags that come on it and that the worker is responsible for, by the frontier word that
            promises for them.
        positioned: whether rows carry their place in the stream.
        checkpoints: those of the worker's unit.
    """

    def __init__(
        self,
        lane: InLane,
        tags: Mapping[int, Sequence[int]],
        *,
        positioned: bool,
        checkpoints: PlanCheckpoints,
    ) -> None:
        self.lane, self.checkpoints = lane, checkpoints
        self.words = {word: tuple(some) for word, some in tags.items() if some}
        self._one_word = self.words.keys() <= {0}
        """Whether the lane has no frontier word but the first."""
        self.positioned = positioned
        self.frames: deque[HeldFrame] = deque()
        self.bound = FRONTIER_MIN
        """What the source has promised for all its streams."""
        self.bounds = dict.fromkeys(self.words, FRONTIER_MIN)
        self.risen: list[int] = []
        """Words that rose at the last look."""
        self.closed = False
        """Whether its end has come."""

    def take_in(self, protocol: WorkerProtocol) -> bool:
        """Gives the worker the slices that have come; returns whether there were any, or a promise has risen."""
        self.risen.clear()
        if self.lane.ended:
            return False
        channel, frames = self.lane.channel, self.frames
        # frontiers are read first: what they cover can be peeked now
        least = channel.frontier(0)
        before = len(frames)
        if self._one_word:
            if (frame := channel.peek(before)) is None and least <= self.bound:
                return False
            bounds = {0: least} if self.words else {}
        else:
            bounds = {word: channel.frontier(word) if word else least for word in self.words}
            frame = channel.peek(before)
        while frame is not None:
            frames.append(self._take_rows(frame, protocol) if frame.kind == DATA else self._take_mark(frame))
            frame = channel.peek(len(frames))
        if self.closed:
            least = FRONTIER_END
            bounds = dict.fromkeys(self.words, FRONTIER_END)
        if least > self.bound:
            self.bound = least
        for word, bound in bounds.items():
            if bound > self.bounds[word]:
                self.bounds[word] = bound
                self.risen.append(word)
        return bool(self.risen) or len(frames) > before

    def _take_rows(self, frame: Frame, protocol: WorkerProtocol) -> HeldFrame:
        batch = self.lane.decode(frame)
        batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
        # a source in this process says when its only event is
        known = frame.payload is batch and frame.rows == 1 and frame.min_time != NO_TIME_MIN
        times: Any = (frame.min_time,) if known else batch.event_times()
        held = HeldFrame(batch, times)
        places = batch.system[POSITION].data if self.positioned else None
        protocol.insert(frame.serial, times, held, places, checked=True, source=self)  # checked by the sender
        if self.checkpoints.cuts:
            self.checkpoints.rows(self, frame.serial, batch)
        return held

    def _take_mark(self, frame: Frame) -> HeldFrame:
        if frame.kind == END:
            self.closed = True
        elif frame.kind == BARRIER:
            self.checkpoints.reached(self, frame.barrier)
        return HeldFrame(None)

    def promised(self, word: int, bound: int) -> None:
        """The source has promised for the stream of a word, which is its only one; it is known where that is to be known."""
        if bound > self.bound:
            self.bound = self.bounds[word] = bound

    def course(self, words: StreamWords) -> tuple[int, int, int]:
        """Times of a stream's first row and of the last so far, and its promise."""
        channel = self.lane.channel
        bound = FRONTIER_END if self.bound == FRONTIER_END else channel.frontier(words.promise)  # first
        return channel.frontier(words.first), channel.frontier(words.last), bound

    def give_back(self, lent_until: int | None) -> None:
        """Consumes what was worked on, in the order in which it came; and more where the source must not wait for that.

        Rows at or behind the time that the source has promised of all its streams may wait for its next promise, so it
        must be able to send on. And while the worker's state is lent up to some time, others may wait for it to get there.
        """
        frames = self.frames
        ahead = lent_until is not None and self.bound <= lent_until
        while frames and (ahead or not frames[0].left or frames[0].time >= self.bound):
            # what is given back ahead stays where it is until it is worked on
            ahead = ahead or bool(frames[0].left)
            frames.popleft()
            self.lane.consume()
        self.lane.ended = self.closed and not frames
