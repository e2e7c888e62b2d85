"""What an order does with what comes: which rows the head of a unit gets next, when a barrier is passed, how far event time
has got, and what a checkpoint keeps of what waits. An order's only part on the receiver's side; it reads no clock, runs no
hook and never waits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from enum import IntEnum
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from actorstream.checkpoint.alignment import Alignment
from actorstream.runtime.idleness import Idleness
from actorstream.transports.base import FRONTIER_MIN, FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.ordering.base import Gate
    from actorstream.runtime.lanes import InLane
    from actorstream.transports.base import Frame


class Step(IntEnum):
    """What an inbox has for its unit."""

    NOTHING = 0
    """Nothing until something comes."""
    AGAIN = 1
    """Something was taken in, and there may be more: ask again."""
    ROWS = 2
    """Rows for the head: `batch`, of the input `source`."""
    TIME = 3
    """Event time has got to `time`, behind the rows so far."""
    BARRIER = 4
    """All rows before `barrier` have been given."""
    END = 5
    """All input has ended."""


class Ports(Protocol):
    """What an inbox tells its unit."""

    def tell_idle(self, count: int) -> None:
        """No rows are to be expected (odd), or some are again (even)."""

    def late(self, batch: Batch) -> None:
        """Rows that came too late to have their place."""


class Inbox(ABC):
    """The input of one unit.

    Attributes:
        lanes: of all inputs.
        batch, source, time, barrier: what the last step gave.
    """

    by_number: ClassVar[bool] = False
    """Whether all that comes of some rows must be sent before the next are given."""
    passes_singles = False
    """Whether an event that came by itself may go to the hook at once, since nothing has a place before it."""
    follows_while_blocked: ClassVar[bool] = False
    """Whether promises go on while an output is full."""

    batch: Batch
    source: str
    time = FRONTIER_MIN
    barrier = 0

    def __init__(self, lanes: list[Any]) -> None:
        self.lanes: list[Any] = lanes
        self.alignment = Alignment(lanes)
        self._due: deque[tuple[Step, int]] = deque()
        """Times and marks that are given before anything else, in order."""

    @abstractmethod
    def next(self) -> Step:
        """Gives the next rows, time or mark."""

    def done(self) -> None:
        """The rows that were given last are worked on, or somebody else keeps them: their room may go back."""

    def passed(self) -> None:
        """The barrier that was given last has been passed on."""

    def look(self) -> None:
        """An output is full: what comes is looked at nevertheless, so that others hear what it promises."""

    def follow(self, rest: tuple[Batch, int] | None, *, resting: bool) -> int | None:
        """How far event time has got, if that is further than before.

        Args:
            rest: the batch whose events are being run, and how many have been; None: all have.
            resting: whether `next` has just given nothing.
        """
        return None

    def kept(self) -> Any:
        """What a checkpoint keeps of what waits here: plain values; None: nothing."""
        return None

    def take_back(self, kept: Any) -> None:
        """Goes on behind a checkpoint, with what `kept` has returned."""

    def statistics(self) -> dict[str, int]:
        """Rows or frames that wait in here, by name."""
        return {}

    # -- for orders

    def _give(self, frame: Frame, batch: Batch, source: str) -> Step:
        batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
        self.batch, self.source = batch, source
        return Step.ROWS

    def _take_due(self) -> Step:
        """The first of what is due."""
        if not self._due:
            return Step.AGAIN
        step, value = self._due.popleft()
        if step is Step.BARRIER:
            self.barrier = value
        elif step is Step.TIME:
            self.time = value
        return step

    def _complete(self, barrier: int | None) -> None:
        """A lane has brought a barrier or its end; `barrier`: which all have now, if that is so."""
        if barrier is not None:
            self._due.append((Step.BARRIER, barrier))

    def _mark(self, lane: Any, frame: Frame) -> Step:
        """Takes a barrier or end mark off a lane."""
        lane.consume()
        if frame.kind == FrameKind.BARRIER:
            self._complete(self.alignment.deliver(lane, frame.barrier))
        elif frame.kind == FrameKind.END:
            lane.ended = True
            self._complete(self.alignment.ended(lane))
            if all(each.ended for each in self.lanes):
                self._due.append((Step.END, 0))
        return self._take_due()


class FifoInbox(Inbox):
    """Order `none`: rows as they come, first in first out on each channel. The gate says which lane is next."""

    def __init__(self, lanes: list[InLane], gate: Gate, ports: Ports) -> None:
        super().__init__(lanes)
        self.gate = gate
        self.passes_singles = gate.name == "none"
        self._frontier = FRONTIER_MIN
        self._promised: int | None = None
        """A frontier that was read; it waits until what it covers is taken: `_marks` frames of each lane."""
        self._marks: list[int] = []
        self._taken: InLane | None = None
        """The lane whose head the rows are that were given last."""
        idle = [lane for lane in lanes if lane.idles]
        self.idleness = Idleness(idle, ports) if idle and len(idle) == len(lanes) else None

    def next(self) -> Step:
        if self._due:
            return self._take_due()
        lane = self.gate.next()
        if lane is None:
            return Step.NOTHING
        frame = lane.channel.peek()
        if frame.kind != FrameKind.DATA:
            return self._mark(lane, frame)
        batch = lane.decode(frame)
        if self.idleness is not None:
            batch = self.idleness.took(lane, batch)
        self._taken = lane
        return self._give(frame, batch, lane.input)

    def done(self) -> None:
        lane, self._taken = self._taken, None
        if lane is not None:
            lane.consume()

    def follow(self, rest: tuple[Batch, int] | None, *, resting: bool) -> int | None:
        if rest is not None:
            return None
        frontier = self._next_frontier()
        if frontier is None and self.idleness is not None and self._promised is None:
            self.idleness.rest()
        return frontier

    def _next_frontier(self) -> int | None:
        """Reads the lanes' promises; returns one that has risen, once everything it covers has been taken."""
        if self._promised is None:
            if self.idleness is None:
                frontier = min(lane.frontier() for lane in self.lanes)
            else:
                frontier = self.idleness.frontier(self._frontier)
            if frontier <= self._frontier:
                return None
            # the frontier is read first: what it covers is among what waits now
            self._marks = [lane.taken + lane.channel.waiting() for lane in self.lanes]
            self._promised = frontier
        if any(lane.taken < mark for lane, mark in zip(self.lanes, self._marks)):
            return None
        self._frontier, self._promised = self._promised, None
        if self.idleness is not None:
            self.idleness.reach(self._frontier)
        return self._frontier

    def statistics(self) -> dict[str, int]:
        return self.gate.statistics()
