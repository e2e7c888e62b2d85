"""Merging by a ScaleGate, as one of its readers sees it (viper-scalegate section 3.3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.native.scalegate import Stretches
from actorstream.runtime.inbox import Step
from actorstream.runtime.lanes import InLane
from actorstream.runtime.timestamp.inbox import Found, Merging
from actorstream.transports.base import FRONTIER_MIN, Frame, FrameKind, ReceiveChannel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.runtime.timestamp.gate_input import GateInput


class ReaderChannel(ReceiveChannel):
    """What a reader of a gate gets, as a channel that brings marks only: its rows are asked of the gate.

    Args:
        number: the reader's, from 0."""

    def __init__(self, gate: GateInput, number: int) -> None:
        self.gate, self.number = gate, number

    def peek(self, ahead: int = 0) -> Frame | None:
        """The mark that is due, behind all rows before it."""
        gate = self.gate
        at = gate.at
        if at is not None and at == gate.positions[self.number] and self.number in gate.passing:
            return Frame(FrameKind.BARRIER, barrier=gate.barrier or 0)
        over = gate.is_over and not gate.passing and gate.seen[0] == gate.positions[self.number]
        return Frame(FrameKind.END) if over else None

    def consume(self) -> None:
        """Does nothing: a mark is gone once the unit has passed it."""

    def frontier(self, word: int = 0) -> int:
        return FRONTIER_MIN

    def waiting(self) -> int:
        """Whether something waits: 1, or 0."""
        return int(self.gate.seen[0] > self.gate.positions[self.number])

    def statistics(self) -> dict[str, int]:
        """Statistics as a channel has them; it lends no blocks."""
        return {"received": 0, "waiting": self.waiting(), "kept": 0}

    def close(self) -> None:
        """Nothing is open."""


class GateMerging(Merging):
    """The sequence that one reader of a gate gets. `number`: the reader's, from 0."""

    def __init__(self, gate: GateInput, number: int) -> None:
        self.gate, self.number = gate, number
        lane = self.lane = InLane(0, gate.sources[0].lane.input, ReaderChannel(gate, number), _no_rows)
        super().__init__([lane])
        self._stretches = Stretches(gate.room)

    def next(self) -> Found:
        lane = self.lane
        if not lane.held and not lane.ended:
            self.runs.extend(self.gate.read(self.number, self._stretches))
            if self.runs:
                return Step.ROWS
            mark = lane.head()
            if mark is not None:
                return lane, mark
        return Step.AGAIN if self._look() else Step.NOTHING

    def _look(self) -> bool:
        """Puts the rows that wait into the gate; returns whether the reader can take something now."""
        self.gate.intake(self.number)
        lane = self.lane
        return bool(lane.channel.waiting()) or (not lane.held and not lane.ended and lane.head() is not None)

    def look(self) -> None:
        self._look()

    def passed(self) -> None:
        self.gate.passed(self.number)

    def reached(self) -> int:
        logged, reached = self.gate.seen  # read first: rows that were given since are not below it
        time = self.gate.gate.next_time(self.number)
        if time is not None:
            return time
        if self.gate.positions[self.number] < logged:
            return FRONTIER_MIN  # not known now
        return reached

    def latest(self) -> int:
        """Once all sources have ended, every row of theirs is in the gate, and the reader has been given all of them."""
        return max(self.last, max(source.last for source in self.gate.sources))

    def is_through(self) -> bool:
        return True

    def snapshot(self) -> dict[str, Any]:
        return {"lanes": self.gate.snapshot(), "tied": None}

    def restore(self, snapshot: Any, schemas: Mapping[str, Schema]) -> None:
        self.gate.restore(snapshot["lanes"], schemas)


def _no_rows(frame: Frame) -> Batch:
    raise AssertionError("a reader's lane brings marks only")
