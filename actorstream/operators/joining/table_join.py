"""A table with its lookup, joined with batches of a stream: whole columns of keys to row numbers, nothing gathered that
nobody asks for (AIR section 4.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.events.column import Column
from actorstream.events.cuts import MOST_BYTES, MOST_ROWS, cuts, sizes_of
from actorstream.events.fields import Field, Kind
from actorstream.native.lookup import Lookup, kinds
from actorstream.native.pieces import ColumnTable
from actorstream.operators.chain import LinkedRows, Linking
from actorstream.operators.joining.joined import beside
from actorstream.operators.joining.keys import Pairs, family, how_of, table_hows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema


class TableJoin:
    """Joins batches of one schema with a table.

    Args:
        table: all its rows.
        pairs: (stream's field, table's field) of the keys.
        outer: rows without a match stay, with nulls.
        stream, schema: of the batches, and of what comes out: their fields, then those of the table at `fields`.
        fields: names of the table's fields that come out, in order.
    """

    def __init__(
        self, table: Batch, pairs: Pairs, stream: Schema, schema: Schema, fields: list[str], *, outer: bool
    ) -> None:
        self.schema, self.outer = schema, outer
        self._names = [left for left, _ in pairs]
        self._name = self._names[0] if len(pairs) == 1 else None
        asked = [stream.field(name) for name in self._names]
        self._keys = [
            converted(table.column(right), field) for (_, right), field in zip(pairs, asked)
        ]  # kept: text keys are compared where they lie
        self._others = [table.column(name) for name in fields]
        hows = table_hows([key.field for key in self._keys], asked)
        sizes = sizes_of((column, None) for column in self._others)
        self._most_rows = (
            MOST_ROWS if sizes is None or not len(sizes) else MOST_BYTES // max(int(sizes.max()), 1)
        )
        """Joined rows for which the table's fields have at most MOST_BYTES, whichever rows they are."""
        self.lookup = Lookup([key.descriptor for key in self._keys], hows, table.rows)
        self._hows = kinds([how_of(field) for field in asked])
        self._asked = ColumnTable(len(pairs))

    @property
    def nbytes(self) -> int:
        """Bytes of the lookup and of the columns that it needs."""
        return self.lookup.nbytes + sum(column.nbytes for column in (*self._keys, *self._others))

    def __call__(self, batch: Batch) -> Batch | Iterator[Batch] | None:
        """The joined rows in the order of the batch, those of one row in the order of the table; None for none.

        Of a selection whose only key nobody has gathered, the key is read where it lies."""
        index: np.ndarray | None = None
        if self._name is not None:
            column, index = batch.ungathered(self._name)
            if index is not None and batch._viewed() is batch:  # numbers in what is below other columns
                column, index = batch.column(self._name), None
            self._asked.fill_one(column.descriptor)
        else:
            self._asked.fill([batch.column(name).descriptor for name in self._names])
        lookup = self.lookup
        if self.outer or not lookup.unique:
            found = lookup.find(self._asked, self._hows, batch.rows, index)
            if not lookup.unique:
                return self._many(batch, found)
            return self._beside(batch, found)
        left, right = lookup.match(self._asked, self._hows, batch.rows, index)
        if left is None:
            return self._beside(batch, right) if batch.rows else None
        if not len(right):
            return None
        kept = batch.selection(left) if index is None else batch._viewed().selection(left)  # type: ignore[attr-defined]
        return self._beside(kept, right)

    def _beside(self, batch: Batch, rows: np.ndarray) -> Batch | Iterator[Batch]:
        """The rows of `batch` with the rows of the table at `rows`: one batch, or several where it would be too large."""
        if batch.rows > self._most_rows:
            return self._parts(batch, rows)
        return beside(batch, self.schema, self._others, rows, outer=self.outer)

    def _parts(self, batch: Batch, rows: np.ndarray) -> Iterator[Batch]:
        own = [batch.ungathered(field.name) for field in batch.schema.fields]
        sizes = sizes_of([*own, *((column, rows) for column in self._others)])
        for first, count in cuts(batch.rows, self.schema.row_bytes, sizes):
            part = rows[first : first + count]
            yield beside(batch.slice(first, count), self.schema, self._others, part, outer=self.outer)

    def link(self, chain: Linking, rows: LinkedRows) -> LinkedRows:
        """A call as a step of a chain. UnlinkedError: a key of the table has several rows, and batches must not grow."""
        made, table = chain.look_up(rows, self.lookup, self._hows, self._names, outer=self.outer)
        own = len(self.schema.fields) - len(self._others)
        columns = dict(rows.columns)
        for field, column in zip(self.schema.fields[own:], self._others):
            columns[field.name] = chain.of_table(column, table, field)
        return LinkedRows(made, self.schema, columns)

    def _many(self, batch: Batch, found: np.ndarray) -> Iterator[Batch]:
        for left, right in self.lookup.expand(found, outer=self.outer, most=MOST_ROWS):
            yield from self._parts(batch.selection(left), right)


def converted(key: Column, asked: Field) -> Column:
    """A table's key column in the type that rows are looked up by: codes of the same categories, or their text."""
    own = key.field
    if family(own) is family(asked) and own.categories == asked.categories:
        return key
    import pyarrow as pa
    import pyarrow.compute as pc

    from actorstream.events.arrow import labels_of

    values = key.arrow().dictionary_decode() if own.categories else key.arrow()
    if not asked.categories:
        return Column.from_arrow(Field(own.name, Kind.STRING, nullable=True), values.cast(pa.string()))
    codes = pc.index_in(values, value_set=labels_of(asked))  # null where there is no such category
    return Column.from_arrow(Field(own.name, Kind.INT32, nullable=True), codes)
