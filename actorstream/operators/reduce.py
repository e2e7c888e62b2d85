"""reduce: all rows to one value, without key or window (AIR section 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import ActorstreamError, Problem
from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.fields import Kind
from actorstream.events.jumbo import decode, from_bytes, to_bytes
from actorstream.events.schema import Schema
from actorstream.operators.aggregation.one_group import OneGroup
from actorstream.operators.aggregation.outputs import AggregateOutput, output_of
from actorstream.operators.aggregation.paned import LONGEST
from actorstream.operators.chain import LinkedRows, Linking, UnlinkedError
from actorstream.operators.chain_end import Admission
from actorstream.operators.checks import one_of, same_inputs
from actorstream.operators.expressions import ExpressionError, RowErrors, compile_call
from actorstream.operators.failed_rows import fail_event, without_failed
from actorstream.operators.folds import ARITIES, RUNNING, Fold, Sum, check_sums, column_of, fold_of
from actorstream.operators.functions import (
    NativeColumns,
    declared,
    native_problems,
    returned_field,
    returned_type,
)
from actorstream.operators.prepared import Prepared
from actorstream.windows.watermark import AT_END, NOTHING

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.native.panes import PanesStep

WAYS = ("aggregate", "function", "native")
OF_NONE = ("count", "sum", "count_distinct")
"""Aggregates that are 0 without any row."""
OF_ONE = ("min", "max", "first", "last")
"""Aggregates that are the value of one row."""
TEXTS = (Kind.STRING, Kind.BYTES, Kind.MSGPACK)


class Reduce(Actor):
    """One row at the end of the input; with `running`, one after each row instead.

    Args:
        aggregate: count(), sum(x), min(x), max(x), mean(x), first(x), last(x), count_distinct(x) or quantile(x, q) of
            expressions (docs/expressions.md), such as "sum(price * quantity)"; or {field = "sum(price)", ...}. Without
            a field name the aggregate's own. Nulls are left out.
        function: a Python function of two events that answers the one that stands for both. The first event stands for
            itself.
        native: a C function ("package.module:name") that changes the one value `returns`, at first 0, by the rows of
            `columns` that have no null.
        columns, returns: fields that `native` takes, {field = "type"} of its value; unless the function says so itself.
        running: a row for each row that comes in: the value so far. Not of count_distinct, quantile and `native`.

    Each replica reduces its own rows, so `replicas = "auto"` is one. Several get rows by a key or by forward; else the first gets
    all of them. Without any row there is no result, but of aggregates that are 0 then, which the first replica gives.
    """

    contract = Contract(one_replica=True, keeps_by_keys=True)

    def __init__(
        self,
        aggregate: str | dict[str, str] | None = None,
        *,
        function: Callable[..., Any] | None = None,
        native: Any = None,
        columns: list[str] | None = None,
        returns: dict[str, str] | None = None,
        running: bool = False,
    ) -> None:
        self.keys = {
            "aggregate": aggregate,
            "native": native,
            "columns": columns,
            "returns": returns,
            "running": running,
        }
        self.function, self.is_running = function, running
        self.reduction: Reduction | None = None

    def on_start(self) -> None:
        schema = next(iter(self.context.inputs.values()))
        if self.function is not None:
            self.reduction = Pairwise(self, self.function, schema)
        elif self.keys["native"] is not None:
            self.reduction = Natively(self.keys, schema)
        else:
            self.reduction = Aggregates(self.keys, schema)
        if self.state is not None:
            self.reduction.restore(self.state)

    def on_batch(self, batch: Batch) -> Batch | None:
        assert self.reduction is not None
        try:
            return self.reduction.add(batch, self.is_running)
        except RowErrors as errors:
            return self.on_batch(without_failed(self, batch, errors))

    def prepare(self, batch: Batch) -> Prepared | None:
        """`on_batch` as a kernel for a pool; None: it is none."""
        assert self.reduction is not None
        return self.reduction.prepare(batch)

    def link_end(self, chain: Linking, rows: LinkedRows) -> PanesStep:
        """`on_batch` as the last step of a chain; UnlinkedError: it is none."""
        assert self.reduction is not None
        return self.reduction.link(chain, rows)

    def admits(self) -> Admission:
        return Admission(LONGEST, NOTHING, AT_END)

    def took(self, rows: int) -> None:
        """Rows alone let nothing come out."""

    def on_end(self) -> Batch | None:
        assert self.reduction is not None
        return None if self.is_running else self.reduction.result(self.context.replica == 0)

    def snapshot(self) -> Any:
        return self.state if self.reduction is None else self.reduction.snapshot()

    def restore(self, snapshot: Any) -> None:
        self.state = snapshot
        if self.reduction is not None:
            self.reduction.restore(snapshot)

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return cls.contract if keys.get("native") is None else replace(cls.contract, pool_limit=1)

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default",)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        if keys.get("function") is not None:
            return {"default": returned_type(keys["function"]) or inputs[0]}
        if keys.get("native") is not None:
            return {"default": Natively(keys, inputs[0]).schema}
        return {"default": Aggregates(keys, inputs[0]).schema}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = same_inputs(inputs) + one_of(keys, WAYS)
        if problems:
            return problems
        if keys.get("native") is not None:
            problems = native_problems(keys, inputs[0], returns=True)
            if keys.get("running"):
                problems.append(Problem("running", "of a native function", "aggregate or function"))
            return problems
        for name, text in _texts(keys).items():
            where = "aggregate" if isinstance(keys["aggregate"], str) else f"aggregate.{name}"
            try:
                call = _aggregate_of(name, text, inputs[0], bool(keys.get("running")))[0].call
            except ExpressionError as error:
                problems.append(error.problem(where))
            else:
                if keys.get("running") and call.name not in RUNNING:
                    problems.append(Problem("running", f"of {call.name}", f"{', '.join(RUNNING)}"))
        return problems


class Reduction:
    """What the rows so far come to; `schema`: of the result."""

    schema: Schema

    def add(self, batch: Batch, running: bool) -> Batch | None:
        """Takes rows; `running`: returns the value after each. Raises RowErrors, and takes no row, if some have no value."""
        raise NotImplementedError

    def prepare(self, batch: Batch) -> Prepared | None:
        """`add` as a kernel for a pool; None: it is none."""
        return None

    def link(self, chain: Linking, rows: LinkedRows) -> PanesStep:
        """`add` as the last step of a chain. UnlinkedError: it is none."""
        raise UnlinkedError

    def result(self, of_none: bool) -> Batch | None:
        """The value of all rows; None if there is none. `of_none`: whether no rows may have one."""
        raise NotImplementedError

    def snapshot(self) -> Any:
        raise NotImplementedError

    def restore(self, snapshot: Any) -> None:
        raise NotImplementedError


class Aggregates(Reduction):
    """`aggregate`: built-in aggregates of columns, each as a fold if it has a value after each row or that is a text; the others
    together in one cell."""

    def __init__(self, keys: dict[str, Any], schema: Schema) -> None:
        calls = aggregates_of(keys, schema)
        self._folds = {name: fold for name, (_, fold) in calls.items() if fold is not None}
        self._calls = {name: output.call for name, (output, fold) in calls.items() if fold is not None}
        self._rest = [output for output, fold in calls.values() if fold is None]
        self._group = OneGroup(self._rest, schema.user) if self._rest else None
        self._rows = 0
        """That the folds have taken."""
        self.schema = Schema(
            "Reduced", tuple(output.field for output, _ in calls.values()), None, schema.time_unit
        )

    def add(self, batch: Batch, running: bool) -> Batch | None:
        values: dict[str, Column | None] = {
            name: call.arguments[0].evaluate(batch) if call.arguments else None
            for name, call in self._calls.items()
        }
        if running:
            given = ((fold, values[name]) for name, fold in self._folds.items())
            check_sums([(fold, own) for fold, own in given if isinstance(fold, Sum) and own is not None])
        if self._group is not None:
            self._group.add(batch)
        self._rows += batch.rows
        if not running:
            for name, fold in self._folds.items():
                fold.add(batch.rows, values[name])
            return None
        columns = {
            name: column_of(self.schema.field(name), fold.running(batch.rows, values[name]))
            for name, fold in self._folds.items()
        }
        return Batch.of(columns, event=self.schema, origin=batch)

    def link(self, chain: Linking, rows: LinkedRows) -> PanesStep:
        if self._folds or self._group is None:
            raise UnlinkedError
        return self._group.link(chain, rows)

    def result(self, of_none: bool) -> Batch | None:
        columns = None if self._group is None else self._group.result()
        found: dict[str, Column] = {}
        if columns is None and not self._rows:
            names = [output.name for output in self._rest]
            if not of_none or self._folds or not all(name in OF_NONE for name in names):
                return None
            columns = [column_of(output.field, [0]) for output in self._rest]
        found |= {output.field.name: column for output, column in zip(self._rest, columns or ())}
        found |= {
            name: column_of(self.schema.field(name), [fold.value()]) for name, fold in self._folds.items()
        }
        return Batch.of_columns(self.schema, found)

    def snapshot(self) -> Any:
        group = None if self._group is None else self._group.snapshot()
        return [self._rows, group, [fold.snapshot() for fold in self._folds.values()]]

    def restore(self, snapshot: Any) -> None:
        self._rows, group, states = snapshot
        if self._group is not None:
            self._group.restore(group)
        for fold, state in zip(self._folds.values(), states):
            fold.restore(state)


class Pairwise(Reduction):
    """`function`: a Python function of the result so far and the next event."""

    def __init__(self, actor: Actor, function: Callable[[Any, Any], Any], schema: Schema) -> None:
        self._actor, self._function = actor, function
        self._value: Any = None
        self.schema = Schema.of(returned_type(function) or schema)

    def add(self, batch: Batch, running: bool) -> Batch | None:
        made: list[Any] = []
        origin: list[int] = []
        for row, event in enumerate(batch.events()):
            try:
                value = event if self._value is None else self._function(self._value, event)
                if value is None:
                    raise ActorstreamError(
                        "the function answered None; allowed: an event that stands for both"
                    )
            except Exception as error:
                fail_event(self._actor, event, error)
                continue
            self._value = value
            if running:
                made.append(value)
                origin.append(row)
        return (
            Batch.of_events(self.schema, made).inherit(batch, np.array(origin, np.uint32)) if made else None
        )

    def result(self, of_none: bool) -> Batch | None:
        return None if self._value is None else Batch.of_events(self.schema, [self._value])

    def snapshot(self) -> Any:
        return None if self._value is None else to_bytes(Batch.of_events(self.schema, [self._value]))

    def restore(self, snapshot: Any) -> None:
        self._value = None if snapshot is None else decode(self.schema, from_bytes(snapshot)).events()[0]


class Natively(Reduction):
    """`native`: a C function over columns."""

    def __init__(self, keys: dict[str, Any], schema: Schema) -> None:
        native = declared(keys["native"], keys.get("columns"), keys.get("returns"))
        field = returned_field(native, schema)
        self.schema = Schema("Reduced", (Schema.from_dict({field.name: field.kind.value}).fields[0],))
        self._columns = NativeColumns(native, schema)
        self._value = np.zeros(1, self.schema.fields[0].dtype)
        self._rows = 0

    def add(self, batch: Batch, running: bool) -> Batch | None:
        self._rows += batch.rows
        self._columns.fold(batch, self._value)
        return None

    def prepare(self, batch: Batch) -> Prepared:
        self._rows += batch.rows
        return self._columns.prepare_fold(batch, self._value)

    def result(self, of_none: bool) -> Batch | None:
        return (
            Batch.of_columns(self.schema, {self.schema.fields[0].name: self._value}) if self._rows else None
        )

    def snapshot(self) -> Any:
        return [self._rows, self._value.tobytes()]

    def restore(self, snapshot: Any) -> None:
        self._rows, value = snapshot
        self._value = np.frombuffer(value, self._value.dtype).copy()


def aggregates_of(keys: dict[str, Any], schema: Schema) -> dict[str, tuple[AggregateOutput, Fold | None]]:
    """The aggregates by field, with those that are folds. ExpressionError for the first that is wrong."""
    running = bool(keys.get("running"))
    return {name: _aggregate_of(name, text, schema, running) for name, text in _texts(keys).items()}


def _aggregate_of(name: str, text: str, schema: Schema, running: bool) -> tuple[AggregateOutput, Fold | None]:
    call = compile_call(text, schema, ARITIES)
    is_text = call.name in OF_ONE and call.arguments[0].type.kind in TEXTS
    if not is_text and not (running and call.name in RUNNING):
        return output_of(name, text, schema), None
    fold = fold_of(call)
    return AggregateOutput(call, fold.kind.field(name)), fold


def _texts(keys: dict[str, Any]) -> dict[str, str]:
    given = keys.get("aggregate")
    if isinstance(given, str):
        return {given.split("(")[0].strip() or "value": given}
    return given or {}
