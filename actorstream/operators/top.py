"""top: the first rows of each window by some value (AIR section 4.2)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem
from actorstream.events.batch import Batch
from actorstream.events.cuts import cuts, sizes_of
from actorstream.events.fields import Field
from actorstream.events.schema import Schema
from actorstream.operators.checks import same_inputs
from actorstream.operators.expressions import Expression, ExpressionError, compile_expression
from actorstream.operators.joining.pending import Closing, Pending
from actorstream.operators.joining.ranking import Ranking
from actorstream.operators.joining.whole import WholeStream
from actorstream.operators.joining.windowed import END, START, bound_column, bound_kind
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.windows.sliding import SlidingWindows
from actorstream.windows.spec import SLIDING, TUMBLING, WindowSpec, WindowTable, parse_window
from actorstream.windows.watermark import NOTHING

if TYPE_CHECKING:
    from pathlib import Path

    from actorstream.events.event import Event

REDUCE_ROWS = 1 << 15
"""Rows that may wait before those that cannot be among the best are let go of, and beyond twice what is left then."""
REDUCE_BYTES = 32 << 20
"""The bytes of these rows for the same."""
_ORDERED = re.compile(r"^(.*\S)\s+(asc|desc)$", re.IGNORECASE | re.DOTALL)


class Top(Actor):
    """The `n` rows of each window that have the greatest `by`, the greatest first.

    Args:
        n: rows of a window at the most; with `key`, of each key in a window.
        by: a field or an expression, or a list of them, the most significant first. "price" and "price desc" put the
            greatest first, "price asc" and "-price" the least. Nulls and NaN come last.
        window: { type = "tumbling", size } or { type = "sliding", size, slide }, with `offset`, `allowed_lateness`;
            without it the whole stream is one window, which ends with the input.
        key: fields whose values have their own `n` rows.
        allowed_lateness: beside the window or in it.

    Rows that `by` does not tell apart are ordered by their other fields, ascending, so the answer does not depend on
    which came first. The rows of a window carry `window_start` and `window_end` before their fields.
    """

    contract: ClassVar[Contract] = Contract(
        stateless=True, one_stream=True, timely=False, sorts=True, keeps_by_keys=True
    )

    def __init__(
        self,
        n: int,
        by: str | list[str],
        window: WindowTable | None = None,
        key: str | list[str] | None = None,
        allowed_lateness: timedelta | None = None,
    ) -> None:
        self.n = n
        self.by = [by] if isinstance(by, str) else list(by)
        self.window, self.allowed_lateness = window, allowed_lateness
        self.key = _listed(key)

    # -- what the topology asks

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return replace(cls.contract, uses_event_time=keys.get("window") is not None)

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...] | None:
        return tuple(_listed(keys.get("key"))) or None

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default",)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": top_schema(inputs[0], windowed=keys.get("window") is not None)}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        schema = inputs[0]
        problems = same_inputs(inputs)
        if keys["n"] < 1:
            problems.append(Problem("n", f"is {keys['n']}", "1 or more"))
        for name in _listed(keys.get("key")):
            if name not in schema:
                message = f"{schema.name} has no field {name!r}"
                problems.append(
                    Problem("key", message, listed(schema.names()), did_you_mean(name, schema.names()))
                )
        by = [keys["by"]] if isinstance(keys["by"], str) else keys["by"]
        if not by:
            problems.append(Problem("by", "names nothing", "a field or an expression"))
        for text in by:
            try:
                ordered(text, schema)
            except ExpressionError as error:
                problems.append(error.problem("by"))
        if keys.get("window") is not None:
            problems.extend(window_of(keys["window"], schema.time_unit, keys.get("allowed_lateness"))[1])
        elif keys.get("allowed_lateness") is not None:
            problems.append(Problem("allowed_lateness", "is given without a `window`", "together with one"))
        return problems

    # -- the run

    def on_start(self) -> None:
        schema = next(iter(self.context.inputs.values())).user
        self._orders = [ordered(text, schema) for text in self.by]
        added = [
            (order.expression.field(f"by {number}"), order)
            for number, order in enumerate(self._orders)
            if not order.expression.is_field
        ]
        self._added = added
        self._kept = schema
        if added:
            fields = schema.fields + tuple(field for field, _ in added)
            self._kept = Schema(schema.name, fields, schema.event_time, schema.time_unit)
        by = []
        for number, order in enumerate(self._orders):
            name = order.expression.fields[0] if order.expression.is_field else f"by {number}"
            by.append((name, order.greatest))
        named = {*self.key, *(name for name, _ in by)}
        self._ranking = Ranking(self.n, self.key, by, [name for name in schema.names() if name not in named])
        self._schema = top_schema(schema, windowed=self.window is not None)
        self.windows: SlidingWindows | WholeStream = WholeStream()
        if self.window is not None:
            spec, problems = window_of(self.window, schema.time_unit, self.allowed_lateness)
            assert spec is not None, problems
            self.windows = SlidingWindows(spec)
        self.pending = Pending(self.windows, self._kept)
        self._limit, self._byte_limit = REDUCE_ROWS, REDUCE_BYTES
        if self.state is not None:
            self.pending.restore(self.state)
            self.state = None

    def on_batch(self, batch: Batch) -> None:
        if self._added:
            values = {field.name: order.expression.evaluate(batch) for field, order in self._added}
            batch = batch.with_columns(event=self._kept, **values)
        late = self.pending.add(batch)
        if late is not None:
            self.context.count_late(late.rows)
            schema = next(iter(self.context.inputs.values()))
            self.emit(late.select(schema.user.names()) if self._added else late, "late")
        if self.pending.rows > self._limit or self.pending.nbytes > self._byte_limit:
            self.pending.reduce(lambda rows, groups: np.sort(self._ranking.best(rows, groups)))
            self._limit = max(REDUCE_ROWS, 2 * self.pending.rows)
            self._byte_limit = max(REDUCE_BYTES, 2 * self.pending.nbytes)

    def on_heartbeat(self, frontier: int) -> Iterator[Batch] | None:
        return self._fire(self.windows.closed(frontier))

    def promise(self, frontier: int) -> int:
        return NOTHING if self.window is None else max(frontier - self.windows.lateness, NOTHING)

    def on_end(self) -> Iterator[Batch] | None:
        return self._fire(self.pending.high)

    @property
    def state_bytes(self) -> int:
        """Of the rows that may still be among the best."""
        return self.pending.nbytes

    def snapshot(self) -> Any:
        return self.pending.snapshot()

    def _fire(self, closed: int) -> Iterator[Batch] | None:
        low = self.pending.low
        if low is None or low > closed:
            self.pending.closed = max(self.pending.closed, closed)
            return None
        closing = self.pending.close(closed)
        best = self._ranking.best(closing.rows, closing.window, closing.index)
        return self._batches(closing, best) if len(best) else None

    def _batches(self, closing: Closing, best: np.ndarray) -> Iterator[Batch]:
        chosen = best if closing.index is None else closing.index[best]
        sizes = sizes_of((closing.rows.column(field.name), chosen) for field in closing.rows.schema.fields)
        for first, rows in cuts(len(best), self._schema.row_bytes, sizes):
            yield self._rows(closing, best[first : first + rows])

    def _rows(self, closing: Closing, best: np.ndarray) -> Batch:
        rows = closing.rows.take(best if closing.index is None else closing.index[best])
        if not isinstance(self.windows, SlidingWindows):
            return rows.with_columns(event=self._schema)
        window = closing.window[best]
        ends = self.windows.end(window)
        bounds = {START: self.windows.start(window), END: ends}
        columns = {name: bound_column(self._schema.field(name), bounds[name]) for name in bounds}
        return rows.with_columns(event=self._schema, **columns).with_system(_time=ends - 1)


class SortKey:
    """One entry of `by`."""

    def __init__(self, expression: Expression, greatest: bool) -> None:
        self.expression, self.greatest = expression, greatest


def ordered(text: str, schema: Schema) -> SortKey:
    """What an entry of `by` means. ExpressionError if it does not fit the schema."""
    greatest = True
    found = _ORDERED.match(text)
    if found is not None:
        text, greatest = found[1], found[2].lower() == "desc"
    bare = text.strip()
    if bare.startswith("-") and bare[1:].strip() in schema:  # also for fields that have no negative
        return SortKey(compile_expression(bare[1:], schema), not greatest)
    return SortKey(compile_expression(text, schema), greatest)


def top_schema(schema: Schema, *, windowed: bool) -> Schema:
    """What comes out: the window's bounds, then the fields (those of the same names give way)."""
    schema = schema.user
    if not windowed:
        return schema
    kind = bound_kind(schema)
    own = tuple(field for field in schema.fields if field.name not in (START, END))
    fields = (Field(START, kind), Field(END, kind), *own)
    return Schema(schema.name, fields, None, schema.time_unit)


def window_of(table: Any, unit: str, lateness: Any) -> tuple[WindowSpec | None, list[Problem]]:
    """The window of a `top`, or what is wrong with it."""
    spec, problems = parse_window(table, unit, lateness)
    if spec is not None and spec.type not in (TUMBLING, SLIDING):
        return None, [Problem("window.type", f"is {spec.type!r}", f"{TUMBLING!r} or {SLIDING!r}, for a top")]
    return spec, problems


def _listed(key: str | list[str] | None) -> list[str]:
    return [] if key is None else [key] if isinstance(key, str) else list(key)
