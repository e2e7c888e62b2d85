"""Arrow arrays made of buffers are those that pyarrow makes of values; and NumPy gets back what went in."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.events.arrow_arrays import arrow_array, arrow_scalar, arrow_texts, numpy_array

DTYPES = [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
VALUES = st.lists(st.integers(0, 1), max_size=40)


@pytest.mark.parametrize("dtype", [*DTYPES, np.float32, np.float64])
@given(values=VALUES, step=st.sampled_from([1, 2, -1]), data=st.data())
def test_numbers_and_bools_are_what_pyarrow_makes_of_them(
    dtype: type, values: list[int], step: int, data: Any
) -> None:
    array = np.array(values, dtype)[::step]
    valid = data.draw(st.none() | st.lists(st.booleans(), min_size=len(array), max_size=len(array)))
    mask = None if valid is None else ~np.array(valid, np.bool_)
    found = arrow_array(array, None if valid is None else np.array(valid, np.bool_))
    found.validate(full=True)
    assert found.equals(pa.array(array, mask=mask))


@given(values=st.lists(st.none() | st.text(max_size=5), max_size=20), wide=st.booleans())
def test_texts_are_what_pyarrow_makes_of_them(values: list[str | None], wide: bool) -> None:
    kind = pa.large_string() if wide else pa.string()
    found = arrow_texts(values, kind)
    found.validate(full=True)
    assert found.equals(pa.array(values, kind))
    binary = pa.large_binary() if wide else pa.binary()
    data = [value and value.encode() for value in values]
    assert arrow_texts(data, binary).equals(pa.array(data, binary))


@pytest.mark.parametrize("value", ["", "a", "ü", np.int8(-1), np.int64(7), np.float64(0.5), True, False])
def test_a_scalar_is_that_of_pyarrow(value: Any) -> None:
    assert arrow_scalar(value) == pa.scalar(value)


@pytest.mark.parametrize("dtype", [*DTYPES, np.float32, np.float64])
@given(values=VALUES, first=st.integers(0, 40))
def test_numpy_gets_back_what_went_in_also_of_a_slice(dtype: type, values: list[int], first: int) -> None:
    array = np.array(values, dtype)
    found = numpy_array(arrow_array(array).slice(first))
    assert found.dtype == dtype
    assert found.tolist() == array[first:].tolist()
