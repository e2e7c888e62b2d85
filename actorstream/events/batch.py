"""Batch: a run of rows of one schema, the unit that operators see. Immutable.

It holds its rows as columns, as bytes of a jumbo tuple, as a list of events, or as a selection of another batch's rows,
and converts from one to another only when asked, each column once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import BrokenError, SchemaError
from actorstream.events.column import VALUES, Column, by_name, sample
from actorstream.events.fields import IN_TIME, WATERMARK, Field, Kind, nearest_text
from actorstream.events.representation import Representation, origin_numbers
from actorstream.events.schema import Schema, is_system_name
from actorstream.events.selection import row_index

if TYPE_CHECKING:
    import pyarrow as pa

    from actorstream.events.event import Event
    from actorstream.events.jumbo import JumboTuple


BATCHES: set[type] = set()
"""`Batch` and its subclasses: `type(item) in BATCHES` takes 30 ns, isinstance of an Event 80."""
MOST_ABOVE = 32
"""Most batches that ask each other in turn for a column."""


class Batch(Representation):
    """`rows` rows of `schema`.

    `batch["price"]` is a read-only NumPy array over the memory the rows arrived in (a fixed-width field without nulls;
    a datetime as int64 microseconds, a Literal or Enum as its codes), or an Arrow array (every other field).
    `batch.events()` are Event objects, made in bulk. Views keep the memory of the whole jumbo tuple in use for as long
    as they live; `compact()` copies what is worth keeping.

    Attributes:
        schema: user fields; what the plan adds is in `system`.
        rows: number of rows.
        entry_min, entry_max: monotonic ns at which the oldest and the latest contributing tuple entered; 0: unknown.
        began: monotonic ns at which the first operator took them; 0: none has yet.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        BATCHES.add(cls)

    # -- where batches come from ----

    @classmethod
    def of_events(cls, schema: Schema | type[Event], events: list[Event]) -> Batch:
        """A batch of events, which become columns only when columns are asked for. Keeps the list: do not change it."""
        own = None if type(schema) is Schema else schema.__dict__.get("__schema__")
        made = Schema.of(schema).user if own is None else own  # that of a class has no system columns
        return cls(made, len(events), [None] * len(made.fields), events)

    @classmethod
    def of_values(cls, schema: Schema | type[Event], values: list[list[Any]]) -> Batch:
        """A batch of the Python values of each field, which become columns only when columns are asked for. Keeps the
        lists: do not change them."""
        schema = Schema.of(schema).user
        batch = cls(schema, len(values[0]), [None] * len(schema.fields))
        batch._values = values
        return batch

    @classmethod
    def of_columns(cls, schema: Schema | type[Event], columns: Mapping[str, Any]) -> Batch:
        """A batch of columns by name: NumPy or Arrow arrays (not copied where the type is the field's), Columns or
        lists. System columns of `schema` may be among them. SchemaError for a missing or unknown name, columns of
        different lengths, values that do not fit."""
        schema, columns = Schema.of(schema), by_name(columns)
        user = schema.user
        try:
            given = [columns[name] for name in user._names]
        except KeyError as missing:
            raise _not_given(columns, missing.args[0], schema) from None
        made: list[Any] = list(map(Column.of, user.fields, given))
        system = None
        if user is not schema:
            system = {
                name: Column.of(schema.field(name), columns[name])
                for name in schema.system
                if name in columns
            }
        if len(columns) > len(made) + len(system or ()):
            unknown = next(name for name in columns if name not in schema)
            raise SchemaError(
                f"{schema.name} has no field {unknown!r}{nearest_text(unknown, list(schema.names()))}"
            )
        rows = _common_length(schema, [*made, *system.values()] if system else made)
        batch = cls(user, rows, made)
        if system:
            batch._system = system
        return batch

    @classmethod
    def of(
        cls,
        columns: Mapping[str, Any],
        *,
        event: Schema | type[Event] | None = None,
        origin: Batch | np.ndarray | Sequence[int] | None = None,
    ) -> Batch:
        """A batch of columns that an operator computed.

        event: the rows' class or schema; without it, that of `origin` if the names are the same, else told from the
        types of the columns. origin: the input rows that the rows descend from, one each, which gives them their
        lineage (event time, source position): a batch of as many rows, or row numbers of the operator's input.
        """
        if event is None:
            if isinstance(origin, Batch) and set(columns) == set(origin.schema.names()):
                event = origin.schema
            else:
                from actorstream.events.inference import infer_schema

                event = infer_schema(columns)
        batch = cls.of_columns(event, columns)
        if origin is not None:
            if not isinstance(origin, Batch):
                origin = np.asarray(origin)
            if len(origin) != batch.rows:
                raise SchemaError(
                    f"Batch.of: {batch.rows} rows of {batch.schema.name} descend from {len(origin)} rows; allowed: one "
                    "row of origin for each (repeat rows with origin=batch.take(index))"
                )
            batch._lineage = origin
            if isinstance(origin, Batch):
                batch._under(origin)
                batch.entry_min, batch.entry_max = origin.entry_min, origin.entry_max
        return batch

    @classmethod
    def from_arrow(cls, schema: Schema | type[Event], data: pa.RecordBatch | pa.Table) -> Batch:
        """The columns of Arrow data that `schema` names; further ones are left out."""
        schema = Schema.of(schema)
        known = set(data.schema.names)
        if not schema.fields:
            return cls(schema, data.num_rows, [])
        return cls.of_columns(schema, {name: data.column(name) for name in schema.names() if name in known})

    @classmethod
    def from_jumbo(cls, schema: Schema, jumbo: JumboTuple, first: int = 0, rows: int | None = None) -> Batch:
        """Rows first .. first + rows - 1 of a jumbo tuple of `schema` (its system columns included). Reads nothing
        until a column is touched."""
        user = schema.user
        rows = jumbo.rows - first if rows is None else rows
        if first < 0 or rows < 0:
            raise BrokenError(
                f"rows {first} to {first + rows} of a jumbo tuple; allowed: from 0 on, and not less than 0"
            )
        return cls(user, rows, [None] * len(user.fields), None, jumbo, schema, first)

    @staticmethod
    def concat(batches: Sequence[Batch]) -> Batch:
        """The rows of several batches of one schema as one batch. Copies, unless there is one, or all are events."""
        if len(batches) == 1:
            return batches[0]
        if not batches:
            raise SchemaError("Batch.concat of no batches; allowed: at least one (it gives the schema)")
        schema = batches[0].schema
        for batch in batches:
            if batch.schema != schema:
                raise SchemaError(f"Batch.concat: {batch.schema!r} among batches of {schema!r}")
        rows = sum(batch.rows for batch in batches)
        if all(batch._events is not None for batch in batches):
            made = Batch(
                schema,
                rows,
                [None] * len(schema.fields),
                [event for batch in batches for event in batch.events()],
            )
        else:
            parts = [batch for batch in batches if batch.rows] or [batches[0]]
            made = Batch(
                schema,
                rows,
                [Column.concat([b._column(i) for b in parts]) for i in range(len(schema.fields))],
            )
        names = dict.fromkeys(name for batch in batches for name in batch.system)
        made._system = {
            name: Column.concat(system_columns(batches, name))
            for name in names
            if carry_together(batches, name)
        }
        made._lineage = origin_numbers(batches)
        made.entry_min = min((batch.entry_min for batch in batches if batch.entry_min), default=0)
        made.entry_max = max(batch.entry_max for batch in batches)
        return made

    # -- other batches of these rows ----

    def take(self, rows: Any) -> Batch:
        """Some of the rows, with their lineage: a bool mask of `rows` values, or row numbers (which may repeat).

        Gathers nothing until a column is touched; what is never touched is gathered straight into the next jumbo
        tuple. SchemaError for a mask of another length, IndexError for a row number out of range.
        """
        index = row_index(rows, self.rows)
        return self if index is None else self.selection(index)

    def selection(self, index: np.ndarray) -> Batch:
        """`take` for the runtime: uint32 row numbers that are known to be below `rows`, and are kept."""
        parent = self._viewed()
        if parent is not self:
            index = index + np.uint32(self._first) if self._index is None else self._index.take(index)
        return self._derived(parent, len(index), index=index)

    def slice(self, first: int, rows: int) -> Batch:
        """Rows first .. first + rows - 1 without copying. IndexError if they are not all there."""
        if first < 0 or rows < 0 or first + rows > self.rows:
            raise IndexError(f"rows {first} to {first + rows} of a batch of {self.rows}")
        if rows == self.rows:
            return self
        if self._jumbo is not None:
            assert self._frame_schema is not None
            batch = Batch.from_jumbo(self._frame_schema, self._jumbo, self._first + first, rows)
            if self._events is not None:
                batch._events = self._events[first : first + rows]
            batch.entry_min, batch.entry_max, batch.began = self.entry_min, self.entry_max, self.began
            return batch
        parent = self._viewed()
        if parent is not self and self._index is not None:
            return self._derived(parent, rows, index=self._index[first : first + rows])
        return self._derived(parent, rows, first=first + (0 if parent is self else self._first))

    def with_columns(self, /, event: Schema | type[Event] | Any = None, **columns: Any) -> Batch:
        """The same rows with some columns replaced or added; keeps their lineage.

        event: the class of the rows that come out; its fields are taken from `columns`, else from this batch. Without
        it the schema stays as it is, with added columns at its end. (Values instead of a class: a column `event`.)
        One value in place of a column is that of all rows.
        """
        if event is not None and not isinstance(event, Schema | type):
            columns["event"], event = event, None
        if event is None:
            schema = self.schema
            if not columns.keys() <= schema._index.keys():
                from actorstream.events.inference import infer_schema

                added = {name: sample(values) for name, values in columns.items() if name not in schema}
                fields = schema.fields + infer_schema(added).fields
                schema = Schema(schema.name, fields, schema.event_time, schema.time_unit)
        else:
            schema = Schema.of(event).user
            for name in columns:
                schema.index(name)
        batch = self._derived(self, self.rows)
        if schema is not self.schema:
            batch.schema = schema
            batch._columns = [
                None if field.name in columns else self._kept(field, schema, columns)
                for field in schema.fields
            ]
        for name, values in columns.items():
            at = schema._index[name]
            if values is None or isinstance(values, VALUES):
                batch._columns[at] = Column.repeated(schema.fields[at], values, self.rows)
                continue
            column = batch._columns[at] = Column.of(schema.fields[at], values)
            if column.length != self.rows:
                raise SchemaError(
                    f"with_columns: field {name!r} has {column.length} values for {self.rows} rows; allowed: "
                    "one a row (take(...) the rows first)"
                )
        return batch

    def with_made(self, schema: Schema, columns: list[Column | None]) -> Batch:
        """`with_columns` for the runtime: the same rows as `schema` has them, with columns that are known to fit.
        None: the batch's own column of that name, which is of the same field."""
        batch = self._derived(self, self.rows)
        batch.schema, batch._columns = schema, columns
        return batch

    def _kept(self, field: Field, schema: Schema, columns: Mapping[str, Any]) -> Column | None:
        """The batch's own column as a field of another schema; None: to be had from the batch as it is."""
        if field.name not in self.schema:
            known = [*self.schema.names(), *columns]
            raise SchemaError(
                f"with_columns: {schema.name} has a field {field.name!r} that neither the batch nor the keywords "
                f"give{nearest_text(field.name, known)}"
            )
        own = self.schema.field(field.name)
        if own is field or (own == field and (field.free or field.holds(own))):
            return None
        return self.column(field.name).renamed(field)

    def select(self, names: Sequence[str]) -> Batch:
        """Only these fields, in this order."""
        schema = self.schema.select(list(names))
        return self.with_columns(event=schema)

    def cast(self, schema: Schema | type[Event]) -> Batch:
        """The same rows as rows of another schema with the same field names; SchemaError where values do not fit."""
        schema = Schema.of(schema).user
        if schema.takes(self.schema):
            return self
        for name in self.schema.names():
            schema.index(name)
        return self.with_columns(event=schema)

    def compact(self) -> Batch:
        """The same rows in memory of their own: keeps nothing of the jumbo tuple they arrived in."""
        batch = Batch(self.schema, self.rows, [column.copy() for column in self.columns()])
        batch._system = {name: column.copy() for name, column in self.system.items()}
        batch._times, batch._lineage = self._times, origin_numbers([self])
        batch.entry_min, batch.entry_max, batch.began = self.entry_min, self.entry_max, self.began
        return batch

    def with_system(self, **columns: Any) -> Batch:
        """The same rows with system columns set (int64 values, one a row); the runtime's, for lineage."""
        batch = self._derived(self, self.rows)
        batch._events = self._events
        batch._system = dict(self.system)
        for name, values in columns.items():
            batch._system[name] = Column.of(_system_field(name), values)
        return batch

    def inherit(self, source: Batch, index: Any = None) -> Batch:
        """Gives the rows the lineage of `source`, unless they have one: by `index` (the row of `source` that each
        descends from), else by the row numbers that `Batch.of(..., origin=index)` was given. Answers this batch."""
        if index is None:
            index = origin_numbers([self])
        if index is not None:
            index = np.asarray(index)
            if len(index) != self.rows:
                raise SchemaError(
                    f"{self.rows} rows of {self.schema.name} descend from {len(index)} row numbers"
                )
            self._lineage = source.take(index)
            self._under(self._lineage)
            self._system = self._table = None
            self.entry_min, self.entry_max = source.entry_min, source.entry_max
        return self

    def _under(self, source: Representation) -> None:
        """Notes that columns or lineage are asked of `source`. Where many would ask each other, it finds its own first:
        each takes up to four calls of Python's stack."""
        if source._above >= MOST_ABOVE:
            source.columns()
            source._system = source.system
            source._above = 0
        self._above = source._above + 1

    def _derived(
        self, parent: Representation, rows: int, index: np.ndarray | None = None, first: int = 0
    ) -> Batch:
        schema = self.schema
        batch = Batch(schema, rows, [None] * len(schema.fields), None, None, None, first, parent, index)
        above = parent._above
        if above < MOST_ABOVE:
            batch._above = above + 1
        else:
            batch._under(parent)
        batch.entry_min, batch.entry_max, batch.began = self.entry_min, self.entry_max, self.began
        batch._unfit = self._unfit
        return batch

    def __repr__(self) -> str:
        return f"Batch({self.schema.name}, {self.rows} rows: {', '.join(map(str, self.schema.fields))})"


BATCHES.add(Batch)


def _not_given(columns: Mapping[str, Any], name: str, schema: Schema) -> SchemaError:
    known = nearest_text(name, [str(given) for given in columns])
    return SchemaError(f"{schema.name} has a field {name!r} that the columns do not give{known}")


def unmarked(batch: Batch) -> Batch:
    """The rows, which carry a watermark, without it."""
    made = batch.with_system()
    del made.system[WATERMARK]
    return made


def carry_together(batches: Sequence[Batch], name: str) -> bool:
    """Whether their rows, put together, have a system column: all batches must have it; of WATERMARK one is enough."""
    return (any if name == WATERMARK else all)(name in batch.carried() for batch in batches)


def system_columns(batches: Sequence[Batch], name: str) -> list[Column]:
    """Of batches that `carry_together` a system column, each one's; rows of batches without watermarks are in time."""
    return [batch.system[name] if name in batch.carried() else _in_time(batch.rows) for batch in batches]


def _in_time(rows: int) -> Column:
    return Column.of(_system_field(WATERMARK), np.full(rows, IN_TIME, np.int64))


def _common_length(schema: Schema, columns: list[Column]) -> int:
    rows = columns[0].length if columns else 0
    for other in columns:
        if other.length != rows:
            shown = ", ".join(f"{column.field.name}: {column.length}" for column in columns)
            raise SchemaError(
                f"the columns of {schema.name} differ in length ({shown}); allowed: one value a row in each"
            )
    return rows


@cache
def _system_field(name: str) -> Field:
    if not is_system_name(name):
        raise SchemaError(
            f"{name!r} is not a system column; allowed: _time, _origin, _position, _watermark, _ordinal0, ..."
        )
    return Field(name, Kind.INT64)
