"""The receiving side of dependency edges. Slices of implementation tags stay in their ring until they are worked on.

So the budget of an edge bounds what waits in a mailbox, and a slice is never copied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorstream.topology.serial import POSITION
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, NO_TIME_MIN, FrameKind

if TYPE_CHECKING:
    from actorstream.dgs.worker import WorkerProtocol
    from actorstream.events.batch import Batch
    from actorstream.events.feed import Feed
    from actorstream.plan.program_channels import StreamWords
    from actorstream.runtime.dependency.share import Share
    from actorstream.runtime.lanes import InLane

DATA, BARRIER, END = int(FrameKind.DATA), int(FrameKind.BARRIER), int(FrameKind.END)


class Held:
    """A frame that was looked at and not consumed: its rows, and how many of them are not worked on yet."""

    __slots__ = ("_events", "batch", "kind", "left", "times")

    def __init__(
        self, kind: int, batch: Batch | None, times: Any = None, events: list[Any] | None = None
    ) -> None:
        self.kind, self.batch, self.times = kind, batch, times
        self._events: list[Any] | Feed | None = events
        self.left = 0 if batch is None else batch.rows

    def rows(self, first: int, last: int) -> Batch:
        batch: Any = self.batch
        if last - first == batch.rows:
            return batch  # type: ignore[no-any-return]
        part = batch.slice(first, last - first)
        part.began = batch.began
        return part  # type: ignore[no-any-return]

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


class TagRows:
    """The rows that a source's lane brings to a worker of a plan, while they are not worked on.

    Args:
        tags: numbers of the tags that come on it and that the worker is responsible for, by the frontier word that
            promises for them.
        positioned: whether rows carry their place in the stream.
    """

    __slots__ = (
        "_only",
        "bound",
        "bounds",
        "closed",
        "frames",
        "lane",
        "on_barrier",
        "positioned",
        "risen",
        "shares",
        "tags",
        "words",
    )

    def __init__(self, lane: InLane, tags: Mapping[int, Sequence[int]], positioned: bool) -> None:
        self.lane = lane
        self.words = {word: tuple(some) for word, some in tags.items() if some}
        self._only = self.words.keys() <= {0}
        """Whether there is one word to look at."""
        self.tags = tuple(tag for some in self.words.values() for tag in some)
        self.positioned = positioned
        self.frames: deque[Held] = deque()
        self.bound = FRONTIER_MIN
        """What the source has promised for all its streams."""
        self.bounds = dict.fromkeys(self.words, FRONTIER_MIN)
        self.risen: list[int] = []
        """Words that rose at the last look."""
        self.closed = False
        """Whether its end has come."""
        self.shares: list[Share] = []
        """Checkpoints whose barrier has not come yet; rows that come now belong to them."""
        self.on_barrier: Callable[[TagRows, int], None] | None = None
        """Called when a barrier comes, after the rows before it and before the rows behind it."""

    def take_in(self, protocol: WorkerProtocol) -> bool:
        """Gives the worker the slices that have come; returns whether there were any, or a promise has risen."""
        self.risen.clear()
        if self.lane.ended:
            return False
        channel, decode, frames = self.lane.channel, self.lane.decode, self.frames
        # read first: what they cover can be peeked now
        least = channel.frontier(0)
        before = len(frames)
        if self._only:
            if (frame := channel.peek(before)) is None and least <= self.bound:
                return False
            bounds = {0: least} if self.words else {}
        else:
            bounds = {word: channel.frontier(word) if word else least for word in self.words}
            frame = channel.peek(before)
        while frame is not None:
            if frame.kind == DATA:
                batch = decode(frame)
                batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
                # a source in this process says when its only event is
                known = frame.payload is batch and frame.rows == 1 and frame.min_time != NO_TIME_MIN
                times: Any = (frame.min_time,) if known else batch.event_times()
                held = Held(DATA, batch, times)
                places = batch.system[POSITION].data if self.positioned else None
                protocol.insert(frame.serial, times, held, places, checked=True)  # by the sender
                for share in self.shares:
                    share.add(frame.serial, batch)
            else:
                held = Held(frame.kind, None)
                if frame.kind == BARRIER and self.on_barrier is not None:
                    self.on_barrier(self, frame.barrier)
                elif frame.kind == END:
                    self.closed = True
                    for share in self.shares:
                        share.close()
                    self.shares.clear()
                    least = FRONTIER_END
                    bounds = dict.fromkeys(self.words, FRONTIER_END)
            frames.append(held)
            frame = channel.peek(len(frames))
        if least > self.bound:
            self.bound = least
        for word, bound in bounds.items():
            if bound > self.bounds[word]:
                self.bounds[word] = bound
                self.risen.append(word)
        return bool(self.risen) or len(frames) > before

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
        if lent_until is not None and self.bound <= lent_until:
            self._give_all()
            return
        while frames and not frames[0].left:
            if frames.popleft().kind == END:
                self.lane.ended = True
            self.lane.consume()
        if frames and frames[0].batch is not None and frames[0].time >= self.bound:
            self._give_all()

    def _give_all(self) -> None:
        """Gives all room back; the rows stay where they are until they are worked on."""
        while self.frames:
            if self.frames.popleft().kind == END:
                self.lane.ended = True
            self.lane.consume()
