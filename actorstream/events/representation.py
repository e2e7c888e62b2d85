"""Representation: how the rows of a batch are held, and how one form becomes another when it is asked for.

Columns, bytes of a jumbo tuple, a list of events, or a selection of another batch's rows. Each column is converted
once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec
import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.column import Column
from actorstream.events.event_codec import rows_of
from actorstream.events.feed import Feed
from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.native.pieces import ColumnTable

if TYPE_CHECKING:
    import pyarrow as pa

    from actorstream.events.event import Event
    from actorstream.events.jumbo import JumboTuple

_TIME = Field("_time", Kind.INT64)


class Representation(msgspec.Struct, eq=False, gc=False):
    """The rows of a `Batch`, its only subclass family. What it answers is documented there.

    A Struct only because that is made in 100 ns, a class with as many slots in 300 (benchmark `latency`).
    """

    gathers: ClassVar[bool] = False
    """Whether columns are put together from several batches."""
    schema: Schema
    rows: int
    _columns: list[Column | None]
    """By position of the user's fields; None: not asked for yet."""
    _events: list[Event] | None = None
    _jumbo: JumboTuple | None = None
    _frame_schema: Schema | None = None
    """Schema of the jumbo tuple, with system columns."""
    _first: int = 0
    """First row in the jumbo tuple, or in the parent."""
    _parent: Representation | None = None
    """The batch whose rows these are: a run from `_first`, those at `_index`, or all (with other columns)."""
    _index: np.ndarray | None = None
    _lineage: Representation | np.ndarray | None = None
    """The rows these descend from, one each; an array: row numbers of the operator's input, until `inherit`."""
    _system: dict[str, Column] | None = None
    _times: tuple[int, int] | None = None
    _table: tuple[Schema, ColumnTable] | None = None
    entry_min: int = 0
    entry_max: int = 0
    began: int = 0
    _values: list[list[Any]] | None = None
    """Of each field, as they stand in events."""
    _unfit: Callable[[Exception], Exception] | None = None
    """Makes the error of rows that do not fit the schema; it names who made them."""
    _above: int = 0
    """How many batches have to be asked in turn for a column that was not asked for yet."""

    # -- columns ----

    def __getitem__(self, name: str) -> Any:
        return self.column(name).view()

    def column(self, name: str) -> Column:
        """The column of a field, or of a system column that is present."""
        position = self.schema._index.get(name)
        if position is None:
            if name in self.system:
                return self.system[name]
            position = self.schema.index(name)
        found = self._columns[position]
        if found is None:
            found = self._columns[position] = self._load(position)
        return found

    def ungathered(self, name: str) -> tuple[Column, np.ndarray | None]:
        """A user column without gathering what is only selected: the column, and the uint32 row numbers in it; None: the
        rows are the column's own. For native code that reads at row numbers anyway."""
        position = self.schema.index(name)
        if self._columns[position] is None:
            source = self._parent
            if self._index is not None:
                source = self._viewed()
                if source is not self and source._index is None:
                    return source.column(name), self._index
            elif source is not None and self.rows == source.rows:  # the same rows, with other columns beside
                return source.ungathered(name)
        return self._column(position), None

    def _column(self, position: int) -> Column:
        found = self._columns[position]
        if found is None:
            found = self._columns[position] = self._load(position)
        return found

    def _load(self, position: int) -> Column:
        if self._jumbo is not None:
            assert self._frame_schema is not None
            return self._jumbo.column(self._frame_schema, position, self._first, self.rows)
        if self._parent is not None:
            return self._of_parent(self._parent.column(self.schema.fields[position].name))
        try:
            if self._values is not None:
                return Column.from_values(self.schema.fields[position], self._values[position])
            assert self._events is not None
            return rows_of(self.schema).column(self._events, position)
        except SchemaError as error:
            if self._unfit is None:
                raise
            raise self._unfit(error) from error

    def _of_parent(self, column: Column) -> Column:
        if self._index is not None:
            return column.take(self._index)
        assert self._parent is not None
        return column if self.rows == self._parent.rows else column.slice(self._first, self.rows)

    def columns(self) -> list[Column]:
        """All user columns, in the schema's order."""
        return [self._column(position) for position in range(len(self._columns))]

    @property
    def system(self) -> dict[str, Column]:
        """The system columns that the rows carry: `_time`, `_origin`, `_position`, `_ordinal0`, ..."""
        if self._system is None:
            self._system = self._find_system()
        return self._system

    def carried(self) -> Collection[str]:
        """The system columns that the rows carry (`_time` may be missing); no column is made for that."""
        batch: Representation | None = self
        while batch is not None:
            if batch._system is not None:
                return batch._system
            if batch._frame_schema is not None:
                return batch._frame_schema.system
            if batch.gathers and batch is not self:
                return batch.carried()
            lineage = batch._lineage
            batch = lineage if isinstance(lineage, Representation) else batch._parent
        return ()

    def _find_system(self) -> dict[str, Column]:
        if self._frame_schema is not None:
            assert self._jumbo is not None
            start = len(self.schema.fields)
            return {
                name: self._jumbo.column(self._frame_schema, start + number, self._first, self.rows)
                for number, name in enumerate(self._frame_schema.system)
            }
        if isinstance(self._lineage, Representation):
            return _handed_down(self._lineage, self.schema)
        if self._parent is not None:
            handed = _handed_down(self._parent, self.schema)
            return {name: self._of_parent(column) for name, column in handed.items()}
        return {}

    def arrow(self) -> pa.RecordBatch:
        """The user fields as an Arrow RecordBatch, zero-copy (bool as the extension type `arrow.bool8`)."""
        import pyarrow as pa

        arrays = [column.arrow() for column in self.columns()]
        schema = self.schema.arrow()
        if any(array.type != field.type for array, field in zip(arrays, schema)):  # large offsets
            pairs = zip(arrays, schema)
            schema = pa.schema([pa.field(field.name, array.type, field.nullable) for array, field in pairs])
        if not arrays:
            return pa.RecordBatch.from_struct_array(pa.array([{}] * self.rows, pa.struct([])))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    # -- events ----

    def events(self) -> list[Event]:
        """The rows as events, made in bulk on first use. Do not change the list."""
        if self._events is None:
            self._events = self._make_events()
        return self._events

    def feed(self) -> list[Event] | Feed:
        """The rows as events for one pass: made as they are taken, unless they are there already (or only one)."""
        if self.rows == 1 or self.has_events or not self._columns:
            return self.events()
        return Feed(rows_of(self.schema).single, self._described_values(), self.rows)

    def _described_values(self) -> tuple[Any, ...]:
        """Of each field what a `Cursor` is told."""
        if self._values is not None:
            return tuple(self._values)
        return tuple([self._column(position).described() for position in range(len(self._columns))])

    def _make_events(self) -> list[Event]:
        parent = self._viewed()
        if parent is not self and parent._events is not None:
            events = parent._events
            if self._index is not None:
                return [events[row] for row in self._index.tolist()]
            return events[self._first : self._first + self.rows]
        if self.rows == 1 and self._jumbo is not None and self.schema.fixed:
            assert self._frame_schema is not None
            return [self._jumbo.event(self._frame_schema, self._first)]
        return rows_of(self.schema).build(self._described_values(), self.rows)

    def only_event(self) -> Event | None:
        """The event of a batch of one event; None: it has more rows, or was not made of events."""
        return self._events[0] if self._events is not None and self.rows == 1 else None

    def __iter__(self) -> Iterator[Event]:
        return iter(self.events())

    def __len__(self) -> int:
        return self.rows

    @property
    def is_selection(self) -> bool:
        """Whether the rows are picked from another batch by number, and not gathered yet."""
        return self._index is not None and self._events is None

    @property
    def has_events(self) -> bool:
        """Whether `events()` has nothing to convert."""
        return self._events is not None or self._viewed()._events is not None

    def _viewed(self) -> Representation:
        """The batch whose rows this one is a mere run or selection of; itself if it has something of its own."""
        parent = self._parent
        if parent is None or self._lineage is not None or (self._index is None and self.rows == parent.rows):
            return self
        return parent

    # -- what the runtime asks ----

    def event_times(self) -> np.ndarray | None:
        """The event time of each row in the schema's unit (the event-time field, else `_time`); None: there is none."""
        name = self.schema.event_time
        if name is not None:
            return self.column(name).data
        time = self.system.get("_time")
        return None if time is None else time.data

    def time_range(self) -> tuple[int, int] | None:
        """(least, greatest) event time; None for no rows or no event time."""
        if self._times is None:
            times = self.event_times()
            if times is None or len(times) == 0:
                return None
            self._times = (int(times.min()), int(times.max()))
        return self._times

    def sealed(self, *, checked: bool = True) -> Representation:
        """To be called before the rows are handed on: a writable batch ends being writable. Returns this batch. `checked`:
        whether its values are looked at; some are undefined where rows were taken from it before all were written."""
        return self

    @property
    def nbytes(self) -> int:
        """About the bytes the rows take in a jumbo tuple; never converts anything to find out."""
        if self._jumbo is not None:
            return self._jumbo.nbytes * self.rows // max(self._jumbo.rows, 1)
        if self._events is not None:
            events, names = self._events, self.schema.names()
            return _nbytes(
                self.schema,
                len(events),
                lambda at, step: [getattr(event, names[at], None) for event in events[::step]],
            )
        if self._values is not None:
            values = self._values
            return _nbytes(self.schema, self.rows, lambda at, step: values[at][::step])
        own = 0
        # a generator for `sum` costs as much as all that is added, and so does the property where the size is known
        for column in self._columns:
            if column is not None:
                own += column.nbytes if column._nbytes < 0 else column._nbytes
        if self._parent is None or None not in self._columns:
            return own
        return self._parent.nbytes * self.rows // max(self._parent.rows, 1) + own


def origin_numbers(batches: Iterable[Representation]) -> np.ndarray | None:
    """The row numbers that `Batch.of(..., origin=index)` was given, of the rows of all batches in turn, also of rows that
    were taken from such a batch. None: of some rows there are none, or not any more."""
    found: list[np.ndarray] = []
    for batch in batches:
        at: Representation | None = batch
        passed: list[Representation] = []
        while at is not None and not isinstance(at._lineage, np.ndarray):
            if at._system:  # what is above has its lineage already
                return None
            passed.append(at)
            at = at._parent if at._lineage is None else at._lineage
        if at is None:
            return None
        assert isinstance(at._lineage, np.ndarray)
        numbers = at._lineage
        for each in reversed(passed):
            if each._index is not None:
                numbers = numbers[each._index]
            elif each._lineage is None:
                numbers = numbers[each._first : each._first + each.rows]
        found.append(numbers)
    return found[0] if len(found) == 1 else np.concatenate(found)


def shown_rows(rows: Representation) -> list[Any]:
    """The rows as errors and dead letters show them: events, or dicts where the name of a field can be no attribute."""
    names = rows.schema.names()
    if rows._events is not None or rows.schema.names_attributes:
        return rows.events()
    return [dict(zip(names, row)) for row in zip(*(column.tolist() for column in rows.columns()))]


def known_times(rows: Representation) -> tuple[int, int] | None:
    """A lower and an upper bound of the rows' event times, if they are known without a look at the times; None: they are not.
    Rows that are taken from a batch have the bounds of that batch."""
    name = rows.schema.event_time
    batch: Representation | None = rows
    while batch is not None and name is not None and batch.schema.event_time == name:
        if batch._times is not None:
            return batch._times
        if batch._columns[batch.schema._index[name]] is not None:  # perhaps another one than the parent's
            return None
        batch = batch._parent
    return None


def _handed_down(source: Representation, schema: Schema) -> dict[str, Column]:
    """The system columns of `source` as rows of another `schema` have them: its event time becomes `_time` if the rows
    have none of their own."""
    found = {name: column for name, column in source.system.items() if name != "_time"}
    if schema.event_time is None:
        if source.schema.event_time is not None:
            found["_time"] = source.column(source.schema.event_time).renamed(_TIME)
        elif "_time" in source.system:
            found["_time"] = source.system["_time"]
    return found


def _nbytes(schema: Schema, rows: int, sample: Callable[[int, int], Iterable[Any]]) -> int:
    """Estimate: fixed widths, and the variable fields of up to 16 rows spread over all (position, step -> values)."""
    step = max(1, rows // 16)
    spread = 0
    for position, field in enumerate(schema.fields):
        if field.kind in (Kind.STRING, Kind.BYTES, Kind.MSGPACK) and rows:
            for value in sample(position, step):
                spread += len(value) if isinstance(value, str | bytes) else 64
    return rows * schema.row_bytes + spread * rows // len(range(0, max(rows, 1), step))
