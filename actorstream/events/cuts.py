"""Cuts: where many rows are cut into batches that are bounded in rows and in bytes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from actorstream.events.batch import Batch
    from actorstream.events.column import Column

MOST_ROWS = 1 << 16
"""Rows of a batch at the most."""
MOST_BYTES = 4 << 20
"""Bytes of a batch at the most, unless its only row has more."""


def cuts(rows: int, each: int, sizes: np.ndarray | None = None) -> Iterator[tuple[int, int]]:
    """(first row, number of rows) of each batch, in order.

    each: bytes that every row has; sizes: further bytes of each row (int64); None: there are none."""
    if sizes is None:
        step = max(1, min(MOST_ROWS, MOST_BYTES // max(each, 1)))
        for first in range(0, rows, step):
            yield first, min(step, rows - first)
        return
    ends = np.cumsum(sizes + each)
    first = before = 0
    while first < rows:
        last = int(np.searchsorted(ends, before + MOST_BYTES, side="right"))
        last = min(max(last, first + 1), first + MOST_ROWS, rows)
        yield first, last - first
        first, before = last, int(ends[last - 1])


def sizes_of(columns: Iterable[tuple[Column, np.ndarray | None]]) -> np.ndarray | None:
    """Bytes that the variable fields of each row have, of columns and the row numbers in each (None: all of its rows; a
    number beyond the column has no bytes). None: no field is variable."""
    total: np.ndarray | None = None
    for column, index in columns:
        if column.offsets is None:
            continue
        found = np.diff(column.offsets[column.first : column.first + column.length + 1]).astype(np.int64)
        if index is not None:
            found = np.append(found, 0).take(index, mode="clip")
        total = found if total is None else total + found
    return total


def parts(batch: Batch) -> Iterator[Batch]:
    """The rows of `batch` as batches that are bounded. Gathers nothing that is only selected."""
    schema = batch.schema
    wide = [] if schema.fixed else [field.name for field in schema.fields if field.dtype is None]
    for first, rows in cuts(batch.rows, schema.row_bytes, sizes_of(batch.ungathered(name) for name in wide)):
        yield batch.slice(first, rows)
