"""A unit whose head takes serial input: number by number, with the rows of one put together from all who had a share.

It decides nothing about order (`ordering.serial` does); it takes, merges, runs hooks, and promises what is behind it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import pairwise
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.batch import Batch
from actorstream.ordering.serial import NO_BOUND, SerialGate, merge_order
from actorstream.runtime.operator_unit import InLane, OperatorUnit
from actorstream.runtime.serial.numbering import END_HAND_OVER, SERIAL_WORD
from actorstream.runtime.unit import TURN_FRAMES, Status
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame, FrameKind, ReceiveChannel

if TYPE_CHECKING:
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.serial.numbering import Numbering
    from actorstream.runtime.worker import Worker


class SerialInLane(InLane):
    """A channel that brings numbered rows. `columns`: what places them within a number; `rank`: of its input."""

    __slots__ = ("columns", "rank", "time")
    serial = True

    def __init__(
        self,
        index: int,
        input_name: str,
        channel: ReceiveChannel,
        decode: Callable[[Frame], Batch],
        columns: tuple[str, ...],
        rank: int,
    ) -> None:
        super().__init__(index, input_name, channel, decode)
        self.columns, self.rank = columns, rank
        self.time = FRONTIER_MIN
        """Event time that has come in band."""

    def frontier(self) -> int:
        """The serial number below which nothing will follow."""
        return self.channel.frontier(SERIAL_WORD)


class SideLane(InLane):
    """A channel of a side input, in no order."""

    __slots__ = ()
    serial = False


class SerialUnit(OperatorUnit):
    """A unit whose head sees its serial inputs as one sequence.

    Args:
        numbering: what the unit's members send under; its number follows the gate's.
        merging: whether rows of one number come on several lanes, so that it must have come whole before hooks run.
    """

    def __init__(
        self,
        worker: Worker,
        head: Replica,
        lanes: list[InLane],
        gate: SerialGate,
        numbering: Numbering,
        merging: bool,
    ) -> None:
        super().__init__(worker, head, lanes, gate)
        self.numbering, self.merging = numbering, merging
        gate.stepwise, gate.phases = True, numbering.phases
        gate.strict_from = END_HAND_OVER * numbering.phases
        self._pieces: list[tuple[SerialInLane, Batch]] = []
        self._runs: deque[tuple[Batch, str]] = deque()

    def work(self) -> Status:
        status = self._take()
        return Status.READY if self._awaiting and status is Status.IDLE else status

    def _take(self) -> Status:
        deadline = monotonic_ns() + self.worker.turn_ns
        gate: SerialGate = self.gate  # type: ignore[assignment]
        for _ in range(TURN_FRAMES):
            if self._events and not self._run_events(deadline):
                return Status.BLOCKED if self.blocked else Status.READY
            if any(kernel.is_under_way() for kernel in self.kernels):
                return Status.BLOCKED  # what comes of a number is sent before it is closed
            if self._awaiting:
                return Status.READY
            lane = None
            if not self._runs:
                lane = gate.next()
                if lane is None and not gate.is_complete:
                    self._promise(gate.reached)
                    return Status.IDLE
                if lane is None and not self._pieces and not self._has_risen():
                    self._close(gate)
                    continue
            if self.blocked:
                return Status.BLOCKED
            if self._runs:
                if self._run(*self._runs.popleft()):
                    return Status.BUSY
            elif lane is not None:
                if self._consume(lane, gate):
                    return Status.BUSY
            elif self._pieces:
                self._runs.extend(_merged(self._pieces))
                self._pieces = []
            else:
                self.head.advance(self._frontier)
            if monotonic_ns() > deadline:
                return Status.READY
        return Status.READY

    def _consume(self, lane: Any, gate: SerialGate) -> bool:
        """Takes the head of a lane; whether the unit is busy with the end now."""
        frame = lane.channel.peek()
        if lane.serial and frame.kind <= FrameKind.HEARTBEAT and gate.open_number is not None:
            self.numbering.number = gate.open_number
            self.numbering.is_open = True
            self._promise(gate.open_number)
        if frame.kind == FrameKind.DATA:
            batch = lane.decode(frame)
            batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
            lane.consume()
            if self.merging and lane.serial:
                self._pieces.append((lane, batch))
            else:
                self._runs.append((batch, lane.input))
        elif frame.kind == FrameKind.HEARTBEAT:
            lane.time = frame.max_time
            lane.consume()
        elif frame.kind == FrameKind.BARRIER:
            lane.consume()
            self._complete(self.alignment.deliver(lane, frame.barrier))
        else:
            lane.consume()
            lane.ended = True
            self._complete(self.alignment.ended(lane))
            if all(each.ended for each in self.in_lanes):
                self.numbering.number = END_HAND_OVER * self.numbering.phases
                self.numbering.is_open = True
                if self._has_risen():
                    self.head.advance(self._frontier)
                self.spawn(self.finish())
                return True
        return False

    def _has_risen(self) -> bool:
        """Whether event time has risen on all lanes, as of the number that is complete; then notes how far."""
        if not self.follow_frontier:
            return False
        found = min(self._time_of(lane) for lane in self.in_lanes)
        if found <= self._frontier:
            return False
        self._frontier = found
        return True

    @staticmethod
    def _time_of(lane: Any) -> int:
        if lane.ended:
            return FRONTIER_END
        if lane.serial:
            return int(lane.time)
        frontier = lane.frontier()
        return FRONTIER_MIN if lane.channel.waiting() else int(frontier)

    def _close(self, gate: SerialGate) -> None:
        gate.close()
        self.numbering.is_open = False
        self._promise(gate.reached)

    def _promise(self, number: int) -> None:
        if number < NO_BOUND:
            self.numbering.promise(number)


def _merged(pieces: list[tuple[SerialInLane, Batch]]) -> Iterator[tuple[Batch, str]]:
    """The rows of one number in their order, as runs of rows of one input."""
    pieces.sort(key=lambda piece: piece[0].index)  # stable: a lane's own pieces stay as they came
    places = []
    if len(pieces) > 1:
        places = [[batch.system[name].data for name in lane.columns] for lane, batch in pieces]
    ranks = [lane.rank for lane, _ in pieces]
    order = merge_order(places, ranks) if places and all(places) else None
    if order is None:
        for lane, batch in pieces:
            yield batch, lane.input
        return
    sources, starts, start = {}, [], 0
    for rank in sorted(set(ranks)):
        sources[rank] = _joined([batch for lane, batch in pieces if lane.rank == rank])
    counts = dict.fromkeys(sources, 0)
    for (_, batch), rank in zip(pieces, ranks):
        starts.append(counts[rank] - start)
        counts[rank] += batch.rows
        start += batch.rows
    lengths = [batch.rows for _, batch in pieces]
    rows = (order + np.repeat(starts, lengths)[order]).astype(
        np.uint32
    )  # row numbers within the input's rows
    owner = np.repeat(ranks, lengths)[order]
    names = {lane.rank: lane.input for lane, _ in pieces}
    cuts = [0, *(np.flatnonzero(owner[1:] != owner[:-1]) + 1).tolist(), len(owner)]
    for first, last in pairwise(cuts):
        rank = int(owner[first])
        run = sources[rank].selection(rows[first:last])
        run.began = sources[rank].began
        yield run, names[rank]


def _joined(batches: list[Batch]) -> Batch:
    joined = Batch.concat(batches)
    joined.began = min((batch.began for batch in batches if batch.began), default=0)
    return joined
