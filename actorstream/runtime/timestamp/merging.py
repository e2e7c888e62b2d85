"""Makes one sequence of channels in timestamp order: of a single lane, or of several whose rows are merged (viper-scalegate
section 3). `ordering.timestamp` decides which rows are ready; here rows are taken in and gathered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.events.saved import save_rows, saved_rows
from actorstream.runtime.inbox import Step
from actorstream.runtime.timestamp.inbox import Found, Merging
from actorstream.runtime.timestamp.kept import count_tied, keep_lanes, put_aside, take_back_lanes, tied_bytes
from actorstream.runtime.timestamp.lane import TimestampInLane, times_of
from actorstream.runtime.timestamp.ready_rows import ReadyRows, cut
from actorstream.runtime.timestamp.sequence import joined
from actorstream.runtime.timestamp.ties import by_value
from actorstream.transports.base import FRONTIER_END, FrameKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.ordering.timestamp import TimestampGate
    from actorstream.runtime.inbox import Ports


class Turns:
    """Tells the unit when a merging whose lanes may be idle becomes idle or busy."""

    def __init__(self, lanes: list[TimestampInLane], ports: Ports) -> None:
        self.lanes, self.ports = lanes, ports
        self._count = 0
        """Transitions so far; odd while idle."""

    def rest(self) -> None:
        """The unit has nothing to do: it is idle if all its lanes are."""
        lanes = self.lanes
        if self._count & 1 or not all(lane.ended or lane.is_idle() for lane in lanes):
            return
        if not all(lane.ended for lane in lanes) and not any(lane.head() for lane in lanes):
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

    def __init__(self, lane: TimestampInLane, ports: Ports) -> None:
        super().__init__([lane])
        self.lane, self.turns = lane, Turns([lane], ports)

    def next(self) -> Found:
        lane = self.lane
        if lane.ended or lane.held or (frame := lane.channel.peek()) is None:
            return Step.NOTHING
        if frame.kind != FrameKind.DATA:
            return lane, frame
        self.turns.wake()
        batch = lane.take_in()
        self.last = max(self.last, int(times_of(batch)[-1]))
        self.runs.append((batch, lane.input))
        return Step.ROWS

    def done(self) -> None:
        if self.lane.batches:
            self.lane.release()

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
        return {"lanes": [[]], "tied": None}

    def take_back(self, kept: Any, schemas: Mapping[str, Schema]) -> None:
        for rows in kept["lanes"]:
            for each in rows:
                batch = saved_rows(schemas[self.lane.input], each)
                self.runs.append((batch, self.lane.input))
                self.last = max(self.last, int(times_of(batch)[-1]))

    def statistics(self) -> dict[str, int]:
        return {"rows": 0, "behind": 0} | tied_bytes([self.lane])


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
        lanes: list[TimestampInLane],
        gate: TimestampGate,
        ready_rows: ReadyRows,
        ports: Ports,
        row: np.ndarray,
    ) -> None:
        super().__init__(lanes)
        self.gate, self.ready_rows, self.ports, self.row = gate, ready_rows, ports, row
        self.turns = Turns(lanes, ports)
        self._tied: list[Batch] = []
        """Rows of one time, to be ordered by value, while more rows of that time may come."""
        self._tied_lane: TimestampInLane | None = None

    # -- what comes in

    def next(self) -> Found:
        gate = self.gate
        for lane in gate.due():
            if lane.head().kind == FrameKind.DATA:
                self._take_in(lane)
        lane = gate.next()
        if lane is not None:
            lane.buffer()
            head = lane.head()
            if head.kind != FrameKind.DATA:
                return lane, head
            self._take_in(lane)
            return Step.AGAIN
        found = self.ready_rows.next(self._take_in)
        for batch, source in found:
            self._add(batch, source)
            if source.idles:
                self.last = int(times_of(batch)[-1])
        self._settle_ties()
        if self.runs:
            return Step.ROWS
        if found:
            return Step.AGAIN
        for at in gate.crowded():
            self.lanes[at].buffer()
        if gate.next() is not None:  # a row that may be tied with what is waited on
            return Step.AGAIN
        return Step.NOTHING

    def look(self) -> None:
        while (lane := self.gate.next()) is not None:
            lane.buffer()
            if lane.head().kind != FrameKind.DATA:
                break
            self._take_in(lane)

    def marked(self, lane: TimestampInLane, barrier: int) -> None:
        if barrier < 0 and lane.spill:
            lane.over = True

    def _take_in(self, lane: TimestampInLane) -> None:
        crowded = bool(lane.batches) and (bool(lane.spill) or lane.buffered > self.most_tied)
        batch = lane.take_in()
        if lane.over and not lane.spill:
            lane.ended = True
        if not batch.rows:
            lane.drop()
            return
        self.turns.wake()
        times = times_of(batch)
        if lane.idles and lane.open and times[0] < max(self.frontier, self.last):
            batch, times = self._not_late(lane, batch, times)
        if not len(times):
            return
        if crowded:
            put_aside(lane, self.gate)
        else:
            self.gate.put(lane.index, times, lane.ties(batch, self.gate.ties))
        if lane.buffered:
            count_tied(self.lanes, self.row)

    def _not_late(self, lane: TimestampInLane, batch: Batch, times: np.ndarray) -> tuple[Batch, np.ndarray]:
        """Splits off the late rows of a lane that was idle: those below what the others have reached meanwhile."""
        late = times < max(self.frontier, self.last)
        self.ports.late(batch.take(late))
        rest = batch.take(~late)
        lane.batches[-1] = rest
        if not rest.rows:
            lane.drop()
        return rest, times[~late]

    # -- what is ready

    def _add(self, batch: Batch, lane: TimestampInLane) -> None:
        if not lane.by_value:
            self._let_tied_go()
            self.runs.append((batch, lane.input))
            return
        if self._tied_lane is not None and self._tied_lane.rank != lane.rank:
            self._let_tied_go()
        self._tied.append(batch)
        self._tied_lane = lane

    def _settle_ties(self) -> None:
        """Lets rows go that are ordered by value, as far as none can come any more that is tied with them."""
        if not self._tied:
            return
        assert self._tied_lane is not None
        reached = self.gate.reached()
        if reached == FRONTIER_END:  # also rows of that time: none can follow
            self._let_tied_go()
            return
        if reached <= int(times_of(self._tied[0])[0]):
            return
        batch = joined(self._tied)
        times = times_of(batch)
        rows = int(np.searchsorted(times, reached))
        lane, self._tied, self._tied_lane = self._tied_lane, [], None
        if rows < batch.rows:
            self._tied, self._tied_lane = [cut(batch, rows, batch.rows - rows)], lane
        if rows:
            self.runs.append((by_value(cut(batch, 0, rows), times[:rows], lane.tie_fields), lane.input))

    def _let_tied_go(self) -> None:
        if self._tied and self._tied_lane is not None:
            batch, lane = joined(self._tied), self._tied_lane
            self.runs.append((by_value(batch, times_of(batch), lane.tie_fields), lane.input))
        self._tied, self._tied_lane = [], None

    # -- promises

    def reached(self) -> int:
        self.gate.refresh()
        found = self.gate.reached()
        return min(found, int(times_of(self._tied[0])[0])) if self._tied else found

    def latest(self) -> int:
        return max(self.last, self.gate.latest())

    def is_through(self) -> bool:
        return not self._tied and not any(lane.batches for lane in self.lanes)

    def rest(self) -> None:
        self.turns.rest()

    # -- checkpoints

    def kept(self) -> dict[str, Any]:
        lane = None if self._tied_lane is None else self._tied_lane.index
        return {
            "lanes": keep_lanes(self.lanes, self.gate),
            "tied": [lane, save_rows(joined(self._tied))] if self._tied else None,
        }

    def take_back(self, kept: Any, schemas: Mapping[str, Schema]) -> None:
        take_back_lanes(self.lanes, self.gate, schemas, self.most_tied, kept["lanes"])
        if kept["tied"] is not None:
            lane = self._tied_lane = self.lanes[kept["tied"][0]]
            self._tied = [saved_rows(schemas[lane.input], kept["tied"][1])]

    def statistics(self) -> dict[str, int]:
        """Rows that wait for their turn; `tie_bytes`: what left its channel to wait for its tie, beside the budget, and
        `spilled_bytes` of it in files."""
        return self.gate.statistics() | tied_bytes(self.lanes)
