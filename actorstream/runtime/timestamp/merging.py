"""Makes one sequence of channels in timestamp order: of a single lane, or of several whose rows are merged (viper-scalegate
section 3). `ordering.timestamp` decides which rows are ready; here rows are taken in and gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.events.interleaved import cut
from actorstream.events.saved import save_rows, saved_rows
from actorstream.runtime.idleness import Idleness
from actorstream.runtime.inbox import Step
from actorstream.runtime.timestamp.inbox import Found, Merging
from actorstream.runtime.timestamp.lane_rows import times_of
from actorstream.runtime.timestamp.lane_snapshots import (
    by_lane,
    count_tied,
    put_aside,
    restore_lanes,
    saved_lane,
    snapshot_lanes,
)
from actorstream.runtime.timestamp.ready_rows import ReadyRows
from actorstream.runtime.timestamp.sequence import joined
from actorstream.runtime.timestamp.ties import by_value
from actorstream.transports.base import FRONTIER_END, FrameKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.ordering.timestamp import TimestampGate
    from actorstream.runtime.inbox import Ports
    from actorstream.runtime.timestamp.lane_rows import LaneRows


class OneLane(Merging):
    """Merging of one lane: there is nothing to merge, and its frames pass whole."""

    def __init__(self, rows: LaneRows, ports: Ports) -> None:
        super().__init__([rows.lane])
        self.rows, self.lane, self.idleness = rows, rows.lane, Idleness([rows.lane], ports)

    def next(self) -> Found:
        lane = self.lane
        if lane.ended or lane.held or (frame := lane.channel.peek()) is None:
            return Step.NOTHING
        if frame.kind != FrameKind.DATA:
            return lane, frame
        self.idleness.wake()
        batch = self.rows.take_in()
        self.last = max(self.last, int(times_of(batch)[-1]))
        self.runs.append((batch, lane.input))
        return Step.ROWS

    def done(self) -> None:
        if self.rows.runs:
            self.rows.release()

    def reached(self) -> int:
        lane = self.lane
        if lane.ended:
            return FRONTIER_END
        if lane.is_idle():
            return self.last
        frontier = lane.channel.frontier(0)  # before the head: what it covers is there
        return self.last if lane.channel.peek() is not None else max(self.last, frontier)

    def is_through(self) -> bool:
        return True

    def rest(self) -> None:
        self.idleness.rest()

    def snapshot(self) -> dict[str, Any]:
        return {"lanes": [saved_lane(self.rows, [])], "tied": None}

    def restore(self, snapshot: Any, schemas: Mapping[str, Schema]) -> None:
        for _, saved in by_lane(snapshot["lanes"], [self.rows]):
            for each in saved:
                batch = saved_rows(schemas[self.lane.input], each)
                self.runs.append((batch, self.lane.input))
                self.last = max(self.last, int(times_of(batch)[-1]))


class ChannelMerging(Merging):
    """Merging of several lanes, row by row.

    Args:
        gate: says which rows are ready. ready_rows: takes them off the lanes.
        ports: those of the unit. row: its counters.
    """

    most_tied: ClassVar[int] = 64 << 20
    """Bytes of each lane that wait in memory for their tie; beyond it rows are spilled to a file."""

    def __init__(
        self,
        all_rows: list[LaneRows],
        gate: TimestampGate,
        ready_rows: ReadyRows,
        ports: Ports,
        row: np.ndarray,
    ) -> None:
        super().__init__([rows.lane for rows in all_rows])
        self.all_rows = all_rows
        self.gate, self.ready_rows, self.ports, self.row = gate, ready_rows, ports, row
        self.idleness = Idleness(self.lanes, ports)
        self._tied: list[Batch] = []
        """Rows of one time, to be ordered by value, while more rows of that time may come."""
        self._tied_of: LaneRows | None = None

    # -- what comes in

    def next(self) -> Found:
        gate = self.gate
        for rows in gate.due():
            if rows.head().kind == FrameKind.DATA:
                self._take_in(rows)
        rows = gate.next()
        if rows is not None:
            rows.buffer()
            head = rows.head()
            if head.kind != FrameKind.DATA:
                return rows.lane, head
            self._take_in(rows)
            return Step.AGAIN
        found = self.ready_rows.next(self._take_in)
        for batch, rows in found:
            self._add(batch, rows)
            if rows.idles:
                self.last = int(times_of(batch)[-1])
        self._settle_ties()
        if self.runs:
            return Step.ROWS
        if found:
            return Step.AGAIN
        for at in gate.crowded():
            self.all_rows[at].buffer()
        if gate.next() is not None:  # a row that may be tied with what is waited on
            return Step.AGAIN
        return Step.NOTHING

    def look(self) -> None:
        while (rows := self.gate.next()) is not None:
            rows.buffer()
            if rows.head().kind != FrameKind.DATA:
                break
            self._take_in(rows)

    def _take_in(self, rows: LaneRows) -> None:
        crowded = bool(rows.runs) and (bool(rows.spill) or rows.buffered > self.most_tied)
        batch = rows.take_in()
        if not batch.rows:
            rows.drop()
            return
        self.idleness.wake()
        times = times_of(batch)
        if rows.idles and rows.open and times[0] < max(self.frontier, self.last):
            batch, times = self._not_late(rows, batch, times)
        if not len(times):
            return
        if crowded:
            put_aside(rows, self.gate)
        else:
            self.gate.put(rows.index, times, rows.order.ties(batch, self.gate.ties))
        if rows.buffered:
            count_tied(self.all_rows, self.row)

    def _not_late(self, rows: LaneRows, batch: Batch, times: np.ndarray) -> tuple[Batch, np.ndarray]:
        """Splits off the late rows of a lane that was idle: those below what the others have reached meanwhile."""
        late = times < max(self.frontier, self.last)
        self.ports.late(batch.take(late))
        rest = batch.take(~late)
        rows.runs[-1] = rows.runs[-1]._replace(batch=rest)
        if not rest.rows:
            rows.drop()
        return rest, times[~late]

    # -- what is ready

    def _add(self, batch: Batch, of: LaneRows) -> None:
        if not of.order.by_value:
            self._let_tied_go()
            self.runs.append((batch, of.input))
            return
        if self._tied_of is not None and self._tied_of.order.rank != of.order.rank:
            self._let_tied_go()
        self._tied.append(batch)
        self._tied_of = of

    def _settle_ties(self) -> None:
        """Lets rows go that are ordered by value, as far as none can come any more that is tied with them."""
        if not self._tied:
            return
        assert self._tied_of is not None
        reached = self.gate.reached()
        if reached == FRONTIER_END:  # also rows of that time: none can follow
            self._let_tied_go()
            return
        if reached <= int(times_of(self._tied[0])[0]):
            return
        batch = joined(self._tied)
        times = times_of(batch)
        rows = int(np.searchsorted(times, reached))
        of, self._tied, self._tied_of = self._tied_of, [], None
        if rows < batch.rows:
            self._tied, self._tied_of = [cut(batch, rows, batch.rows - rows)], of
        if rows:
            self.runs.append((by_value(cut(batch, 0, rows), times[:rows], of.order.tie_fields), of.input))

    def _let_tied_go(self) -> None:
        if self._tied and self._tied_of is not None:
            batch, of = joined(self._tied), self._tied_of
            self.runs.append((by_value(batch, times_of(batch), of.order.tie_fields), of.input))
        self._tied, self._tied_of = [], None

    # -- promises

    def reached(self) -> int:
        self.gate.refresh()
        found = self.gate.reached()
        return min(found, int(times_of(self._tied[0])[0])) if self._tied else found

    def latest(self) -> int:
        return max(self.last, self.gate.latest())

    def is_through(self) -> bool:
        return not self._tied and not any(rows.runs or rows.spill for rows in self.all_rows)

    def rest(self) -> None:
        self.idleness.rest()

    # -- checkpoints

    def snapshot(self) -> dict[str, Any]:
        of = self._tied_of
        return {
            "lanes": snapshot_lanes(self.all_rows, self.gate),
            "tied": saved_lane(of, [save_rows(joined(self._tied))]) if of is not None else None,
        }

    def restore(self, snapshot: Any, schemas: Mapping[str, Schema]) -> None:
        restore_lanes(self.all_rows, self.gate, schemas, self.most_tied, snapshot["lanes"])
        if snapshot["tied"] is not None:
            for of, (saved,) in by_lane([snapshot["tied"]], self.all_rows):
                self._tied_of, self._tied = of, [saved_rows(schemas[of.input], saved)]
