"""map: fields computed from the fields of the same row, and fields taken away (AIR section 4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem, SchemaError
from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.fields import Field
from actorstream.events.schema import Schema
from actorstream.operators.chain import LinkedRows, Linking, UnlinkedError
from actorstream.operators.checks import one_of, same_inputs
from actorstream.operators.compiled import Compiled
from actorstream.operators.expressions import (
    ExpressionError,
    Projection,
    RowErrors,
    compile_expression,
)
from actorstream.operators.failed_rows import without_failed
from actorstream.operators.functions import (
    NativeColumns,
    declared,
    native_problems,
    returned_field,
    returned_type,
    takes_batch,
)
from actorstream.operators.prepared import Prepared
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.events.event import Event

WAYS = ("set", "function", "native")


class Map(Actor):
    """Rows with other fields.

    Args:
        set: {field = "expression"} (docs/expressions.md): a field of that name is replaced, others are added at the
            end. All of them are computed from the fields that came in.
        select: the fields that go on, in this order; all of them unless set.
        function: a Python function of an event, which answers an event, a list of them or None; or (its parameter
            annotated `Batch`) of a batch, which answers a batch or a dict of columns. Its return annotation, or
            `outputs`, says what comes out.
        native: a C function ("package.module:name") that computes the field `returns` from `columns`.
        columns, returns: fields that `native` takes, {field = "type"} that it computes; unless the function says so
            itself. It is null where one of the columns is.
    """

    contract: ClassVar[Contract] = Contract(stateless=True, pool_limit=math.inf)

    def __init__(
        self,
        set: dict[str, str] | None = None,
        select: list[str] | None = None,
        *,
        function: Callable[..., Any] | None = None,
        native: Any = None,
        columns: list[str] | None = None,
        returns: dict[str, str] | None = None,
    ) -> None:
        self.set, self.select, self.function = set or {}, select, function
        self.native, self.columns, self.returns = native, columns, returns
        self._mapped: Compiled[Callable[[Batch], Batch]] = Compiled(self._compile)
        self._jobs: Compiled[Callable[[Batch], Prepared | None]] = Compiled(self._compile_job)

    def on_batch(self, batch: Batch) -> Batch | None:
        try:
            mapped = self._mapped.of(batch.schema)(batch)
        except RowErrors as errors:
            return self.on_batch(without_failed(self, batch, errors))
        return mapped if mapped.rows else None

    def prepare(self, batch: Batch) -> Prepared | None:
        """`on_batch` as a kernel for a pool; None: it is none."""
        return self._jobs.of(batch.schema)(batch) if batch.rows else None

    def link(self, chain: Linking, rows: LinkedRows) -> LinkedRows:
        """`on_batch` as a step of a chain; UnlinkedError: it is none."""
        if self.function is not None:
            raise UnlinkedError
        made = self._schema(rows.schema)
        if self.native is not None:
            native = declared(self.native, self.columns, self.returns)
            field = returned_field(native, rows.schema)
            computed = NativeColumns(native, rows.schema).link_column(chain, rows, field)
            held = rows.columns | {field.name: computed}
            return LinkedRows(rows.number, made, {name: held[name] for name in made.names()})
        wanted = {name: text for name, text in self.set.items() if name in made}
        columns = dict(rows.columns)
        if wanted:
            expressions = {name: compile_expression(text, rows.schema) for name, text in wanted.items()}
            columns |= zip(wanted, Projection(expressions).link(chain, rows))
        return LinkedRows(rows.number, made, {name: columns[name] for name in made.names()})

    def _compile_job(self, schema: Schema) -> Callable[[Batch], Prepared | None]:
        made = None if self.function is not None else self._schema(schema)
        if made is not None and self.native is not None:
            native = declared(self.native, self.columns, self.returns)
            field, columns = returned_field(native, schema), NativeColumns(native, schema)
            if field.name in made:
                replaced = _replacer(made, [field])
                return lambda batch: columns.prepare_column(
                    batch, field, lambda column: replaced(batch, [column])
                )
        wanted = {name: text for name, text in self.set.items() if made is not None and name in made}
        if made is None or not wanted:
            return lambda batch: None
        projection = Projection({name: compile_expression(text, schema) for name, text in wanted.items()})
        replaced = _replacer(made, projection.fields)
        return lambda batch: projection.prepare(batch, lambda columns: replaced(batch, columns))

    def _schema(self, schema: Schema) -> Schema:
        keys = {"set": self.set, "select": self.select, "native": self.native}
        return mapped_schema(keys | {"columns": self.columns, "returns": self.returns}, schema)

    def _compile(self, schema: Schema) -> Callable[[Batch], Batch]:
        if self.function is not None:
            return _by_batch(self.function) if takes_batch(self.function) else _by_event(self.function)
        made = self._schema(schema)
        if self.native is not None:
            native = declared(self.native, self.columns, self.returns)
            field, columns = returned_field(native, schema), NativeColumns(native, schema)
            if field.name not in made:
                return lambda batch: batch.with_columns(event=made)
            return _replacing(made, [field], lambda batch: [columns.column(batch, field)])
        wanted = {name: text for name, text in self.set.items() if name in made}
        if not wanted:
            return lambda batch: batch.with_columns(event=made)
        projection = Projection({name: compile_expression(text, schema) for name, text in wanted.items()})
        return _replacing(made, list(projection.fields), projection.evaluate)

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return cls.contract if keys.get("function") is None else replace(cls.contract, pool_limit=0)

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default",)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        if keys.get("function") is not None:
            found = returned_type(keys["function"])
            return {} if found is None else {"default": found}
        return {"default": mapped_schema(keys, inputs[0])}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = same_inputs(inputs)
        ways = (*WAYS, "select") if keys.get("select") is not None and not any(map(keys.get, WAYS)) else WAYS
        problems.extend(one_of(keys, ways))
        if problems or keys.get("function") is not None:
            if keys.get("function") is not None and keys.get("select") is not None:
                problems.append(Problem("select", "beside `function`", "select beside `set` or `native`"))
            return problems
        if keys.get("native") is not None:
            problems.extend(native_problems(keys, inputs[0], returns=True))
        for name, text in (keys.get("set") or {}).items():
            try:
                compile_expression(text, inputs[0])
            except ExpressionError as error:
                problems.append(error.problem(f"set.{name}"))
        return problems or _schema_problems(keys, inputs[0])


def mapped_schema(keys: dict[str, Any], schema: Schema) -> Schema:
    """What comes out of rows of `schema`. SchemaError, ExpressionError."""
    fields = {field.name: field for field in schema.fields}
    for field in _computed(keys, schema):
        own = fields.get(field.name)
        fields[field.name] = own if own == field else field  # type: ignore[assignment]
    names = keys.get("select")
    if names is not None:
        fields = {name: fields[name] for name in names}
    if tuple(fields.values()) == schema.fields:
        return schema
    time = schema.event_time if schema.event_time in fields else None
    return Schema(schema.name, tuple(fields.values()), time, schema.time_unit)


def _computed(keys: dict[str, Any], schema: Schema) -> list[Field]:
    if keys.get("native") is not None:
        native = declared(keys["native"], keys.get("columns"), keys.get("returns"))
        return [returned_field(native, schema)]
    return [compile_expression(text, schema).field(name) for name, text in (keys.get("set") or {}).items()]


def _schema_problems(keys: dict[str, Any], schema: Schema) -> list[Problem]:
    """Problems of the fields that come out, of keys that are right by themselves."""
    names = [*schema.names(), *(field.name for field in _computed(keys, schema))]
    names = list(dict.fromkeys(names))
    wanted = keys.get("select")
    if wanted is not None:
        problems = [
            Problem("select", f"there is no field {name!r}", listed(names), did_you_mean(name, names))
            for name in dict.fromkeys(wanted)
            if name not in names
        ]
        problems += [
            Problem("select", f"has {name!r} twice", "each field once")
            for name in dict.fromkeys(wanted)
            if wanted.count(name) > 1
        ]
        if not wanted:
            problems.append(Problem("select", "is empty", f"some of {listed(names)}"))
        if problems:
            return problems
    try:
        mapped_schema(keys, schema)
    except SchemaError as error:
        where = "set" if keys.get("set") else "returns"
        return [Problem(where, str(error), "fields that go together")]
    return []


def _replacing(
    made: Schema, fields: list[Field], compute: Callable[[Batch], list[Column]]
) -> Callable[[Batch], Batch]:
    """Rows of `made`, with columns of `fields` computed. Fields that do not go on are not asked for."""
    replaced = _replacer(made, fields)
    return lambda batch: replaced(batch, compute(batch))


def _replacer(made: Schema, fields: Sequence[Field]) -> Callable[[Batch, list[Column]], Batch]:
    """Rows of `made` of a batch and the columns of `fields` that were computed of it."""
    names = [field.name for field in fields]
    if "event" in names:  # a keyword of with_columns
        return lambda batch, columns: _assembled(made, dict(zip(names, columns)), batch)
    return lambda batch, columns: batch.with_columns(event=made, **dict(zip(names, columns)))


def _assembled(made: Schema, computed: dict[str, Column], batch: Batch) -> Batch:
    columns = {name: computed[name] if name in computed else batch.column(name) for name in made.names()}
    return Batch.of(columns, event=made, origin=batch)


def _by_batch(function: Callable[[Batch], Any]) -> Callable[[Batch], Batch]:
    event = returned_type(function)

    def mapped(batch: Batch) -> Batch:
        found = function(batch)
        if isinstance(found, Batch):
            return found
        return Batch.of(found, event=event, origin=batch)

    return mapped


def _by_event(function: Callable[[Any], Any]) -> Callable[[Batch], Batch]:
    schema = returned_type(function)

    def mapped(batch: Batch) -> Batch:
        made: list[Any] = []
        origin: list[int] = []
        for row, event in enumerate(batch.events()):
            found = function(event)
            if isinstance(found, (list, tuple)):
                made.extend(found)
                origin.extend([row] * len(found))
            elif found is not None:
                made.append(found)
                origin.append(row)
        kind = schema or (type(made[0]) if made else batch.schema)
        return Batch.of_events(kind, made).inherit(batch, np.array(origin, np.uint32))

    return mapped
