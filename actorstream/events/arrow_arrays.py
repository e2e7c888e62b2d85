"""Arrow arrays of NumPy's and of a few Python values, and NumPy arrays of Arrow's, by way of their buffers.

pyarrow's own `array`, `scalar` and `to_numpy` import pandas wherever it is installed: a second of CPU time on a slow machine, in
each process of a run that needs none of it. So the engine does not call them where it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa


def arrow_array(values: np.ndarray, valid: np.ndarray | None = None) -> pa.Array:
    """Numbers or bools, without copying numbers that are contiguous. `valid`: False where a value is null."""
    import pyarrow as pa

    dtype = values.dtype
    data = np.packbits(values, bitorder="little") if dtype.kind == "b" else np.ascontiguousarray(values)
    nulls = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(pa.from_numpy_dtype(dtype), len(values), [nulls, pa.py_buffer(data)])


def arrow_texts(values: Iterable[str | bytes | None], kind: pa.DataType) -> pa.Array:
    """Texts as `pa.string()`, or bytes as `pa.binary()`; `kind` is one of them or its large form, which more than 2 GiB need
    (OverflowError)."""
    import pyarrow as pa

    parts = [each.encode() if isinstance(each, str) else each for each in values]
    wide = kind in (pa.large_string(), pa.large_binary())
    ends = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([0 if part is None else len(part) for part in parts], out=ends[1:])
    if not wide and ends[-1] > 2**31 - 1:
        raise OverflowError(f"{ends[-1]} bytes of text in one array; allowed: at most {2**31 - 1}")
    nulls = None
    if None in parts:
        nulls = pa.py_buffer(np.packbits([part is not None for part in parts], bitorder="little"))
    data = b"".join(part for part in parts if part is not None)
    offsets = pa.py_buffer(ends if wide else ends.astype(np.int32))
    return pa.Array.from_buffers(kind, len(parts), [nulls, offsets, pa.py_buffer(data)])


def arrow_scalar(value: Any) -> pa.Scalar:
    """A number or bool of NumPy, or a text."""
    import pyarrow as pa

    one = arrow_texts([value], pa.string()) if isinstance(value, str) else arrow_array(np.array([value]))
    return one[0]


def numpy_array(array: pa.Array) -> np.ndarray:
    """The numbers or bools of an Arrow array without nulls; numbers are not copied, and read-only."""
    import pyarrow as pa

    first, rows, data = array.offset, len(array), array.buffers()[1]
    if rows == 0 or data is None:
        return np.empty(0, array.type.to_pandas_dtype())
    if pa.types.is_boolean(array.type):
        bits = np.frombuffer(data, np.uint8)[first >> 3 : (first + rows + 7) >> 3]
        return np.unpackbits(bits, bitorder="little")[first & 7 : (first & 7) + rows].view(np.bool_)
    return np.frombuffer(data, array.type.to_pandas_dtype(), rows, first * array.type.bit_width // 8)
