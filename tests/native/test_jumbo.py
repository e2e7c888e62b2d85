"""Jumbo tuples written from random Arrow columns hold what pyarrow's concat, slice, take and filter give."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.errors import BrokenError, SchemaError
from actorstream.native import kernels
from actorstream.native.pieces import Column, ColumnTable, Pieces, open_columns, prepare
from tests.native.unused_calls import NULL_HASH, prepared_size

SCHEMA, PLAN = 0xDEADBEEF12345678, 0xFEDCBA9876543210
VARIABLE = [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()]
FIXED = [pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.float64(), pa.decimal128(20), pa.binary(3)]


def random_array(kind: pa.DataType, rows: int, nulls: bool, rng: np.random.Generator) -> pa.Array:
    """Rows of `kind`, often empty or short, a third of them null if `nulls`, behind a random offset."""
    before, after = (int(n) for n in rng.integers(0, 20, 2))
    total = before + rows + after
    null = rng.random(total) < 0.3 if nulls else np.zeros(total, bool)
    validity = None if not nulls else pa.py_buffer(np.packbits(~null, bitorder="little").tobytes())
    if kind in VARIABLE:
        longest = int(rng.choice([2, 13, 70]))
        lengths = rng.integers(0, longest, total) * (rng.random(total) < 0.8)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        data = rng.integers(97, 123, offsets[-1]).astype(np.uint8)
        wide = kind in (pa.large_string(), pa.large_binary())
        buffers = [validity, pa.py_buffer(offsets.astype(np.int64 if wide else np.int32)), pa.py_buffer(data)]
    else:
        width = kind.bit_width // 8
        data = rng.integers(0, 100, total * width).astype(np.uint8)
        buffers = [validity, pa.py_buffer(data)]
    return pa.Array.from_buffers(kind, total, buffers).slice(before, rows)


def describe(array: pa.Array) -> Column:
    buffers = array.buffers()
    validity = buffers[0].address if buffers[0] is not None else 0
    if array.type in VARIABLE:
        wide = int(array.type in (pa.large_string(), pa.large_binary()))
        return (0, wide, array.offset, validity, buffers[2].address, buffers[1].address)
    return (array.type.bit_width // 8, 0, array.offset, validity, buffers[1].address, 0)


@dataclass
class Block:
    """Memory for one jumbo tuple, 64-byte aligned, dirty before it is written."""

    nbytes: int

    def __post_init__(self) -> None:
        self._memory = np.full(self.nbytes + 64, 0xAA, np.uint8)
        skip = -self._memory.ctypes.data % 64
        self.array = self._memory[skip : skip + self.nbytes]
        self.address = self.array.ctypes.data


def read(block: Block, kinds: list[pa.DataType]) -> list[pa.Array]:
    """The columns of a block as Arrow arrays over its memory; addresses must lie inside and be aligned."""
    rows, columns = open_columns(block.address, block.nbytes, SCHEMA, len(kinds))
    arrays = []
    for kind, (width, wide, first, validity, data, offsets) in zip(kinds, columns, strict=True):
        assert first == 0 and data % 64 == validity % 64 == offsets % 64 == 0
        bitmap = inside(block, validity, (rows + 7) // 8) if validity else None
        if width:
            arrays.append(pa.Array.from_buffers(kind, rows, [bitmap, inside(block, data, rows * width)]))
            continue
        narrow = pa.string() if kind in (pa.string(), pa.large_string()) else pa.binary()
        wide_kind = pa.large_string() if narrow == pa.string() else pa.large_binary()
        at = inside(block, offsets, (rows + 1) * (8 if wide else 4))
        last = int(np.frombuffer(at, np.int64 if wide else np.int32)[-1])
        buffers = [bitmap, at, inside(block, data, last)]
        array = pa.Array.from_buffers(wide_kind if wide else narrow, rows, buffers)
        array.validate(full=True)
        arrays.append(array.cast(kind))
    return arrays


def inside(block: Block, address: int, nbytes: int) -> pa.Buffer:
    assert block.address <= address and address + nbytes <= block.address + block.nbytes
    return pa.foreign_buffer(address, nbytes, block)


def written(pieces: Pieces) -> Block:
    block = Block(pieces.measure())
    pieces.write(block.address, block.nbytes, SCHEMA, PLAN)
    return block


def equal(got: list[pa.Array], expected: list[pa.Array]) -> bool:
    return all(a.equals(b) for a, b in zip(got, expected, strict=True))


kinds_lists = st.lists(st.sampled_from([*VARIABLE, *FIXED]), max_size=5)
seeds = st.integers(0, 2**32 - 1)


@given(kinds_lists, st.lists(st.tuples(st.integers(0, 150), st.booleans()), min_size=1, max_size=6), seeds)
def test_slices_of_several_batches_concatenate_as_in_arrow(kinds, batches, seed):
    rng = np.random.default_rng(seed)
    pieces, tables, parts, several = Pieces(len(kinds)), [], [], []
    for rows, nulls in batches:
        arrays = [random_array(kind, rows, nulls and rng.random() < 0.7, rng) for kind in kinds]
        table = ColumnTable(len(kinds))
        table.fill([describe(array) for array in arrays])
        first = int(rng.integers(0, rows + 1))
        count = int(rng.integers(0, rows - first + 1))
        tables.append(table)
        parts.append([array.slice(first, count) for array in arrays])
        several.append((table.address, 0, first, count))
    pieces.set_many(several)
    expected = [pa.concat_arrays(list(column)) for column in zip(*parts, strict=True)]
    assert equal(read(written(pieces), kinds), expected)


@given(kinds_lists, st.integers(1, 200), st.booleans(), st.booleans(), seeds)
def test_a_gather_by_index_is_arrows_take(kinds, rows, nulls, ascending, seed):
    rng = np.random.default_rng(seed)
    arrays = [random_array(kind, rows, nulls, rng) for kind in kinds]
    first = int(rng.integers(0, rows))
    index = rng.integers(0, rows - first, int(rng.integers(0, 300))).astype(np.uint32)
    if ascending:
        index.sort()
    table, pieces = ColumnTable(len(kinds)), Pieces(len(kinds))
    table.fill([describe(array) for array in arrays])
    pieces.set(table, len(index), first, index.ctypes.data)
    expected = [array.slice(first).take(pa.array(index)) for array in arrays]
    assert equal(read(written(pieces), kinds), expected)


@given(kinds_lists, st.integers(0, 200), st.booleans(), seeds)
def test_a_gather_by_mask_is_arrows_filter(kinds, rows, nulls, seed):
    rng = np.random.default_rng(seed)
    arrays = [random_array(kind, rows, nulls, rng) for kind in kinds]
    mask = rng.random(rows) < rng.random()
    index = kernels.mask_to_index(mask)
    table, pieces = ColumnTable(len(kinds)), Pieces(len(kinds))
    table.fill([describe(array) for array in arrays])
    pieces.set(table, len(index), 0, index.ctypes.data)
    assert equal(read(written(pieces), kinds), [array.filter(pa.array(mask)) for array in arrays])


@given(st.integers(1, 300), st.integers(1, 5), seeds)
def test_the_parts_of_a_partition_hold_the_rows_of_their_key_groups(rows, destinations, seed):
    rng = np.random.default_rng(seed)
    kinds = [pa.string(), pa.int32()]
    arrays = [random_array(kind, rows, True, rng) for kind in kinds]
    table, pieces = ColumnTable(2), Pieces(2)
    table.fill([describe(array) for array in arrays])
    groups = rng.integers(0, destinations, 128)
    partitioner = kernels.Partitioner(groups.tolist(), destinations)
    index, counts = partitioner.by_key(table, [(0, kernels.BYTES)], rows)
    keys = arrays[0].to_pylist()
    hashes = [NULL_HASH if key is None else kernels.hash_bytes(key.encode()) for key in keys]
    wanted = np.array([groups[kernels.key_group(value)] for value in hashes])
    at = 0
    for destination, count in enumerate(counts):
        pieces.set(table, count, 0, partitioner.index_address + 4 * at)
        expected = [array.filter(pa.array(wanted == destination)) for array in arrays]
        assert equal(read(written(pieces), kinds), expected)
        at += count
    assert at == rows == len(index)


def test_the_header_lies_where_the_layout_says():
    values = np.arange(3, dtype=np.int64)
    table, pieces = ColumnTable(1), Pieces(1)
    table.fill([(8, 0, 0, 0, values.ctypes.data, 0)])
    pieces.set(table, 3)
    block = written(pieces)
    head = struct.unpack_from("<IHHQqQQII", block.array)
    assert head == (0x424D554A, 1, 1, SCHEMA, 3, block.nbytes, PLAN, 0, 64)
    assert struct.unpack_from("<QQQII", block.array, 64) == (0, 0, 128, 8, 0)
    assert block.nbytes == 192 and bytes(block.array[128:]) == values.tobytes() + bytes(40)


def test_a_prepared_block_is_filled_in_place():
    widths, rows = (8, 1, 4), 37
    block = Block(prepared_size(widths, rows))
    assert prepare(block.address, block.nbytes, widths, rows, SCHEMA, PLAN) == block.nbytes
    opened, columns = open_columns(block.address, block.nbytes, SCHEMA, 3)
    assert opened == rows and [column[0] for column in columns] == list(widths)
    ends = [column[4] + rows * column[0] for column in columns]
    starts = [column[4] for column in columns[1:]] + [block.address + block.nbytes]
    assert all(end <= start for end, start in zip(ends, starts, strict=True))
    with pytest.raises(ValueError, match="in 64 bytes"):
        prepare(block.address, 64, widths, rows, SCHEMA)


def test_data_past_two_gigabytes_gets_wide_offsets():
    offsets = np.array([0, 1 << 30], np.int32)
    index = np.zeros(2, np.uint32)
    table, pieces = ColumnTable(1), Pieces(1)
    table.fill([(0, 0, 0, 0, offsets.ctypes.data, offsets.ctypes.data)])
    pieces.set(table, 1, 0, index.ctypes.data)
    assert pieces.measure() == 64 + 64 + 64 + (1 << 30)
    pieces.set(table, 2, 0, index.ctypes.data)  # three int64 offsets still take one line of 64 bytes
    assert pieces.measure() == 64 + 64 + 64 + (2 << 30)
    assert struct.unpack("<QQQII", bytes(kernels.ffi.buffer(pieces._slots)))[4] == 1


@pytest.mark.parametrize(
    ("rows", "first", "columns"),
    [(-1, 0, [8]), (1, -1, [8]), (1 << 61, 0, [16]), (0, 0, None)],
    ids=["negative rows", "negative first", "too many bytes", "no pieces"],
)
def test_pieces_that_cannot_be_are_refused_when_measured(rows, first, columns):
    table, pieces = ColumnTable(1), Pieces(1)
    if columns is None:
        pieces.set_many([])
    else:
        table.fill([(columns[0], 0, 0, 0, 64, 0)])
        pieces.set(table, rows, first)
    with pytest.raises(ValueError, match="jumbo tuple"):
        pieces.measure()


def test_pieces_of_different_widths_are_refused():
    narrow, wide, pieces = ColumnTable(1), ColumnTable(1), Pieces(1)
    narrow.fill([(4, 0, 0, 0, 64, 0)])
    wide.fill([(8, 0, 0, 0, 64, 0)])
    pieces.set_many([(narrow.address, 0, 0, 1), (wide.address, 0, 0, 1)])
    with pytest.raises(ValueError, match="differ in widths"):
        pieces.measure()


@settings(max_examples=400)
@given(kinds_lists, st.integers(0, 60), seeds, st.data())
def test_damaged_bytes_are_refused_or_stay_inside(kinds, rows, seed, data):
    rng = np.random.default_rng(seed)
    arrays = [random_array(kind, rows, bool(rng.random() < 0.5), rng) for kind in kinds]
    table, pieces = ColumnTable(len(kinds)), Pieces(len(kinds))
    table.fill([describe(array) for array in arrays])
    pieces.set(table, rows)
    block = written(pieces)
    length = data.draw(st.sampled_from([8, 4, 2, 1]))
    at = data.draw(st.integers(0, block.nbytes - length))
    value = data.draw(st.integers(0, 2 ** (8 * length) - 1) | st.sampled_from([0, 64, 2 ** (8 * length - 1)]))
    block.array[at : at + length] = np.frombuffer(value.to_bytes(length, "little"), np.uint8)
    block.nbytes = data.draw(st.sampled_from([block.nbytes, block.nbytes - 1, 64, 0]))
    opened = ColumnTable(len(kinds))
    widths = tuple(describe(array)[0] for array in arrays)
    try:
        opened_rows = opened.open(block.address, block.nbytes, SCHEMA)
        opened.verify(opened_rows, widths)
    except (BrokenError, SchemaError):
        return
    for array in read(block, [pa.binary() if kind in VARIABLE else kind for kind in kinds]):
        assert len(array) == opened_rows and array.to_pylist() is not None


def test_another_schema_is_told_from_damage():
    block = Block(prepared_size((8,), 1))
    prepare(block.address, block.nbytes, (8,), 1, SCHEMA)
    with pytest.raises(SchemaError, match="same plan"):
        open_columns(block.address, block.nbytes, SCHEMA + 1, 1)
    block.array[0] ^= 1
    with pytest.raises(BrokenError, match="header"):
        open_columns(block.address, block.nbytes, SCHEMA, 1)
    with pytest.raises(ValueError, match="multiple of 8"):
        open_columns(block.address + 4, block.nbytes - 4, SCHEMA, 1)


def test_verify_compares_the_widths_with_the_schemas():
    block = Block(prepared_size((8, 4), 1))
    prepare(block.address, block.nbytes, (8, 4), 1, SCHEMA)
    table = ColumnTable(2)
    assert table.open(block.address, block.nbytes, SCHEMA) == 1
    table.verify(1, (8, 4))
    with pytest.raises(BrokenError, match="bytes wide"):
        table.verify(1, (8, 0))


@pytest.mark.parametrize(
    ("most", "nbytes", "validity"),
    [(15, 192, 0), (512, 2304, 2240)],
    ids=["offsets end the block", "validity ends the block"],
)
def test_rows_that_end_one_value_past_the_block_are_refused(most, nbytes, validity):
    block = Block(nbytes)
    block.array[:] = 0
    for rows in (most, most + 1):
        struct.pack_into("<IHHQqQQII", block.array, 0, 0x424D554A, 1, 1, SCHEMA, rows, nbytes, PLAN, 0, 64)
        struct.pack_into("<QQQII", block.array, 64, validity, 128, 128, 0, 0)
        if rows == most:
            assert open_columns(block.address, nbytes, SCHEMA, 1)[0] == most
        else:
            with pytest.raises(BrokenError):
                open_columns(block.address, nbytes, SCHEMA, 1)
    struct.pack_into("<QQQII", block.array, 64, validity, 64, 128, 0, 0)
    struct.pack_into("<q", block.array, 16, 1)
    with pytest.raises(BrokenError):  # buffers never lie over the column table
        open_columns(block.address, nbytes, SCHEMA, 1)
