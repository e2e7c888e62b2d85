"""Timestamp input: one sequence of ready rows (viper-scalegate section 3), beside which side inputs have no order. The sequence
is that of one lane, or of the reader of a merge; the inbox adds side inputs, marks and promises."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.checkpoint.alignment import Alignment
from actorstream.ordering.timestamp import times_of
from actorstream.runtime.inbox import Inbox, Step
from actorstream.transports.base import FRONTIER_MIN, FrameKind
from actorstream.windows.watermark import AT_END

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.timestamp.merge import MergeReader
    from actorstream.runtime.timestamp.one_lane import OneLane


class TimestampInbox(Inbox):
    """Inputs in timestamp order as one sequence, and side inputs, which take turns with it.

    Args:
        sides: lanes of side inputs, between which `side_gate` decides. schemas: of the inputs, by name.
    """

    by_time: ClassVar[bool] = True
    follows_while_blocked: ClassVar[bool] = True

    def __init__(
        self, rows: OneLane | MergeReader, sides: list[InLane], side_gate: Any, schemas: Mapping[str, Schema]
    ) -> None:
        super().__init__([*rows.lanes, *sides])
        self.alignment = Alignment([rows.mark, *sides])
        self.rows, self.sides, self.side_gate, self.schemas = rows, sides, side_gate, schemas
        self._side_due = False
        self._floor = FRONTIER_MIN
        """The event time that was promised downstream when the checkpoint was made that the run resumes from."""

    def next(self) -> Step:
        if self._due:
            return self._take_due()
        rows = self.rows
        if not rows.runs:
            if self._side_due and (side := self.side_gate.next()) is not None:
                self._side_due = False
                return self._take_side(side)
            self._side_due = bool(self.sides)
            mark = rows.next()
            if mark is not None:
                return self._mark(rows.mark, mark)
        if rows.runs:
            return self._give(*rows.runs.popleft())
        if self._side_due and self.side_gate.next() is not None:
            return Step.AGAIN
        return Step.END if self._has_ended() else Step.NOTHING

    def done(self) -> None:
        self.rows.done()

    def passed(self) -> None:
        self.rows.passed()

    def look(self) -> None:
        self.rows.look()

    def _take_side(self, lane: InLane) -> Step:
        """Takes the head of a side input's lane."""
        frame: Any = lane.channel.peek()
        if frame.kind != FrameKind.DATA:
            return self._mark(lane, frame)
        batch = lane.rows(frame)
        lane.consume()
        return self._give(batch, lane.input)

    def _has_ended(self) -> bool:
        return all(lane.ended for lane in self.alignment.lanes) and not self.rows.runs

    def follow(self, rest: tuple[Batch, int] | None, *, resting: bool) -> int | None:
        rows = self.rows
        found = rows.reached()
        if rows.runs:
            found = min(found, int(times_of(rows.runs[0][0])[0]))
        if rest is not None and all(lane.input != self.source for lane in self.sides):
            times = times_of(rest[0])
            found = min(found, int(times[min(rest[1], len(times) - 1)]))
        if found >= AT_END and not rows.mark.ended:  # `on_end` may still give rows
            found = rows.latest()
        found = max(found, self._floor)
        if found > rows.frontier:
            rows.frontier = found
            return found
        if resting:
            rows.idleness.rest()
        return None

    def snapshot(self) -> Any:
        """The rows that came before the barrier and were not given yet, and how far the sequence has got, which is the same for
        all readers of one merge."""
        rows = self.rows
        promised = max(rows.frontier, rows.reached_at_barrier())
        return rows.snapshot() | {"promised": promised, "last": max(rows.last, promised)}

    def restore(self, snapshot: Any) -> None:
        self._floor, self.rows.last = snapshot["promised"], snapshot["last"]
        self.rows.restore(snapshot, self.schemas)
