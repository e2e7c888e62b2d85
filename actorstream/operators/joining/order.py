"""Orders of rows by columns of any type: what a stable sort of whole columns needs. Nulls come last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.arrow_arrays import numpy_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.events.column import Column


def sort_keys(column: Column, *, descending: bool = False) -> list[np.ndarray]:
    """Arrays, the most significant first, by which rows sort as by the column: numbers by value (NaN last), text and
    bytes by their bytes, categories in the order of their codes; nulls last, also where the greatest come first."""
    if column.field.dtype is not None:
        data = column.data if column.field.plain else column.data[column.first : column.first + column.length]
        if descending:
            data = -data if data.dtype.kind == "f" else ~data
        if column.field.plain or column.validity is None:
            return [data]
        valid = column.valid()
        return [~valid, np.where(valid, data, 0)]
    import pyarrow.compute as pc

    order = "descending" if descending else "ascending"
    ranks = pc.rank(column.arrow(), sort_keys=order, tiebreaker="dense")  # nulls at the end
    return [numpy_array(ranks)]


def changes(key: np.ndarray) -> np.ndarray:
    """Whether each row has another value than the one before it; the first has. NaNs are one value."""
    found = np.ones(len(key), np.bool_)
    found[1:] = key[1:] != key[:-1]
    if key.dtype.kind == "f":
        found[1:] &= ~(np.isnan(key[1:]) & np.isnan(key[:-1]))
    return found


def sorted_rows(keys: Sequence[np.ndarray]) -> np.ndarray:
    """Row numbers in the order of `keys` (at least one), the most significant first; ties stay as they are.

    Integers whose ranges fit 64 bits together are sorted as one number with the row in its low part: 12 ns a row, where
    lexsort of four keys takes 170 (100,000 rows)."""
    rows = len(keys[0])
    if rows < 2:
        return np.arange(rows)
    packed = np.zeros(rows, np.uint64)
    room = (1 << 64) // rows
    for key in keys:
        if key.dtype.kind not in "iub":
            return np.lexsort(list(reversed(keys)))
        least = int(key.min())
        span = int(key.max()) - least + 1
        if span == 1:
            continue
        room //= span
        if room == 0:
            return np.lexsort(list(reversed(keys)))
        packed *= np.uint64(span)
        packed += _above(key, least)
    packed *= np.uint64(rows)
    packed += np.arange(rows, dtype=np.uint64)
    packed.sort()
    return (packed % np.uint64(rows)).astype(np.int64)


def _above(key: np.ndarray, least: int) -> np.ndarray:
    """key - least as uint64; the difference fits, even where it does not as a signed number."""
    wide = key.astype(np.uint64) if key.dtype.kind != "i" else key.astype(np.int64).view(np.uint64)
    return wide - np.uint64(least & 0xFFFF_FFFF_FFFF_FFFF)
