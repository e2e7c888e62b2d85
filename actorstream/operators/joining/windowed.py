"""The rows of a window join: key, the left's other fields, the right's, the bounds of the window; in their order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.arrow_arrays import arrow_array
from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.cuts import cuts, sizes_of
from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.events.values import FIRST_TIME, LAST_TIME
from actorstream.native.lookup import NONE
from actorstream.operators.joining.fields import common, nullable, others
from actorstream.operators.joining.joined import gather
from actorstream.operators.joining.order import sort_keys, sorted_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.operators.joining.keys import Pairs
    from actorstream.operators.joining.matching import Matches
    from actorstream.operators.joining.pending import Closing
    from actorstream.windows.sliding import SlidingWindows

START, END = "window_start", "window_end"


def bound_kind(schema: Schema) -> Kind:
    """The type of window bounds: that of the event time, as far as it is a field or was the bound of a window."""
    name = schema.event_time if schema.event_time is not None else END
    if name in schema and schema.field(name).kind is Kind.DATETIME:
        return Kind.DATETIME
    return Kind.INT64


def bound_column(field: Field, times: np.ndarray) -> Column:
    """The starts or ends of windows as a column; one that no datetime can hold is the nearest that can."""
    if field.kind is Kind.DATETIME:
        times = np.clip(times, FIRST_TIME, LAST_TIME)
    return Column.from_numpy(field, times)


class WindowedFields:
    """Which fields come out of a window join, and the rows of its pairs.

    An input's own fields `window_start` and `window_end` give way to those of the join, unless they are keys: then the
    join's do.

    Attributes:
        schema: of the rows; their event time is window_end - 1, as a system column.
    """

    def __init__(self, left: Schema, right: Schema, pairs: Pairs, how: str) -> None:
        self.how, self.pairs = how, pairs
        keys = []
        for first, second in pairs:
            one, other = left.field(first), right.field(second)
            if how in ("right", "outer"):
                both = common(one, other) or one
                one = replace(both, nullable=other.nullable or (how == "outer" and one.nullable))
            keys.append(one)
        self._keys = keys
        names = [field.name for field in keys]
        bounds = [name for name in (START, END) if name not in names]
        missing = how in ("right", "outer")
        own = [field for field in left.fields if field.name not in (*names, *bounds)]
        self._left = [nullable(field) if missing else field for field in own]
        taken = [*names, *(field.name for field in own), *bounds]
        without = {second for _, second in pairs} | {name for name in bounds if name in right}
        self._right = others(right, without, taken, nullable=how in ("left", "outer"))
        self._bounds = [Field(name, bound_kind(left)) for name in bounds]
        fields = (*keys, *self._left, *(field for _, field in self._right), *self._bounds)
        self.schema = Schema(left.name, fields, None, left.time_unit)

    def batches(
        self, left: Closing, right: Closing, pairs: Matches, windows: SlidingWindows
    ) -> Iterator[Batch]:
        """The rows of all pairs, by window, key, and the order in which the left's and the right's rows came in."""
        first, second = left.row(pairs.left), right.row(pairs.right)
        keys = [self._key(number, left, right, first, second) for number in range(len(self._keys))]
        order = sorted_rows([pairs.window, *(array for key in keys for array in sort_keys(key))])
        first, second = first[order], second[order]
        window = pairs.window[order]
        ordered = [(key, order) for key in keys]
        own = [(left.rows.column(field.name), first) for field in self._left]
        others = [(right.rows.column(name), second) for name, _ in self._right]
        for at, rows in cuts(len(window), self.schema.row_bytes, sizes_of([*ordered, *own, *others])):
            part = slice(at, at + rows)
            columns = [key.take(order[part]) for key in keys]
            missing = self.how in ("right", "outer")
            columns += [
                gather(column, index[part], field, outer=missing)
                for (column, index), field in zip(own, self._left)
            ]
            missing = self.how in ("left", "outer")
            columns += [
                gather(column, index[part], field, outer=missing)
                for (column, index), (_, field) in zip(others, self._right)
            ]
            yield self._bounded(columns, window[part], windows)

    def _bounded(self, columns: list[Column], window: np.ndarray, windows: SlidingWindows) -> Batch:
        """Rows of these columns, with the bounds of their windows behind them."""
        ends = windows.end(window)
        bounds = {START: windows.start(window), END: ends}
        columns += [bound_column(field, bounds[field.name]) for field in self._bounds]
        return Batch(self.schema, len(window), list(columns)).with_system(_time=ends - 1)

    def _key(
        self, number: int, left: Closing, right: Closing, first: np.ndarray, second: np.ndarray
    ) -> Column:
        """A key of each pair: the left's, or the right's where there is no left."""
        field = self._keys[number]
        one, other = self.pairs[number]
        if self.how in ("inner", "left"):
            return gather(left.rows.column(one), first, field)
        alone = first == NONE
        wide = nullable(field)
        own = gather(
            left.rows.column(one), first, replace(wide, kind=left.rows.schema.field(one).kind), outer=True
        )
        rest = gather(
            right.rows.column(other),
            second,
            replace(wide, kind=right.rows.schema.field(other).kind),
            outer=True,
        )
        return chosen(field, alone, own.renamed(wide), rest.renamed(wide))


def chosen(field: Field, second: np.ndarray, one: Column, other: Column) -> Column:
    """The values of `other` where `second`, else of `one`; both of the field's kind, nullable."""
    rows = len(second)
    if field.dtype is None:
        import pyarrow.compute as pc

        picked = pc.if_else(arrow_array(second), other.arrow(), one.arrow())
        return Column.from_arrow(field, picked)
    values = [column.data[column.first : column.first + rows] for column in (one, other)]
    data = np.where(second, values[1], values[0])
    if not field.nullable:
        return Column(field, rows, None, data, None)
    valid = np.where(second, other.valid(), one.valid())
    return Column(field, rows, np.packbits(valid, bitorder="little"), data, None)
