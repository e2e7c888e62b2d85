"""Lookups through their Python side: kinds, nulls, duplicates, indexes and errors agree with a dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.native import kernels
from actorstream.native.lookup import NONE, POSITIVE, Lookup, kinds
from actorstream.native.pieces import ColumnTable


def descriptor(array: pa.Array) -> tuple[int, int, int, int, int, int]:
    """An Arrow array of fixed or variable width as a column; the caller keeps the array."""
    buffers = array.buffers()
    address = [0 if buffer is None else buffer.address for buffer in buffers]
    if len(buffers) == 3:
        wide = int(array.type in (pa.large_string(), pa.large_binary()))
        return (0, wide, array.offset, address[0], address[2], address[1])
    return (array.type.bit_width // 8, 0, array.offset, address[0], address[1], 0)


def table_of(*arrays: pa.Array) -> ColumnTable:
    table = ColumnTable(len(arrays))
    table.fill([descriptor(array) for array in arrays])
    return table


def lookup_of(*arrays: pa.Array, hows: list[int]) -> Lookup:
    return Lookup([descriptor(array) for array in arrays], hows, len(arrays[0]))


def first_rows(table: list, asked: list) -> list[int]:
    first: dict = {}
    for row, key in enumerate(table):
        if None not in key:
            first.setdefault(key, row)
    return [first.get(key, NONE) for key in asked]


KEYS = {
    "dense": (st.integers(-40, 90), pa.int64(), kernels.SIGNED),
    "numbers": (st.sampled_from([k * 2**53 for k in range(-30, 30)]), pa.int64(), kernels.SIGNED),
    "floats": (st.sampled_from([k / 8 for k in range(-30, 30)]), pa.float64(), kernels.FLOAT),
    "words": (st.text("ab", min_size=8, max_size=11), pa.string(), kernels.BYTES),
    "texts": (st.text("aé", max_size=3), pa.large_string(), kernels.BYTES),
}


@pytest.mark.parametrize("kind", KEYS)
@settings(max_examples=40)
@given(data=st.data())
def test_find_and_expand_agree_with_a_dictionary_for_every_kind_of_key(kind, data):
    values, arrow, how = KEYS[kind]
    columns = data.draw(st.integers(1, 3))
    rows = st.lists(st.tuples(*[st.none() | values] * columns), max_size=60)
    table, asked = data.draw(rows), data.draw(rows)
    own = [pa.array([key[c] for key in table], arrow) for c in range(columns)]
    given_keys = [pa.array([key[c] for key in asked], arrow) for c in range(columns)]
    lookup = lookup_of(*own, hows=[how] * columns)
    found = lookup.find(table_of(*given_keys), kinds([how] * columns), len(asked))
    assert found.tolist() == first_rows(table, asked)
    valid = [key for key in table if None not in key]
    assert (lookup.keys, lookup.unique) == (len(set(valid)), len(set(valid)) == len(valid))
    for outer in (False, True):
        pairs = [
            (i, row) for i, key in enumerate(asked) for row, own_key in enumerate(table)
            if own_key == key and None not in key
        ]  # fmt: skip
        alone = [(i, NONE) for i, row in enumerate(found.tolist()) if row == NONE and outer]
        parts = list(lookup.expand(found, outer=outer, most=data.draw(st.integers(1, 30))))
        made = [pair for left, right in parts for pair in zip(left.tolist(), right.tolist(), strict=True)]
        assert made == sorted([*pairs, *alone])
        assert lookup.pairs(found, outer=outer) == len(made)


@given(st.lists(st.integers(0, 9), max_size=700), st.booleans())
def test_match_leaves_out_what_has_no_row_and_says_nothing_of_the_left_if_all_have_one(asked, with_index):
    own = pa.array([4, 2, 7], pa.int16())
    lookup = lookup_of(own, hows=[kernels.SIGNED])
    keys = pa.array(asked, pa.int32())
    index = np.arange(len(asked), dtype=np.uint32)[::-1].copy() if with_index else None
    numbers = range(len(asked)) if index is None else index.tolist()
    left, right = lookup.match(table_of(keys), kinds([kernels.SIGNED]), len(asked), index)
    hits = [number for number in numbers if asked[number] in (4, 2, 7)]
    assert right.tolist() == [[4, 2, 7].index(asked[number]) for number in hits]
    assert (left is None) == (len(hits) == len(asked))
    assert left is None or left.tolist() == hits


def test_the_kind_of_table_follows_the_keys():
    spread = pa.array(np.arange(100) * 2**40)
    assert lookup_of(pa.array([5, 65_000]), hows=[kernels.SIGNED]).mode == "dense"
    assert lookup_of(spread, hows=[kernels.SIGNED]).mode == "numbers"
    assert lookup_of(pa.array([0.5, -0.0]), hows=[kernels.FLOAT]).mode == "numbers"
    assert lookup_of(pa.array(["a"]), hows=[kernels.BYTES]).mode == "text"
    assert lookup_of(spread, spread, hows=[kernels.SIGNED] * 2).mode == "rows"


def test_negative_keys_are_not_the_large_unsigned_ones_with_their_bits():
    own = pa.array([-1, 3])
    asked = pa.array([2**64 - 1, 3], pa.uint64())
    for hows, expected in (([kernels.SIGNED | POSITIVE], [NONE, 1]), ([kernels.SIGNED], [0, 1])):
        found = lookup_of(own, hows=hows).find(table_of(asked), kinds([kernels.UNSIGNED]), 2)
        assert found.tolist() == expected


def test_zeros_of_both_signs_are_one_key_and_so_are_all_nans():
    own = pa.array([0.0, float("nan")])
    asked = pa.array([-0.0, -float("nan"), 1.0], pa.float32())
    found = lookup_of(own, hows=[kernels.FLOAT]).find(table_of(asked), kinds([kernels.FLOAT]), 3)
    assert found.tolist() == [0, 1, NONE]


def test_a_large_table_finds_each_of_its_keys_and_no_other():
    numbers = np.random.default_rng(7).permutation(200_000) * 2**20 + 3
    for keys, how, others in (
        (pa.array(numbers), kernels.SIGNED, pa.array(numbers + 1)),
        (pa.array([f"key-{n:012}-tail" for n in numbers]), kernels.BYTES, pa.array(["key-9-tail"] * 200_000)),
    ):
        lookup = lookup_of(keys, hows=[how])
        found = lookup.find(table_of(keys), kinds([how]), len(keys))
        assert (lookup.unique, lookup.keys) == (True, len(keys))
        assert np.array_equal(found, np.arange(len(keys)))
        assert set(lookup.find(table_of(others), kinds([how]), len(others)).tolist()) == {NONE}


def test_columns_that_do_not_fit_are_refused():
    whole, text = pa.array([1, 2]), pa.array(["a", "b"])
    with pytest.raises(ValueError, match="cannot be read as kinds"):
        lookup_of(text, hows=[kernels.SIGNED])
    with pytest.raises(ValueError, match="cannot be read as kinds"):
        lookup_of(whole, hows=[kernels.SIGNED] * 2)
    with pytest.raises(ValueError, match="1 to 16 columns"):
        lookup_of(*[whole] * 17, hows=[kernels.SIGNED] * 17)
    lookup = lookup_of(whole, hows=[kernels.SIGNED])
    with pytest.raises(ValueError, match="not those of the table"):
        lookup.find(table_of(pa.array([0.5])), kinds([kernels.FLOAT]), 1)
    both = lookup_of(whole, whole, hows=[kernels.SIGNED] * 2)
    with pytest.raises(ValueError, match="an index for one column only"):
        both.find(table_of(whole, whole), kinds([kernels.SIGNED] * 2), 1, np.zeros(1, np.uint32))
