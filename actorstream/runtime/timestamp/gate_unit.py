"""A unit whose head reads a ScaleGate together with other replicas (viper-scalegate section 3.3). It decides nothing about
order; it runs hooks on what is ready, and promises what is behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.checkpoint.alignment import Alignment
from actorstream.native.scalegate import Stretches
from actorstream.runtime.timestamp.kept import tied_bytes
from actorstream.runtime.timestamp.unit import TimestampUnit
from actorstream.runtime.unit import Status
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.ordering.base import Gate
    from actorstream.runtime.operator_unit import InLane
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.timestamp.gate_input import Found, GateInput
    from actorstream.runtime.worker import Worker


class GateReader:
    """One reader of a gate, which a unit sees as a merge and as its one lane: marks are its heads, rows it asks for.

    Args:
        number: of the reader, from 0.
    """

    name = "timestamp"
    single = watch = None

    def __init__(self, gate: GateInput, number: int) -> None:
        self.gate, self.number = gate, number
        self.index = 0
        self.input = gate.lanes[0].input
        self.channel = self
        self.ended = self.held = False
        self._stretches = Stretches(gate.room)

    # -- as a lane, and its channel

    def head(self) -> Frame | None:
        """The mark that is due, behind all rows before it."""
        gate = self.gate
        at = gate.at
        if at is not None and at == gate.positions[self.number] and self.number in gate.passing:
            return Frame(FrameKind.BARRIER, barrier=gate.barrier or 0)
        over = gate.is_over and not gate.passing and gate.seen[0] == gate.positions[self.number]
        return Frame(FrameKind.END) if over else None

    def consume(self) -> None:
        """A mark is taken: it is due no more once the unit has passed it."""

    def waiting(self) -> int:
        """Whether something waits: 1, or 0."""
        return int(self.gate.seen[0] > self.gate.positions[self.number])

    def statistics(self) -> dict[str, int]:
        """As of a channel: it lends nothing."""
        return {"received": 0, "waiting": self.waiting(), "kept": 0}

    # -- as a merge

    def read(self) -> Found:
        """The next rows in order; none: nothing is ready."""
        return self.gate.read(self.number, self._stretches)

    def look(self) -> bool:
        """Puts what waits into the gate; whether there is something to take now."""
        self.gate.intake(self.number)
        return bool(self.waiting()) or (not self.held and not self.ended and self.head() is not None)

    def refresh(self) -> None:
        """What is known is as of the last `look`; who knows more tells."""

    def reached(self) -> int:
        """No row below it will be given any more."""
        logged, reached = self.gate.seen  # first: what is given since is not below it
        time = self.gate.gate.next_time(self.number)
        if time is not None:
            return time
        if self.gate.positions[self.number] < logged or (reached == FRONTIER_END and not self.ended):
            return FRONTIER_MIN  # not known now
        return reached

    def latest(self) -> int:
        return FRONTIER_MIN


class GateUnit(TimestampUnit):
    """A unit whose head reads a gate together with others. `reader`: the only one of its lanes that is no side input."""

    def __init__(
        self,
        worker: Worker,
        head: Replica,
        lanes: list[Any],
        gate: Any,
        sides: list[InLane],
        side_gate: Gate,
    ) -> None:
        super().__init__(worker, head, [], gate, sides, side_gate, None)  # type: ignore[arg-type]
        self.in_lanes = [*lanes, *sides]
        self.alignment = Alignment(self.in_lanes)
        self.reader: GateReader = gate

    def while_blocked(self) -> None:
        if self.task is None and not self.ending:
            self.reader.look()
            self._advance()

    def _next_merged(self) -> Status | None:
        reader = self.reader
        found = [] if reader.held or reader.ended else reader.read()
        if found:
            self._runs.extend(found)
            return None
        mark = None if reader.held or reader.ended else reader.head()
        if mark is not None:
            return Status.BUSY if self._mark(reader, mark) else None
        if reader.look():
            return None
        return self._finished() or Status.IDLE

    def pass_barrier(self, barrier: int) -> None:
        super().pass_barrier(barrier)
        self.reader.gate.passed(self.reader.number)

    def kept(self) -> Any:
        """The rows that came in before the barrier and no reader has got, and how far the sequence has got."""
        return {
            "lanes": self.reader.gate.saved(),
            "tied": None,
            "promised": self._frontier,
            "last": max(self._last, self._frontier),
        }

    def take_back(self, kept: Any) -> None:
        self.reader.gate.take_back(kept["lanes"], self.head.inputs)
        self._floor, self._last = kept["promised"], kept["last"]

    def statistics(self) -> dict[str, int]:
        gate = self.reader.gate
        return gate.statistics() | tied_bytes(gate.lanes)  # type: ignore[arg-type]
