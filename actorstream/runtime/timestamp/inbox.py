"""Timestamp input: one sequence of ready rows (viper-scalegate section 3), beside which side inputs have no order. A `Merging`
makes the sequence; the inbox adds side inputs, marks and promises."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.runtime.inbox import Inbox, Step
from actorstream.runtime.timestamp.lane_rows import times_of
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame, FrameKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.ordering.base import Gate
    from actorstream.runtime.lanes import InLane

Found = Step | tuple[Any, Frame]
"""A step, or a lane and the mark that it brings."""


class Merging(ABC):
    """A way to make one sequence. `runs` has the batches that are ready, in order, each with the name of its input.

    Attributes:
        lanes: the lanes that bring the sequence, as alignment sees them.
        frontier: the event time that was promised downstream.
        last: the time of the last row that was given, as far as it is known.
    """

    def __init__(self, lanes: list[Any]) -> None:
        self.lanes = lanes
        self.runs: deque[tuple[Batch, str]] = deque()
        self.frontier = self.last = FRONTIER_MIN

    @abstractmethod
    def next(self) -> Found:
        """Called when `runs` is empty. Returns ROWS if it has runs now, AGAIN if it may have some, NOTHING, or the lane and
        frame of a mark that is due."""

    @abstractmethod
    def reached(self) -> int:
        """The event time below which no row will be given, apart from those in `runs`."""

    @abstractmethod
    def is_through(self) -> bool:
        """Whether no rows are left beside `runs`; asked once all lanes have ended."""

    def latest(self) -> int:
        """The event time of the rows given so far. It counts while lanes promise nothing because they are idle or ended."""
        return self.last

    def look(self) -> None:
        """Takes in rows without giving any, so that promises can rise while an output is full."""

    def rest(self) -> None:
        """The unit has nothing to do."""

    def done(self) -> None:
        """The unit no longer needs the room of the rows that were given last."""

    def passed(self) -> None:
        """The unit has passed a barrier on."""

    @abstractmethod
    def snapshot(self) -> dict[str, Any]:
        """What a checkpoint keeps of the rows that wait."""

    @abstractmethod
    def restore(self, snapshot: Any, schemas: Mapping[str, Schema]) -> None:
        """Restores the rows that `snapshot` returned. schemas: those of the inputs, by name."""


class TimestampInbox(Inbox):
    """Inputs in timestamp order as one sequence, and side inputs, which take turns with it.

    Args:
        merging: brings the sequence.
        sides: lanes of side inputs.
        schemas: of the inputs, by name.
    """

    by_time: ClassVar[bool] = True
    follows_while_blocked: ClassVar[bool] = True

    def __init__(
        self, merging: Merging, sides: list[InLane], side_gate: Gate, schemas: Mapping[str, Schema]
    ) -> None:
        super().__init__([*merging.lanes, *sides])
        self.merging, self.sides, self.side_gate, self.schemas = merging, sides, side_gate, schemas
        self._side_due = False
        self._floor = FRONTIER_MIN
        """The event time that was promised downstream when the checkpoint was made that the run resumes from."""

    def next(self) -> Step:
        if self._due:
            return self._take_due()
        if self.merging.runs:
            return self._next_run()
        if self._side_due and (side := self.side_gate.next()) is not None:
            self._side_due = False
            return self._take_side(side)
        self._side_due = bool(self.sides)
        found = self.merging.next()
        if found is Step.ROWS:
            return self._next_run()
        if found is Step.AGAIN:
            return found
        if found is not Step.NOTHING:
            return self._mark(*found)  # type: ignore[misc] # a lane and its mark
        if self._side_due and self.side_gate.next() is not None:
            return Step.AGAIN
        return Step.END if self._has_ended() else Step.NOTHING

    def done(self) -> None:
        self.merging.done()

    def passed(self) -> None:
        self.merging.passed()

    def look(self) -> None:
        self.merging.look()

    def _next_run(self) -> Step:
        self.batch, self.source = self.merging.runs.popleft()
        return Step.ROWS

    def _take_side(self, lane: InLane) -> Step:
        """Takes the head of a side input's lane."""
        frame: Any = lane.channel.peek()
        if frame.kind != FrameKind.DATA:
            return self._mark(lane, frame)
        batch = lane.rows(frame)
        lane.consume()
        return self._give(batch, lane.input)

    def _has_ended(self) -> bool:
        return super()._has_ended() and not self.merging.runs and self.merging.is_through()

    def follow(self, rest: tuple[Batch, int] | None, *, resting: bool) -> int | None:
        merging = self.merging
        found = merging.reached()
        if merging.runs:
            found = min(found, int(times_of(merging.runs[0][0])[0]))
        if rest is not None:
            times = times_of(rest[0])
            found = min(found, int(times[min(rest[1], len(times) - 1)]))
        if found == FRONTIER_END and not all(lane.ended for lane in merging.lanes):
            found = merging.latest()
        found = max(found, self._floor)
        if found > merging.frontier:
            merging.frontier = found
            return found
        if resting:
            merging.rest()
        return None

    def snapshot(self) -> Any:
        """The rows that came before the barrier and were not given yet, and how far the sequence has got."""
        merging = self.merging
        place = {"promised": merging.frontier, "last": max(merging.last, merging.frontier)}
        return merging.snapshot() | place

    def restore(self, snapshot: Any) -> None:
        self.merging.restore(snapshot, self.schemas)
        self._floor, self.merging.last = snapshot["promised"], snapshot["last"]
