"""Makes one sequence of channels in timestamp order: of a single lane, or of several whose rows are merged (viper-scalegate
section 3). `ordering.timestamp` decides which rows are ready; here rows are taken in and gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.events.interleaved import cut
from actorstream.events.saved import save_rows, saved_rows
from actorstream.runtime.inbox import Step
from actorstream.runtime.timestamp.inbox import Found, Merging
from actorstream.runtime.timestamp.kept import (
    count_tied,
    keep_lanes,
    kept_by,
    kept_of,
    put_aside,
    take_back_lanes,
    tied_bytes,
)
from actorstream.runtime.timestamp.lane_rows import times_of
from actorstream.runtime.timestamp.ready_rows import ReadyRows
from actorstream.runtime.timestamp.sequence import joined
from actorstream.runtime.timestamp.ties import by_value
from actorstream.transports.base import FRONTIER_END, FrameKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.ordering.timestamp import TimestampGate
    from actorstream.runtime.inbox import Ports
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.timestamp.lane_rows import LaneRows


class Turns:
    """Tells the unit when a merging whose lanes may be idle becomes idle or busy."""

    def __init__(self, all_rows: Sequence[LaneRows], ports: Ports) -> None:
        self.all_rows, self.ports = all_rows, ports
        self._count = 0
        """Transitions so far; odd while idle."""

    def rest(self) -> None:
        """The unit has nothing to do: it is idle if all its lanes are."""
        if self._count & 1 or not all(each.ended or each.lane.is_idle() for each in self.all_rows):
            return
        if not all(each.ended for each in self.all_rows) and not any(each.head() for each in self.all_rows):
            self._turn()

    def wake(self) -> None:
        """Rows have come."""
        if self._count & 1:
            self._turn()

    def _turn(self) -> None:
        self._count += 1
        self.ports.tell_idle(self._count)


class OneLane(Merging):
    """Merging of one lane: there is nothing to merge, and its frames pass whole."""

    def __init__(self, rows: LaneRows, ports: Ports) -> None:
        super().__init__([rows.lane])
        self.rows, self.lane, self.turns = rows, rows.lane, Turns([rows], ports)

    def next(self) -> Found:
        lane = self.lane
        if lane.ended or lane.held or (frame := lane.channel.peek()) is None:
            return Step.NOTHING
        if frame.kind != FrameKind.DATA:
            return lane, frame
        self.turns.wake()
        batch = self.rows.take_in()
        self.last = max(self.last, int(times_of(batch)[-1]))
        self.runs.append((batch, lane.input))
        return Step.ROWS

    def done(self) -> None:
        if self.rows.batches:
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
        self.turns.rest()

    def kept(self) -> dict[str, Any]:
        return {"lanes": [kept_of(self.rows, [])], "tied": None}

    def take_back(self, kept: Any, schemas: Mapping[str, Schema]) -> None:
        for _, saved in kept_by(kept["lanes"], [self.rows]):
            for each in saved:
                batch = saved_rows(schemas[self.lane.input], each)
                self.runs.append((batch, self.lane.input))
                self.last = max(self.last, int(times_of(batch)[-1]))

    def statistics(self) -> dict[str, int]:
        return {"rows": 0, "behind": 0} | tied_bytes([self.rows])


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
        self.turns = Turns(all_rows, ports)
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

    def marked(self, lane: InLane, barrier: int) -> None:
        if barrier < 0 and self.all_rows[lane.index].spill:
            lane.over = True

    def _take_in(self, rows: LaneRows) -> None:
        crowded = bool(rows.batches) and (bool(rows.spill) or rows.buffered > self.most_tied)
        batch = rows.take_in()
        if rows.lane.over and not rows.spill:
            rows.lane.ended = True
        if not batch.rows:
            rows.drop()
            return
        self.turns.wake()
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
        rows.batches[-1] = rest
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
        return not self._tied and not any(rows.batches for rows in self.all_rows)

    def rest(self) -> None:
        self.turns.rest()

    # -- checkpoints

    def kept(self) -> dict[str, Any]:
        of = self._tied_of
        return {
            "lanes": keep_lanes(self.all_rows, self.gate),
            "tied": kept_of(of, [save_rows(joined(self._tied))]) if of is not None else None,
        }

    def take_back(self, kept: Any, schemas: Mapping[str, Schema]) -> None:
        take_back_lanes(self.all_rows, self.gate, schemas, self.most_tied, kept["lanes"])
        if kept["tied"] is not None:
            for of, (saved,) in kept_by([kept["tied"]], self.all_rows):
                self._tied_of, self._tied = of, [saved_rows(schemas[of.input], saved)]

    def statistics(self) -> dict[str, int]:
        """Rows that wait for their turn; `tie_bytes`: what left its channel to wait for its tie, beside the budget, and
        `spilled_bytes` of it in files."""
        return self.gate.statistics() | tied_bytes(self.all_rows)
