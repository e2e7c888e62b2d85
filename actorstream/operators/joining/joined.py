"""Joined: rows of a batch side by side with rows of a table's columns, gathered only where a column is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.arrow_arrays import arrow_array
from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.native.lookup import NONE

if TYPE_CHECKING:
    from actorstream.events.fields import Field
    from actorstream.events.schema import Schema


class Joined(Batch):
    """A batch with further fields: row i continues with row `_rows[i]` of `_others`, or nulls where that is NONE.

    Made by `beside`. The first fields of the schema are those of the batch it was made of, the rest `_others`.
    """

    _others: list[Column] = []  # noqa: RUF012  (a Struct copies it)
    _rows: np.ndarray | None = None
    _outer: bool = False
    """Whether `_rows` may hold NONE."""

    def _load(self, position: int) -> Column:
        own = len(self._columns) - len(self._others)
        if position < own:
            return super()._load(position)
        assert self._rows is not None
        return gather(
            self._others[position - own], self._rows, self.schema.fields[position], outer=self._outer
        )

    def ungathered(self, name: str) -> tuple[Column, np.ndarray | None]:
        position = self.schema.index(name)
        number = position - len(self._columns) + len(self._others)
        if number < 0:
            return super().ungathered(name)
        own, field = self._others[number], self.schema.fields[position]
        same = own.field.kind is field.kind and own.field.categories == field.categories
        if same and not self._outer and self._columns[position] is None:
            return own, self._rows
        return self._column(position), None  # the batch below has no such field

    def slice(self, first: int, rows: int) -> Batch:
        """As of any batch, but the rows outside are not gathered for it."""
        if rows == self.rows or self._rows is None or not isinstance(self._parent, Batch):
            return super().slice(first, rows)
        index = self._rows[first : first + rows]
        return beside(self._parent.slice(first, rows), self.schema, self._others, index, outer=self._outer)

    @property
    def nbytes(self) -> int:
        spread = sum(column.nbytes / max(column.length, 1) for column in self._others)
        assert self._parent is not None
        return self._parent.nbytes + int(spread * self.rows)


def beside(
    batch: Batch, schema: Schema, others: list[Column], rows: np.ndarray, *, outer: bool = False
) -> Joined:
    """The rows of `batch`, with its lineage, and behind its fields those of `others` at `rows` (uint32, one a row).

    schema: of the result: the fields of `batch`, then one for each of `others`, nullable with `outer`.
    """
    made = Joined(schema, batch.rows, [None] * len(schema.fields), None, None, None, 0, batch)
    made._others, made._rows, made._outer = others, rows, outer
    made.entry_min, made.entry_max, made.began = batch.entry_min, batch.entry_max, batch.began
    return made


def gather(column: Column, rows: np.ndarray, field: Field, *, outer: bool = False) -> Column:
    """The values of `column` at `rows` as a column of `field`; with `outer`, null where a row is NONE."""
    missing = rows == NONE if outer else None
    if missing is None or not missing.any():
        return column.take(rows).renamed(field)
    if column.length == 0:
        return Column.from_values(field, [None] * len(rows))
    if column.offsets is None:
        taken = column.take(np.where(missing, 0, rows))
        valid = ~missing if taken.validity is None else taken.valid() & ~missing
        return Column(field, len(rows), np.packbits(valid, bitorder="little"), taken.data, None)

    return Column.from_arrow(field, column.arrow().take(arrow_array(rows, ~missing)))


def column_of(field: Field, values: Any) -> Column:
    """Values computed here as a column, without a check of each."""
    return Column(field, len(values), None, values, None)
