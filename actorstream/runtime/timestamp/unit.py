"""A unit whose head takes input in timestamp order: one sequence of ready rows, merged by the thread that is there anyway
(viper-scalegate section 3). It decides nothing about order (`ordering.timestamp` does); it takes in, gathers, runs hooks,
and promises what is behind it."""

from __future__ import annotations

from collections import deque
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.events.saved import save_rows, saved_rows
from actorstream.runtime.operator_unit import InLane, OperatorUnit
from actorstream.runtime.timestamp.kept import count_tied, keep_lanes, put_aside, take_back_lanes, tied_bytes
from actorstream.runtime.timestamp.lane import TimestampInLane, times_of
from actorstream.runtime.timestamp.ready_rows import ReadyRows, cut
from actorstream.runtime.timestamp.sequence import joined
from actorstream.runtime.timestamp.ties import by_value
from actorstream.runtime.unit import TURN_FRAMES, Status
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.ordering.base import Gate
    from actorstream.ordering.timestamp import TimestampGate
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.worker import Worker


class TimestampUnit(OperatorUnit):
    """A unit whose head sees its timestamp inputs as one sequence.

    With one lane there is nothing to merge: its frames go through whole.

    Args:
        lanes: of the timestamp inputs. sides: of side inputs, in no order, which take turns with the sequence.
        ready_rows: takes what is ready off them.
    """

    most_tied: ClassVar[int] = 64 << 20
    """Bytes of each lane that wait in memory for their tie; beyond it rows are spilled to a file."""

    def __init__(
        self,
        worker: Worker,
        head: Replica,
        lanes: list[TimestampInLane],
        gate: TimestampGate,
        sides: list[InLane],
        side_gate: Gate,
        ready_rows: ReadyRows,
    ) -> None:
        super().__init__(worker, head, [*lanes, *sides], gate)
        self.lanes_in_order, self.sides, self.side_gate = lanes, sides, side_gate
        self.merge: TimestampGate = gate
        self.ready_rows = ready_rows
        self._runs: deque[tuple[Batch, str]] = deque()
        self._tied: list[Batch] = []
        """Rows of one time whose ties are not all here yet; they are ordered by value."""
        self._tied_lane: TimestampInLane | None = None
        self._working: Batch | None = None
        """The batch whose events are being run."""
        self._side_due = False
        self._alone = lanes[0] if len(lanes) == 1 else None
        self._last = FRONTIER_MIN
        """Time of the last row that went, where there is one lane only or lanes may be idle."""
        self._floor = FRONTIER_MIN
        """What was promised behind this unit when the checkpoint was made that this run goes on from."""
        self._idle = 0
        """Transitions between busy and idle; odd while idle."""

    # -- turns

    def work(self) -> Status:
        status = self._take()
        if self.blocked:
            self.while_blocked()
        elif self.task is None:
            if self._alone is None:
                self.merge.refresh()
            self._advance()
            if status is Status.IDLE:
                self._rest_idle()
        return Status.READY if self._awaiting and status is Status.IDLE else status

    def while_blocked(self) -> None:
        """An output is full: what comes in is looked at nevertheless, so that the others hear what it promises."""
        if self.task is not None or self.ending:
            return
        if self._alone is not None:
            self._advance()
            return
        while (lane := self.merge.next()) is not None:
            lane.buffer()
            if lane.head().kind != FrameKind.DATA:
                break
            self._take_in(lane)
        self.merge.refresh()
        self._advance()

    def _take(self) -> Status:
        deadline = monotonic_ns() + self.worker.turn_ns
        for _ in range(TURN_FRAMES):
            if self._events and not self._run_events(deadline):
                return Status.BLOCKED if self.blocked else Status.READY
            self._working = None
            if self.blocked:
                return Status.BLOCKED
            if self._awaiting:
                return Status.READY
            if self._runs:
                if self._run(*self._runs.popleft()):
                    return Status.BUSY
            elif self._side_due and (side := self.side_gate.next()) is not None:
                self._side_due = False
                if self._take_side(side):
                    return Status.BUSY
            else:
                self._side_due = bool(self.sides)
                found = self._next_alone(self._alone) if self._alone is not None else self._next_merged()
                if found is not None:
                    if found is Status.IDLE and self._side_due and self.side_gate.next() is not None:
                        continue
                    return found
            if monotonic_ns() > deadline:
                return Status.READY
        return Status.READY

    def _next_alone(self, lane: TimestampInLane) -> Status | None:
        """Takes the next frame of the only lane; None: there may be more to do."""
        if lane.ended or lane.held:
            return Status.IDLE
        frame = lane.channel.peek()
        if frame is None:
            return Status.IDLE
        if frame.kind != FrameKind.DATA:
            return Status.BUSY if self._mark(lane, frame) else None
        batch = lane.take_in()
        self._last = max(self._last, int(times_of(batch)[-1]))
        busy = self._run(batch, lane.input)
        lane.release()
        return Status.BUSY if busy else None

    def _next_merged(self) -> Status | None:
        """Takes in what waits, or merges what is ready; None: there may be more to do."""
        for lane in self.merge.due():
            if lane.head().kind == FrameKind.DATA:
                self._take_in(lane)
        lane = self.merge.next()
        if lane is not None:
            lane.buffer()
            head = lane.head()
            if head.kind == FrameKind.DATA:
                self._take_in(lane)
            elif self._mark(lane, head):
                return Status.BUSY
            return None
        found = self.ready_rows.next(self._take_in)
        for batch, source in found:
            self._add(batch, source)
            if source.idles:
                self._last = int(times_of(batch)[-1])
        self._settle_ties()
        if found or self._runs:
            return None
        for at in self.merge.crowded():
            self.lanes_in_order[at].buffer()
        if self.merge.next() is not None:  # a row that may be tied with what is waited on
            return None
        return self._finished() or Status.IDLE

    def _take_in(self, lane: TimestampInLane) -> None:
        crowded = bool(lane.batches) and (bool(lane.spill) or lane.buffered > self.most_tied)
        batch = lane.take_in()
        if lane.over and not lane.spill:
            lane.ended = True
        if not batch.rows:
            lane.drop()
            return
        self._wake()
        times = times_of(batch)
        if lane.idles and lane.open and times[0] < max(self._frontier, self._last):
            batch, times = self._not_late(lane, batch, times)
        if not len(times):
            return
        if crowded:
            put_aside(lane, self.merge)
        else:
            self.merge.put(lane.index, times, lane.ties(batch, self.merge.ties))
        if lane.buffered:
            count_tied(self.lanes_in_order, self.head.row)

    def _not_late(self, lane: TimestampInLane, batch: Batch, times: np.ndarray) -> tuple[Batch, np.ndarray]:
        """Of a lane that was idle, what others went past meanwhile is late."""
        late = times < max(self._frontier, self._last)
        self.head.count_late(int(late.sum()))
        self.head.forward(batch.take(late).cast(self.head.schemas["late"]), "late")
        rest = batch.take(~late)
        lane.batches[-1] = rest
        if not rest.rows:
            lane.drop()
        return rest, times[~late]

    # -- what is ready

    def _add(self, batch: Batch, lane: TimestampInLane) -> None:
        if not lane.by_value:
            self._let_tied_go()
            self._runs.append((batch, lane.input))
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
        reached = self.merge.reached()
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
            self._runs.append((by_value(cut(batch, 0, rows), times[:rows], lane.tie_fields), lane.input))

    def _let_tied_go(self) -> None:
        if self._tied and self._tied_lane is not None:
            batch, lane = joined(self._tied), self._tied_lane
            self._runs.append((by_value(batch, times_of(batch), lane.tie_fields), lane.input))
        self._tied, self._tied_lane = [], None

    # -- hooks and marks

    def _run(self, batch: Batch, source: str, lane: Any = None) -> bool:
        awaits = super()._run(batch, source, lane)
        if self._events:
            self._working = batch
        return awaits

    def _take_side(self, lane: Any) -> bool:
        """Takes the head of a side input; whether the unit is busy now."""
        frame = lane.channel.peek()
        if frame.kind != FrameKind.DATA:
            return self._mark(lane, frame)
        batch = lane.decode(frame)
        batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
        lane.consume()
        return self._run(batch, lane.input)

    def _mark(self, lane: Any, frame: Frame) -> bool:
        """Takes a barrier or end mark; whether the unit is busy with its end now."""
        if isinstance(lane, TimestampInLane):
            lane.buffer()  # the mark is behind rows that wait for their tie
        lane.consume()
        if frame.kind == FrameKind.BARRIER:
            self._complete(self._aligned(lane, frame.barrier))
        elif isinstance(lane, TimestampInLane) and lane.spill:
            lane.over = True
            if self.alignment.barrier is not None:
                self._complete(self.alignment.deliver(lane, self.alignment.barrier))
        else:
            lane.ended = True
            self._complete(self.alignment.ended(lane))
            return self._finished() is not None
        return False

    def _aligned(self, lane: Any, barrier: int) -> int | None:
        """A lane has brought a barrier; those that bring nothing more have it too. The barrier, once all have."""
        for each in self.lanes_in_order:
            if each.over and not each.ended and not each.held:
                self.alignment.deliver(each, barrier)
        return self.alignment.deliver(lane, barrier)

    def _finished(self) -> Status | None:
        """Begins the end, once there is nothing before it."""
        if not self._is_through():
            return None
        self._advance()
        return self.spawn(self.finish())

    def _is_through(self) -> bool:
        """Whether every lane has ended and all rows have gone."""
        if not all(lane.ended for lane in self.in_lanes) or self._runs or self._tied:
            return False
        return not any(lane.batches for lane in self.lanes_in_order if lane is not self._alone)

    # -- promises

    def reached(self) -> int:
        """No row below it will be given to the head any more."""
        if self._alone is not None:
            found = self._reached_alone(self._alone)
        else:
            found = self.merge.reached()
        for batch in (*(batch for batch, _ in list(self._runs)[:1]), *self._tied[:1]):
            found = min(found, int(times_of(batch)[0]))
        if self._working is not None and self._events:
            times = times_of(self._working)
            found = min(found, int(times[min(self._at, len(times) - 1)]))
        return found

    def _reached_alone(self, lane: TimestampInLane) -> int:
        if lane.ended:
            return FRONTIER_END
        if lane.is_idle():
            return self._last
        frontier = lane.channel.frontier(0)  # before the head: what it covers is there
        return self._last if lane.channel.peek() is not None else max(self._last, frontier)

    def _advance(self) -> None:
        found = self.reached()
        if found == FRONTIER_END and not all(lane.ended for lane in self.lanes_in_order):
            # they are idle, or their ends come behind what waits: nobody says more than what has gone
            found = max(self._last, self.merge.latest())
        found = max(found, self._floor)
        if found > self._frontier:
            self._frontier = found
            self.advance(found)

    def _rest_idle(self) -> None:
        """Nothing is in work: the unit is idle if all its lanes are."""
        if self._idle & 1 or not all(lane.ended or lane.is_idle() for lane in self.lanes_in_order):
            return
        if all(lane.ended for lane in self.lanes_in_order) or any(
            lane.head() for lane in self.lanes_in_order
        ):
            return
        self._idle += 1
        self.tell_idle(self._idle)

    def _wake(self) -> None:
        if self._idle & 1:
            self._idle += 1
            self.tell_idle(self._idle)

    def kept(self) -> Any:
        """The rows that came in before the barrier and have not gone, and how far the sequence has got."""
        lane = None if self._tied_lane is None else self._tied_lane.index
        return {
            "lanes": keep_lanes(self.lanes_in_order, self.merge),
            "tied": [lane, save_rows(joined(self._tied))] if self._tied else None,
            "promised": self._frontier,
            "last": max(self._last, self._frontier),
        }

    def take_back(self, kept: Any) -> None:
        inputs, lanes = self.head.inputs, self.lanes_in_order
        take_back_lanes(lanes, self.merge, inputs, self.most_tied, kept["lanes"])
        if kept["tied"] is not None:
            lane = self._tied_lane = lanes[kept["tied"][0]]
            self._tied = [saved_rows(inputs[lane.input], kept["tied"][1])]
        self._floor, self._last = kept["promised"], kept["last"]

    def statistics(self) -> dict[str, int]:
        """Rows that wait for their turn; `tie_bytes`: what left its channel to wait for its tie, beside the budget, and
        `spilled_bytes` of it in files."""
        return self.merge.statistics() | tied_bytes(self.lanes_in_order)
