"""Selections: masks and row numbers become row numbers that C may trust."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import SchemaError
from actorstream.events.selection import ordinals, row_index


@given(st.lists(st.booleans(), max_size=50))
def test_a_mask_selects_where_it_is_true(mask: list[bool]) -> None:
    index = row_index(np.array(mask, np.bool_), len(mask))
    expected = [row for row, take in enumerate(mask) if take]
    assert (list(range(len(mask))) if index is None else index.tolist()) == expected


def test_a_mask_that_takes_everything_selects_nothing_in_particular() -> None:
    assert row_index(np.ones(3, np.bool_), 3) is None


@pytest.mark.parametrize(
    "selection, expected",
    [
        ([2, 0, 2], [2, 0, 2]),
        ((1,), [1]),
        ([], []),
        (range(3), [0, 1, 2]),
        (np.array([1], np.int8), [1]),
        (pa.array([True, None, True]), [0, 2]),
        (pa.chunked_array([[True], [False, True]]), [0, 2]),
        (pa.array([2, 1]), [2, 1]),
        (pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 1], pa.int8())), [1, 2]),
    ],
)
def test_whatever_looks_like_rows_is_taken(selection: Any, expected: list[int]) -> None:
    index = row_index(selection, 3)
    assert index is not None and index.dtype == np.uint32 and index.tolist() == expected


@pytest.mark.parametrize("wrong, row", [([0, 3], 3), ([-1], -1), (np.array([2**40]), 2**40)])
def test_a_row_out_of_range_is_named(wrong: Any, row: int) -> None:
    with pytest.raises(IndexError, match=f"row {row} of a batch of 3 rows; allowed: 0 to 2"):
        row_index(wrong, 3)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (np.ones(2, np.bool_), "a mask of 2 values for 3 rows"),
        (np.array([0.5]), "an array of float64; allowed: a bool mask"),
        (np.zeros((1, 1), np.int64), "one dimension"),
    ],
)
def test_what_selects_no_rows_is_refused(wrong: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        row_index(wrong, 3)


def test_ordinals_count_within_each_input_row() -> None:
    assert ordinals(np.array([0, 0, 2, 5, 5, 5])).tolist() == [0, 1, 0, 0, 1, 2]
    assert ordinals(np.array([], np.int64)).tolist() == []
