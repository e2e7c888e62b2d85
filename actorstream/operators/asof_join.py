"""asof-join: each row of the left with the row of the right that was the last before it, the first after it, or the
nearest to it. As pandas.merge_asof, for streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem
from actorstream.events.schema import Schema
from actorstream.operators.joining.asof import AsOf
from actorstream.operators.joining.fields import others
from actorstream.operators.joining.keys import key_pairs, key_problems
from actorstream.operators.joining.pending import Pending
from actorstream.windows.sliding import SlidingWindows
from actorstream.windows.spec import TUMBLING, WindowSpec, units_of

if TYPE_CHECKING:
    from pathlib import Path

    from actorstream.events.batch import Batch
    from actorstream.events.event import Event

SETTLE_ROWS = 1 << 16
"""Right rows that may come in before what nobody needs of them is let go of, though no left row asks."""
SETTLE_BYTES = 32 << 20
"""The bytes of these rows for the same."""
SHARE = 8
"""Rows that wait are looked at again once an eighth of as many rows have come in, or the watermark is an eighth further
from the first of them: so each is looked at a few times only."""
ENDLESS = 2**62
"""An event time after all others."""


class AsofJoin(Actor):
    """All rows of the left, in the order of their event time, with the other fields of the right row as of it.

    Args:
        on: the event time of both inputs, for the reader: a field, or {left's field = right's field}.
        by: fields that must be equal: one, a list, or {left's field = right's field}; none: all rows match.
        direction: "backward": the last right row at or before a left row; "forward": the first at or after it;
            "nearest": the closer of these, the former if they are equally far.
        tolerance: how far away at the most, such as "2s"; a left row without a right row has nulls.

    Of right rows with one time, "backward" takes the last and "forward" the first that came in. A row behind its
    partition's watermark is late: it goes to the output `late`, one of a right input with other fields to `late_right`.
    The right's time comes out only if its field has another name than the left's.
    """

    contract: ClassVar[Contract] = Contract(
        stateless=True, timely=False, uses_event_time=True, keeps_by_keys=True
    )

    def __init__(
        self,
        on: str | dict[str, str] | None = None,
        by: str | list[str] | dict[str, str] | None = None,
        direction: Literal["backward", "forward", "nearest"] = "backward",
        tolerance: Any = None,
    ) -> None:
        self.by = [] if by is None else key_pairs(by)
        self.direction, self.tolerance = direction, tolerance

    # -- what the topology asks

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...] | None:
        return tuple(pair[min(input, 1)] for pair in key_pairs(keys.get("by") or [])) or None

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default", "late_right")

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        left, right = inputs
        found: dict[str, Schema | type[Event]] = {}
        found["default"] = asof_schema(left, right, key_pairs(keys.get("by") or []))[0]
        if right != left:
            found["late_right"] = right
        return found

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        if len(inputs) != 2:
            return [Problem("inputs", f"are {len(inputs)}", "two: the left and the right")]
        left, right = inputs
        names = ("the left input", "the right input")
        problems: list[Problem] = []
        if keys.get("on") is not None:
            problems.extend(_time_problems(key_pairs(keys["on"]), inputs, names))
        if keys.get("by"):
            problems.extend(key_problems(keys["by"], left, right, names, where="by"))
        if left.time_unit != right.time_unit:
            message = f"have event times in {left.time_unit} and in {right.time_unit}"
            problems.append(Problem("inputs", message, "one unit", "time_unit of a source says it"))
        if keys.get("tolerance") is not None:
            units = units_of(keys["tolerance"], left.time_unit)
            wrong = units if isinstance(units, str) else "is negative" if units < 0 else ""
            if wrong:
                message = f"is {keys['tolerance']!r}, which {wrong}"
                problems.append(Problem("tolerance", message, 'a duration such as "2s"'))
        return problems

    # -- the run

    def on_start(self) -> None:
        (left_name, left), (right_name, right) = self.context.inputs.items()
        left, right = left.user, right.user
        tolerance = None if self.tolerance is None else units_of(self.tolerance, left.time_unit)
        assert not isinstance(tolerance, str), tolerance
        self.schema, self._names = asof_schema(left, right, self.by)
        self.asof = AsOf(left, right, self.by, self.direction, tolerance)
        instants = SlidingWindows(
            WindowSpec(TUMBLING, size=1, slide=1)
        )  # a row is settled when its instant is over
        self.left, self.right = Pending(instants, left), Pending(instants, right)
        self._settled = 0
        """The frontier when rows that wait were last looked at."""
        self._sides = {left_name: (self.left, "late")}
        self._sides[right_name] = (self.right, "late" if right == left else "late_right")
        if self.state is not None:
            self.asof.restore(self.state["asof"])
            self.left.restore(self.state["left"])
            self.right.restore(self.state["right"])
            self.state = None

    def on_batch(self, batch: Batch) -> None:
        side, output = self._sides[self.input]
        late = side.add(batch)
        if late is not None:
            self.context.count_late(late.rows)
            self.emit(late, output)

    def on_heartbeat(self, frontier: int) -> Iterator[Batch] | None:
        low, waiting = self.left.low, self.asof.low
        if waiting is None:
            settled = low is not None and low < frontier
            if not settled and self.right.rows < SETTLE_ROWS and self.right.nbytes < SETTLE_BYTES:
                return None
        elif (self.left.rows + self.right.rows) * SHARE < self.asof.rows and (
            frontier - self._settled
        ) * SHARE < frontier - waiting:
            return None
        return self._settle(min(frontier, ENDLESS), end=False)

    def promise(self, frontier: int) -> int:
        lows = [low for low in (self.left.low, self.asof.low) if low is not None]
        return min([frontier, *lows])

    def on_end(self) -> Iterator[Batch] | None:
        return self._settle(ENDLESS, end=True)

    @property
    def state_bytes(self) -> int:
        """Of the rows that wait or may still be asked for."""
        return self.left.nbytes + self.right.nbytes + self.asof.nbytes

    def snapshot(self) -> Any:
        parts: dict[str, Any] = {"left": self.left, "right": self.right, "asof": self.asof}
        return {name: part.snapshot() for name, part in parts.items()}

    def _settle(self, frontier: int, *, end: bool) -> Iterator[Batch] | None:
        self._settled = frontier
        left, right = self.left.close(frontier - 1), self.right.close(frontier - 1)
        answers = self.asof.settle(left.rows, left.window, right.rows, right.window, frontier, end=end)
        return None if answers is None else answers.batches(self.schema, self._names)


def asof_schema(left: Schema, right: Schema, by: list[tuple[str, str]]) -> tuple[Schema, list[str]]:
    """What comes out, and which of the right's fields do: all but its keys, and its time if that is the left's name."""
    left, right = left.user, right.user
    without = {name for _, name in by}
    if right.event_time is not None and right.event_time == left.event_time:
        without.add(right.event_time)
    added = others(right, without, left.names(), nullable=True)
    fields = left.fields + tuple(field for _, field in added)
    return Schema(left.name, fields, left.event_time, left.time_unit), [name for name, _ in added]


def _time_problems(on: list[tuple[str, str]], inputs: list[Schema], names: tuple[str, str]) -> list[Problem]:
    if len(on) != 1:
        return [Problem("on", f"names {len(on)} fields", "one: the event time of both inputs")]
    found = []
    for field, schema, name in zip(on[0], inputs, names):
        if schema.event_time is not None and field != schema.event_time:
            message = f"is {field!r}, but the event time of {name} is {schema.event_time!r}"
            found.append(Problem("on", message, "the event time of both inputs"))
        elif schema.event_time is None:
            message = (
                f"is {field!r}, but {name} has its event time from rows it descends from, not in a field"
            )
            found.append(Problem("on", message, "no `on`: the event time is always meant"))
    return found
