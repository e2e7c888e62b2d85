"""Partitions, masks and key groups agree with NumPy, for every key type, width, offset and null."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.native import kernels
from actorstream.native.pieces import ColumnTable
from tests.native.unused_calls import NULL_HASH

seeds = st.integers(0, 2**32 - 1)


def table_of(*arrays: np.ndarray, validity: int = 0, first: int = 0) -> ColumnTable:
    table = ColumnTable(len(arrays))
    table.fill([(array.dtype.itemsize, 0, first, validity, array.ctypes.data, 0) for array in arrays])
    return table


def expected_partition(destination: np.ndarray, destinations: int) -> tuple[list[int], list[int]]:
    counts = np.bincount(destination, minlength=destinations).tolist()
    return np.argsort(destination, kind="stable").tolist(), counts


@given(st.integers(0, 5000), st.integers(1, 300), st.integers(1, 40), seeds)
def test_a_partition_by_key_is_a_stable_sort_by_the_destination_of_its_group(
    rows, groups, destinations, seed
):
    rng = np.random.default_rng(seed)
    keys = rng.integers(-(2**63), 2**63, rows)
    to = rng.integers(0, destinations, groups)
    hashes = kernels.hash_columns(table_of(keys), [(0, kernels.SIGNED)], rows)
    expected = expected_partition(to[kernels.key_groups(hashes, groups)], destinations)
    partitioner = kernels.Partitioner(to.tolist(), destinations)
    for index, counts in (
        partitioner.by_key(table_of(keys), [(0, kernels.SIGNED)], rows),
        partitioner.by_hash(hashes),
    ):
        assert (index.tolist(), counts) == expected


@given(st.lists(st.integers(0, 6), max_size=200), st.sampled_from([np.uint32, np.int64, np.uint8]))
def test_a_partition_by_given_destinations_is_a_stable_sort(destination, dtype):
    array = np.array(destination, dtype)
    index, counts = kernels.Partitioner([0], 7).by_rows(array)
    assert (index.tolist(), counts) == expected_partition(array.astype(np.int64), 7)


@pytest.mark.parametrize("wrong", [7, -1, 2**31])
def test_a_destination_out_of_range_is_refused(wrong):
    array = np.array([0, 3, wrong, 6], np.int64)
    with pytest.raises(ValueError, match=r"0 \.\. 6"):
        kernels.Partitioner([0], 7).by_rows(array)
    with pytest.raises(ValueError, match="key groups"):
        kernels.Partitioner([0, 7], 7)


@given(st.integers(0, 3000), st.integers(1, 9), seeds)
def test_two_key_columns_partition_by_their_combined_hash(rows, destinations, seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 9, rows), rng.integers(0, 9, rows).astype(np.int16)
    table, keys = table_of(first, second), [(0, kernels.SIGNED), (1, kernels.SIGNED)]
    hashes = [
        kernels.combine(kernels.hash_int(a), kernels.hash_int(b))
        for a, b in zip(first.tolist(), second.tolist(), strict=True)
    ]
    assert kernels.hash_columns(table, keys, rows).tolist() == hashes
    to = [group % destinations for group in range(128)]
    wanted = np.array([to[kernels.key_group(value)] for value in hashes], np.int64)
    index, counts = kernels.Partitioner(to, destinations).by_key(table, keys, rows)
    assert (index.tolist(), counts) == expected_partition(wanted, destinations)


def test_a_partitioner_grows_with_its_batches_and_keeps_its_answers_right():
    partitioner = kernels.Partitioner([0, 1], 2)
    keys = [(0, kernels.SIGNED), (0, kernels.SIGNED)]
    for rows in (1, 5000, 3, 20000, 0):
        numbers = np.arange(rows)
        for chosen in (keys, keys[:1]):
            index, counts = partitioner.by_key(table_of(numbers), chosen, rows)
            assert sorted(index.tolist()) == numbers.tolist() and sum(counts) == rows
            assert rows == 0 or index.ctypes.data == partitioner.index_address


@given(st.lists(st.booleans(), max_size=300))
def test_a_mask_gives_the_rows_that_numpy_finds(mask):
    array = np.array(mask, bool)
    assert kernels.mask_to_index(array).tolist() == np.flatnonzero(array).tolist()


def test_a_mask_counts_every_byte_that_is_not_zero():
    array = np.array([0, 1, 2, 128, 255, 0, 7], np.uint8)
    assert kernels.mask_to_index(array).tolist() == [1, 2, 3, 4, 6]
    assert kernels.mask_to_index(np.ones(300, bool)[::3]).tolist() == list(range(100))
    with pytest.raises(ValueError, match="booleans"):
        kernels.mask_to_index(np.zeros(3, np.int64))  # type: ignore[arg-type]


@given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=200), st.integers(0, 70))
def test_nulls_hash_to_their_constant_behind_any_offset(values, offset):
    array = pa.array([1] * offset + values, pa.int32()).slice(offset)
    validity, data = array.buffers()
    table = ColumnTable(1)
    table.fill([(4, 0, array.offset, validity.address if validity else 0, data.address, 0)])
    expected = [NULL_HASH if value is None else kernels.hash_int(value) for value in values]
    assert kernels.hash_columns(table, [(0, kernels.SIGNED)], len(values)).tolist() == expected


@given(st.lists(st.none() | st.binary(max_size=40), max_size=100), st.integers(0, 9), st.booleans())
def test_strings_hash_alike_in_a_column_and_alone(values, offset, wide):
    kind = pa.large_binary() if wide else pa.binary()
    array = pa.array([b"before"] * offset + values, kind).slice(offset)
    validity, offsets, data = array.buffers()
    table = ColumnTable(1)
    table.fill(
        [
            (
                0,
                int(wide),
                array.offset,
                validity.address if validity else 0,
                data.address if data else 0,
                offsets.address,
            )
        ]
    )
    expected = [NULL_HASH if value is None else kernels.hash_bytes(value) for value in values]
    assert kernels.hash_columns(table, [(0, kernels.BYTES)], len(values)).tolist() == expected


def test_a_column_that_cannot_be_hashed_that_way_is_named():
    table = table_of(np.zeros(4, np.int16))
    with pytest.raises(ValueError, match="column 0 of width 2 cannot be hashed as kind 3"):
        kernels.hash_columns(table, [(0, kernels.FLOAT)], 4)
    with pytest.raises(ValueError, match="column 0 of width 2 cannot be hashed as kind 9"):
        kernels.Partitioner([0], 1).by_key(table, [(0, 9)], 4)
    with pytest.raises(ValueError, match="column 1 of 1"):
        kernels.hash_columns(table, [(1, kernels.SIGNED)], 4)
    with pytest.raises(ValueError, match="no key columns"):
        kernels.hash_columns(table, [], 4)
