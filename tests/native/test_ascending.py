"""Whether numbers ascend, by the C pass, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.native.ascending import first_descent


def by_numpy(values: np.ndarray) -> int:
    less = values[1:] < values[:-1]
    return int(np.argmax(less)) + 1 if less.any() else 0


@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=50), st.booleans())
def test_the_first_value_below_the_one_before_it_is_found(values: list[int], ordered: bool) -> None:
    found = np.array(sorted(values) if ordered else values, np.int64)
    assert first_descent(found) == by_numpy(found)


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20),
    st.lists(st.integers(0, 19)),
    st.booleans(),
)
def test_values_at_an_index_are_compared_as_they_are_gathered(
    values: list[int], places: list[int], ordered: bool
) -> None:
    given_values = np.array(sorted(values) if ordered else values, np.int64)
    index = np.array([place % len(values) for place in places], np.uint32)
    assert first_descent(given_values, index) == by_numpy(given_values[index])
    assert first_descent(given_values.repeat(2)[::2], index) == by_numpy(given_values[index])


@pytest.mark.parametrize("count", [2, 511, 512, 513, 514, 1024, 1025, 1026, 5000])
def test_a_descent_is_found_wherever_it_is_among_the_blocks(count: int) -> None:
    ascending = np.arange(count, dtype=np.int64) // 3 - 7
    assert first_descent(ascending) == 0
    for at in {1, count // 2, count - 1, *range(max(1, count - 4), count), *range(509, min(517, count))}:
        values = ascending.copy()
        values[at:] -= 1 + count  # one descent, the rest ascends
        assert first_descent(values) == at
        values[-1] = np.iinfo(np.int64).min  # another one behind it
        assert first_descent(values) == at


def test_equal_values_and_extremes_ascend() -> None:
    least, most = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    assert first_descent(np.array([least, least, -1, 0, 0, most, most])) == 0
    assert first_descent(np.array([least, most, least])) == 2
    assert first_descent(np.empty(0, np.int64)) == first_descent(np.array([5])) == 0


def test_other_types_and_strides_are_compared_too() -> None:
    every_other = np.array([1, 9, 2, 0, 3, 9, 2, 0])[::2]
    assert first_descent(every_other) == 3
    assert first_descent(np.array([2**63, 2**64 - 1, 3], np.uint64)) == 2
    assert first_descent(np.array([1, 2, 3], np.int32)) == 0
    unaligned = np.frombuffer(b"x" + np.array([1, 3, 2]).tobytes(), np.int64, offset=1)
    assert first_descent(unaligned) == 2
