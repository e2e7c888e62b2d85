"""Selections: what users give to `take`, as row numbers that native code may trust."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.arrow_arrays import arrow_scalar, numpy_array
from actorstream.native.kernels import mask_to_index


def row_index(selection: Any, rows: int) -> np.ndarray | None:
    """uint32 row numbers below `rows` of a mask or of row numbers; None: a mask that takes all rows.

    SchemaError for a mask of another length or an array of another type, IndexError for a row number out of range.
    """
    if not isinstance(selection, np.ndarray):
        selection = _array(selection)
    if selection.ndim != 1:
        raise SchemaError(f"take: an array of shape {selection.shape}; allowed: one dimension")
    kind = selection.dtype.kind
    if kind == "b":
        if len(selection) != rows:
            raise SchemaError(f"take: a mask of {len(selection)} values for {rows} rows; allowed: one a row")
        index = mask_to_index(selection)
        return None if len(index) == rows else index
    if kind not in "iu":
        if len(selection) == 0:
            return np.empty(0, np.uint32)
        raise SchemaError(
            f"take: an array of {selection.dtype}; allowed: a bool mask, or integer row numbers"
        )
    if len(selection) and not (int(selection.max()) < rows and int(selection.min()) >= 0):
        wrong = int(selection[(selection < 0) | (selection >= rows)][0])
        raise IndexError(f"take: row {wrong} of a batch of {rows} rows; allowed: 0 to {rows - 1}")
    return selection.astype(np.uint32)


def _array(selection: Any) -> np.ndarray:
    if hasattr(selection, "null_count"):
        import pyarrow as pa
        import pyarrow.compute as pc

        if isinstance(selection, pa.ChunkedArray):
            selection = selection.combine_chunks()
        if isinstance(selection, pa.ExtensionArray):
            selection = pc.not_equal(selection.storage, arrow_scalar(np.int8(0)))
        if selection.null_count and pa.types.is_boolean(selection.type):
            selection = pc.fill_null(selection, arrow_scalar(False))
        if not selection.null_count and (
            pa.types.is_boolean(selection.type) or pa.types.is_integer(selection.type)
        ):
            return numpy_array(selection)
        found: np.ndarray = selection.to_numpy(zero_copy_only=False)
        return found
    return np.asarray(selection)


def ordinals(origin: np.ndarray) -> np.ndarray:
    """0, 1, 2, ... within each run of equal values of `origin` (the input row of each output row), int64."""
    count = len(origin)
    if count == 0:
        return np.empty(0, np.int64)
    starts = np.flatnonzero(np.concatenate(([True], origin[1:] != origin[:-1])))
    lengths = np.diff(np.append(starts, count))
    return np.arange(count) - np.repeat(starts, lengths)
