"""join: rows of two streams with equal keys in the same window (AIR section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem
from actorstream.operators.joining.fields import common
from actorstream.operators.joining.keys import key_pairs, key_problems
from actorstream.operators.joining.matching import matches
from actorstream.operators.joining.pending import Closing, Pending
from actorstream.operators.joining.windowed import WindowedFields
from actorstream.windows.sliding import SlidingWindows
from actorstream.windows.spec import SLIDING, TUMBLING, WindowSpec, WindowTable, parse_window
from actorstream.windows.watermark import NOTHING

if TYPE_CHECKING:
    from pathlib import Path

    from actorstream.events.batch import Batch
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema


class Join(Actor):
    """Pairs of a left and a right row with equal keys in the same window, once the watermark has passed its end.

    Args:
        window: { type = "tumbling", size } or { type = "sliding", size, slide }, with `offset`, `allowed_lateness`.
        on: the key: a field that both have, a list of them, or {left's field = right's field}.
        how: "inner"; "left", "right" or "outer": rows of that side (of both) that have no partner come out too, with
            nulls for the other's fields.
        allowed_lateness: beside the window or in it: windows wait so much longer for late rows.

    Rows of one window are ordered by the key, then as the left and then the right rows came in. Rows that are late for
    all their windows go to the output `late`; those of a right input with other fields to `late_right`. A null key has
    no partner.
    """

    contract: ClassVar[Contract] = Contract(
        stateless=True, timely=False, uses_event_time=True, keeps_by_keys=True
    )

    def __init__(
        self,
        window: WindowTable,
        on: str | list[str] | dict[str, str],
        how: Literal["inner", "left", "right", "outer"] = "inner",
        allowed_lateness: timedelta | None = None,
    ) -> None:
        self.window, self.allowed_lateness = window, allowed_lateness
        self.pairs = key_pairs(on)
        self.how = how

    # -- what the topology asks

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...]:
        return tuple(pair[min(input, 1)] for pair in key_pairs(keys["on"]))

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default", "late_right")

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        left, right = inputs
        fields = WindowedFields(left, right, key_pairs(keys["on"]), keys.get("how", "inner"))
        found: dict[str, Schema | type[Event]] = {"default": fields.schema}
        if right != left:
            found["late_right"] = right
        return found

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        if len(inputs) != 2:
            return [Problem("inputs", f"are {len(inputs)}", "two: the left and the right")]
        left, right = inputs
        names = ("the left input", "the right input")
        problems = key_problems(keys["on"], left, right, names)
        if left.time_unit != right.time_unit:
            message = f"have event times in {left.time_unit} and in {right.time_unit}"
            problems.append(Problem("inputs", message, "one unit", "time_unit of a source says it"))
        problems.extend(window_of(keys["window"], left.time_unit, keys.get("allowed_lateness"))[1])
        if not problems:
            for first, second in key_pairs(keys["on"]):
                one, other = left.field(first), right.field(second)
                if common(one, other) is None and keys.get("how") in ("right", "outer"):
                    message = f"{one} and {other} have no common type for the rows without a partner"
                    problems.append(Problem("on", message, "keys of one signedness, or how = 'left'"))
        return problems

    # -- the run

    def on_start(self) -> None:
        (left_name, left), (right_name, right) = self.context.inputs.items()
        spec, problems = window_of(self.window, left.time_unit, self.allowed_lateness)
        assert spec is not None, problems
        self.windows = SlidingWindows(spec)
        self.fields = WindowedFields(left, right, self.pairs, self.how)
        self.left, self.right = Pending(self.windows, left.user), Pending(self.windows, right.user)
        self._sides = {left_name: (self.left, "late")}
        self._sides[right_name] = (self.right, "late" if right == left else "late_right")
        if self.state is not None:
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
        return self._fire(self.windows.closed(frontier))

    def promise(self, frontier: int) -> int:
        return max(frontier - self.windows.lateness, NOTHING)

    def on_end(self) -> Iterator[Batch] | None:
        return self._fire(max(self.left.high, self.right.high))

    @property
    def state_bytes(self) -> int:
        """Of the rows that wait."""
        return self.left.nbytes + self.right.nbytes

    def snapshot(self) -> Any:
        return {"left": self.left.snapshot(), "right": self.right.snapshot()}

    def _fire(self, closed: int) -> Iterator[Batch] | None:
        lows = [side.low for side in (self.left, self.right) if side.low is not None]
        if not lows or min(lows) > closed:
            self.left.closed = self.right.closed = max(self.left.closed, closed)
            return None
        return self._pairs(self.left.close(closed), self.right.close(closed))

    def _pairs(self, left: Closing, right: Closing) -> Iterator[Batch]:
        pairs = matches(left, right, self.pairs, self.how)
        if len(pairs.window):
            yield from self.fields.batches(left, right, pairs, self.windows)


def window_of(table: Any, unit: str, lateness: Any) -> tuple[WindowSpec | None, list[Problem]]:
    """The window of a join, or what is wrong with it."""
    spec, problems = parse_window(table, unit, lateness)
    if spec is not None and spec.type not in (TUMBLING, SLIDING):
        return None, [Problem("window.type", f"is {spec.type!r}", f"{TUMBLING!r} or {SLIDING!r}, for a join")]
    return spec, problems
