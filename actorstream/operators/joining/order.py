"""Orders of rows by columns of any type: what a stable sort of whole columns needs. Nulls come last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.events.column import Column


def sort_keys(column: Column) -> list[np.ndarray]:
    """Arrays, the most significant first, by which rows sort as by the column: numbers by value (NaN last), text and
    bytes by their bytes, categories in the order of their codes, nulls last."""
    if column.field.plain:
        return [column.data]
    if column.field.dtype is not None:
        valid = column.valid()
        return [~valid, np.where(valid, column.data[column.first : column.first + column.length], 0)]
    import pyarrow.compute as pc

    ranks = pc.rank(column.arrow(), sort_keys="ascending", tiebreaker="dense")  # nulls at the end
    return [ranks.to_numpy(zero_copy_only=False)]


def sorted_rows(keys: Sequence[np.ndarray]) -> np.ndarray:
    """Row numbers in the order of `keys`, the most significant first; ties stay as they are."""
    return np.lexsort(list(reversed(keys)))
