"""Key hashes, key groups, partitions and masks over columns; include/kernels.h defines the hash.

The functions keep nothing and are safe from any thread; a `Partitioner` reuses its buffers and belongs to one
thread at a time. Knows no schema and no routes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.pieces import ColumnTable
from actorstream.native.status import raise_status

#: How the values of a key column are read. Integers, booleans, datetimes and dictionary codes that are equal
#: hash the same whatever their width; floats hash their float64.
SIGNED: int = lib.AS_HASH_SIGNED
UNSIGNED: int = lib.AS_HASH_UNSIGNED
FLOAT: int = lib.AS_HASH_FLOAT
BYTES: int = lib.AS_HASH_BYTES

Hashes = npt.NDArray[np.uint64]
RowNumbers = npt.NDArray[np.uint32]


def hash_int(value: int) -> int:
    """Hash of an integer, boolean, datetime or dictionary code: -2^63 .. 2^64 - 1."""
    return lib.as_hash_int64(value if value < 1 << 63 else value - (1 << 64))  # type: ignore[no-any-return]


def hash_bytes(value: bytes) -> int:
    """Hash of bytes, or of a string's UTF-8."""
    return lib.as_hash_bytes(value, len(value))  # type: ignore[no-any-return]


def hash_buffer(value: memoryview) -> int:
    """As `hash_bytes`, of bytes that lie in memory one after the other."""
    return lib.as_hash_bytes(ffi.from_buffer(value), value.nbytes)  # type: ignore[no-any-return]


def combine(hash_: int, following: int) -> int:
    """Hash of several key columns: that of the columns so far, and that of the following one."""
    return lib.as_hash_combine(hash_, following)  # type: ignore[no-any-return]


def key_group(hash_: int, groups: int = 128) -> int:
    """Key group of a hash, 0 .. groups - 1."""
    return lib.as_key_group(hash_, groups)  # type: ignore[no-any-return]


def hash_columns(table: ColumnTable, keys: Sequence[tuple[int, int]], rows: int) -> Hashes:
    """Hashes of rows 0 .. rows - 1 over `keys`, each (number of the column in `table`, SIGNED … BYTES).

    Raises `ValueError` for no keys, or a column whose width cannot be read that way.
    """
    out: Hashes = np.empty(rows, np.uint64)
    _hash_into(table, keys, rows, ffi.from_buffer("uint64_t[]", out))
    return out


def _hash_into(table: ColumnTable, keys: Sequence[tuple[int, int]], rows: int, out: Any) -> None:
    if not keys:
        raise ValueError("key hash: no key columns; name at least one")
    for number, (column, how) in enumerate(keys):
        if lib.as_hash_column(_column(table, column), how, rows, out, number > 0) != lib.AS_OK:
            raise _bad_key(table, column, how, rows)


def _column(table: ColumnTable, column: int) -> Any:
    if not 0 <= column < table.columns:
        raise ValueError(f"key hash: column {column} of {table.columns}")
    return table.pointer + column


def _bad_key(table: ColumnTable, column: int, how: int, rows: int) -> ValueError:
    width = table.tuples()[column][0]
    return ValueError(
        f"key hash: column {column} of width {width} cannot be hashed as kind {how} over {rows} rows; "
        "allowed: integers of 1, 2, 4, 8 bytes (1, 2), floats of 4, 8 (3), variable or fixed bytes (4)"
    )


def key_groups(hashes: Hashes, groups: int = 128) -> RowNumbers:
    """Key group of each hash, 0 .. groups - 1."""
    hashes = np.ascontiguousarray(hashes, np.uint64)
    out: RowNumbers = np.empty(len(hashes), np.uint32)
    lib.as_key_groups(
        ffi.from_buffer("uint64_t[]", hashes), len(hashes), groups, ffi.from_buffer("uint32_t[]", out)
    )
    return out


def mask_to_index(mask: npt.NDArray[np.bool_] | npt.NDArray[np.uint8]) -> RowNumbers:
    """Row numbers where `mask` (one byte a row) is not zero, ascending."""
    if mask.dtype.itemsize != 1 or mask.ndim != 1:
        raise ValueError(f"mask: must be one dimension of booleans, is {mask.dtype} of shape {mask.shape}")
    marks = np.ascontiguousarray(mask)
    out: RowNumbers = np.empty(len(mask), np.uint32)
    kept = lib.as_mask_to_index(
        ffi.from_buffer("uint8_t[]", marks), len(marks), ffi.from_buffer("uint32_t[]", out)
    )
    if kept < 0:
        raise ValueError(f"mask: {len(mask)} rows are more than 2^32 - 1")
    return out[:kept]


class Partitioner:
    """Groups the rows of a batch by destination, stably: key → hash → key group → `destinations[group]`.

    Each method returns (index, counts): row numbers in uint32, those of destination 0 first, ascending within
    each destination, and how many each has. `index` is overwritten by the next call; `index_address` is where
    it lies, so that destination d is `Pieces.set(table, counts[d], 0, index_address + 4 * sum(counts[:d]))`.
    """

    __slots__ = (
        "_capacity",
        "_counts",
        "_groups",
        "_hash",
        "_index",
        "_index_pointer",
        "_table",
        "destinations",
        "index_address",
    )

    def __init__(self, table: Sequence[int], destinations: int) -> None:
        """`table[group]` is the destination (0 .. destinations - 1) of each key group."""
        if not len(table) or destinations < 1 or not all(0 <= to < destinations for to in table):
            raise ValueError(
                f"partition: the table of {len(table)} key groups must not be empty and name destinations "
                f"0 .. {destinations - 1} only"
            )
        self.destinations = destinations
        self._groups = len(table)
        self._table = ffi.new("uint32_t[]", [int(to) for to in table])
        self._counts = ffi.new("int64_t[]", destinations)
        self._reserve(64)  # of very many partitioners most get few rows

    def _reserve(self, rows: int) -> None:
        self._capacity = rows
        self._index: RowNumbers = np.empty(rows, np.uint32)
        self._index_pointer = ffi.from_buffer("uint32_t[]", self._index)
        self._hash: Any = None
        self.index_address = int(ffi.cast("uintptr_t", self._index_pointer))

    def _answer(self, status: int, rows: int) -> tuple[RowNumbers, list[int]]:
        if status == lib.AS_E_MEMORY:
            raise_status(status, f"partition of {rows} rows ({4 * rows} bytes)")
        if status != lib.AS_OK:
            raise ValueError(
                f"partition of {rows} rows: a destination is not in 0 .. {self.destinations - 1}, "
                "or rows are negative or more than 2^32 - 1"
            )
        return self._index[:rows], ffi.unpack(self._counts, self.destinations)

    def by_key(
        self, table: ColumnTable, keys: Sequence[tuple[int, int]], rows: int
    ) -> tuple[RowNumbers, list[int]]:
        """Rows 0 .. rows - 1 of `table` by the hash of `keys` (as for `hash_columns`)."""
        if rows > self._capacity:
            self._reserve(2 * rows)
        if len(keys) != 1:
            if self._hash is None:
                self._hash = ffi.new("uint64_t[]", self._capacity)
            _hash_into(table, keys, rows, self._hash)
            return self._by_hash(self._hash, rows)
        column, how = keys[0]
        status = lib.as_partition_key(
            _column(table, column),
            how,
            rows,
            self._table,
            self._groups,
            self.destinations,
            self._index_pointer,
            self._counts,
        )
        if status == lib.AS_E_ARGUMENT:
            raise _bad_key(table, column, how, rows)
        return self._answer(status, rows)

    def by_hash(self, hashes: Hashes) -> tuple[RowNumbers, list[int]]:
        """By hashes that were made before."""
        hashes = np.ascontiguousarray(hashes, np.uint64)
        if len(hashes) > self._capacity:
            self._reserve(2 * len(hashes))
        return self._by_hash(ffi.from_buffer("uint64_t[]", hashes), len(hashes))

    def _by_hash(self, hashes: Any, rows: int) -> tuple[RowNumbers, list[int]]:
        status = lib.as_partition_hash(
            hashes, rows, self._table, self._groups, self.destinations, self._index_pointer, self._counts
        )
        return self._answer(status, rows)

    def by_rows(self, destination: RowNumbers) -> tuple[RowNumbers, list[int]]:
        """By the destination of each row, as a user's function or a range gives it.

        Raises `ValueError` if one is out of range.
        """
        destination = np.ascontiguousarray(destination)
        if destination.dtype != np.uint32:
            if len(destination) and (destination.min() < 0 or destination.max() >= self.destinations):
                return self._answer(lib.AS_E_ARGUMENT, len(destination))
            destination = destination.astype(np.uint32)
        rows = len(destination)
        if rows > self._capacity:
            self._reserve(2 * rows)
        status = lib.as_partition_rows(
            ffi.from_buffer("uint32_t[]", destination),
            rows,
            self.destinations,
            self._index_pointer,
            self._counts,
        )
        return self._answer(status, rows)
