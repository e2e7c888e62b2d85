"""Serial input: it comes number by number, and the rows of one number are put together from all lanes that bring some.

The gate (`ordering.serial`) decides the order; the inbox takes rows in, merges them, and promises numbers downstream.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.interleaved import Interleaving, runs
from actorstream.ordering.none import NoOrder
from actorstream.ordering.serial import SerialGate, merge_order, merged_tags
from actorstream.runtime.inbox import Inbox, Step
from actorstream.runtime.lanes import InLane
from actorstream.runtime.serial.numbering import END_HAND_OVER
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, FrameKind

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.native.merge import Tags
    from actorstream.runtime.serial.numbering import Numbering


class NumberedInput(NamedTuple):
    """How the rows of a lane are placed within a number: by which columns, and by the rank of its input.

    schema: of the rows, with all system columns that they may have."""

    columns: tuple[str, ...]
    rank: int
    schema: Schema


class Piece(NamedTuple):
    """Rows of one number that came on one lane."""

    lane: InLane
    how: NumberedInput
    batch: Batch


class SerialInbox(Inbox):
    """The serial inputs of a unit as one sequence.

    Args:
        lanes: of all inputs.
        numbered: by lane, how its rows are placed within a number; None: it belongs to a side input, which has no order.
        numbering: the numbers that the unit's members send under; it follows the gate.
        sides: decides between lanes of side inputs; None: they take turns.
        merging: whether rows of one number come on several lanes. All of them must have come before a hook runs.
        follows: whether the unit or a consumer listens to event time.
    """

    by_number: ClassVar[bool] = True

    def __init__(
        self,
        lanes: list[InLane],
        numbered: list[NumberedInput | None],
        numbering: Numbering,
        sides: Any = None,
        *,
        merging: bool,
        follows: bool,
    ) -> None:
        super().__init__(lanes)
        self.numbered, self.numbering, self.merging, self.follows = numbered, numbering, merging, follows
        self.gate = SerialGate(
            [lane for lane, how in zip(lanes, numbered) if how is not None],
            sides or NoOrder([lane for lane, how in zip(lanes, numbered) if how is None]),
            strict_from=END_HAND_OVER * numbering.phases,
            phases=numbering.phases,
        )
        self._times = [FRONTIER_MIN] * len(lanes)
        """The event time that came in band last on each lane."""
        self._frontier = FRONTIER_MIN
        self._pieces: list[Piece] = []
        self._runs: deque[tuple[Batch, str]] = deque()

    def next(self) -> Step:
        if self._due:
            return self._take_due()
        if self._runs:
            return self._give(*self._runs.popleft())
        gate = self.gate
        lane = gate.next()
        if lane is not None:
            return self._consume(lane)
        if not gate.is_complete:
            self.numbering.promise(gate.reached)
            return Step.NOTHING
        if self._pieces:
            self._runs.extend(_merged(self._pieces))
            self._pieces = []
            return self._give(*self._runs.popleft())
        if self._has_risen():
            self.time = self._frontier
            return Step.TIME
        gate.close()
        self.numbering.is_open = False
        self.numbering.promise(gate.reached)
        return Step.AGAIN

    def look(self) -> None:
        if not self._runs and self.gate.next() is None and not self.gate.is_complete:
            self.numbering.promise(self.gate.reached)

    def _consume(self, lane: Any) -> Step:
        """Takes the head of a lane."""
        gate, numbering, how = self.gate, self.numbering, self.numbered[lane.index]
        frame = lane.channel.peek()
        if how is not None and frame.kind <= FrameKind.HEARTBEAT and gate.open_number is not None:
            numbering.open(gate.open_number)
            numbering.promise(gate.open_number)
        if frame.kind == FrameKind.DATA:
            batch = lane.rows(frame)
            lane.consume()
            step = self._give(batch, lane.input)
            if not self.merging or how is None:
                return step
            self._pieces.append(Piece(lane, how, batch))
        elif frame.kind == FrameKind.HEARTBEAT:
            self._times[lane.index] = frame.max_time
            lane.consume()
        else:
            return self._mark(lane, frame)
        return Step.AGAIN

    def _take_due(self) -> Step:
        step = super()._take_due()
        if step is not Step.END:
            return step
        self.numbering.open(END_HAND_OVER * self.numbering.phases)
        if not self._has_risen():
            return step
        self._due.appendleft((Step.END, 0))
        self.time = self._frontier
        return Step.TIME

    def _has_risen(self) -> bool:
        """Whether event time has risen on all lanes, up to the number that is complete; notes how far."""
        if not self.follows:
            return False
        found = min(self._time_of(lane) for lane in self.lanes)
        if found <= self._frontier:
            return False
        self._frontier = found
        return True

    def _time_of(self, lane: InLane) -> int:
        if lane.ended:
            return FRONTIER_END
        if self.numbered[lane.index] is not None:
            return self._times[lane.index]
        frontier = lane.frontier()
        # what a lane promises behind a barrier is not for the checkpoint
        return FRONTIER_MIN if lane.held or lane.channel.waiting() else frontier


def _merged(pieces: list[Piece]) -> list[tuple[Batch, str]]:
    """The rows of one number in order, as runs of rows of one input each."""
    pieces.sort(key=lambda piece: piece.lane.index)  # stable: a lane's own pieces stay as they came
    in_turn = [(each.batch, each.lane.input) for each in pieces]
    if len(pieces) == 1 or not all(each.how.columns for each in pieces):
        return in_turn
    places = [[each.batch.system[name].data for name in each.how.columns] for each in pieces]
    ranks = [each.how.rank for each in pieces]
    batches = [each.batch for each in pieces]
    tags = merged_tags(places, ranks)
    if tags is None:
        tags = _sorted_rows(batches, merge_order(places, ranks))
    elif bool((tags[1:] >= tags[:-1]).all()):
        return in_turn
    schemas = {each.how.rank: each.how.schema for each in pieces}
    found = runs(schemas, Interleaving(tags, [(batch, 0) for batch in batches]), ranks)
    return [(batch, pieces[at].lane.input) for batch, at in found]


def _sorted_rows(batches: list[Batch], order: np.ndarray) -> Tags:
    """Puts the rows of each batch in their order among all; returns the batch that each row of all comes from.

    order: of their row numbers, laid end to end."""
    lengths = [batch.rows for batch in batches]
    tags = np.repeat(np.arange(len(batches), dtype=np.uint16), lengths)[order]
    first = 0
    for at, rows in enumerate(lengths):
        batches[at] = batches[at].selection((order[tags == at] - first).astype(np.uint32))
        first += rows
    return tags
