"""Lookups from key columns to the rows of a table that does not change; include/lookup.h says how they work.

Knows columns as addresses only. A `Lookup` is read-only once it is made: any thread may ask it.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.pieces import Column, ColumnTable

RowNumbers = npt.NDArray[np.uint32]

#: Where there is no row.
NONE = 2**32 - 1
#: Added to a table column's kind (kernels.SIGNED or UNSIGNED): keys with the top bit set equal nothing. For int64 keys
#: that are compared with uint64 ones, or the other way round.
POSITIVE: int = lib.AS_LOOKUP_POSITIVE
MOST_COLUMNS: int = lib.AS_LOOKUP_COLUMNS
MODES: dict[int, str] = {
    lib.AS_LOOKUP_DENSE: "dense",
    lib.AS_LOOKUP_NUMBERS: "numbers",
    lib.AS_LOOKUP_TEXT: "text",
    lib.AS_LOOKUP_ROWS: "rows",
}
_POINTER = ffi.typeof("uint32_t *")
_NULL, _cast, _match = ffi.NULL, ffi.cast, lib.as_lookup_match
_HUGE = 1 << 22
"""Bytes from which on a table asks for huge pages: a miss then costs no page walk."""


class Lookup:
    """The rows of a table by its key columns.

    Args:
        columns: descriptors of the key columns of `rows` rows; their memory must outlive the lookup.
        hows: how each is read (kernels.SIGNED, UNSIGNED, FLOAT, BYTES; the first two also plus `POSITIVE`).

    Attributes:
        rows: of the table.
        keys: distinct ones among them; rows with a null key are not counted and never found.
        unique: no two rows have the same key.
        mode: "dense", "numbers", "text" or "rows".
        nbytes: what it takes besides the table's own columns.
    """

    __slots__ = ("_lookup", "_memory", "columns", "keys", "mode", "most", "nbytes", "rows", "unique")

    def __init__(self, columns: Sequence[Column], hows: Sequence[int], rows: int) -> None:
        table = ColumnTable(len(columns))
        table.fill(columns)
        self._lookup = ffi.new("as_lookup *")
        kinds = ffi.new("uint32_t[]", list(hows))
        if len(kinds) != len(columns) or lib.as_lookup_measure(
            self._lookup, table.pointer, kinds, len(columns), rows
        ):
            raise ValueError(
                f"lookup: {rows} rows of {len(columns)} key columns {[column[0] for column in columns]} bytes wide "
                f"cannot be read as kinds {list(hows)}; allowed: 1 to {MOST_COLUMNS} columns, integers of 1, 2, 4, 8 "
                "bytes (1, 2), floats of 4, 8 (3), variable bytes (4), up to 2^32 - 2 rows"
            )
        self.columns, self.rows = len(columns), rows
        self.nbytes: int = self._lookup.bytes
        self._memory = _memory(self.nbytes)
        lib.as_lookup_init(self._lookup, _aligned(self._memory))
        self.keys: int = self._lookup.keys
        self.unique: bool = self._lookup.duplicates == 0
        self.most: int = (
            1 if self.unique else int(np.frombuffer(ffi.buffer(self._lookup.count, 4 * rows), "u4").max())
        )
        """Rows of the table that have one key, at the most."""
        self.mode = MODES[self._lookup.mode]

    def find(self, table: ColumnTable, hows: Any, rows: int, index: RowNumbers | None = None) -> RowNumbers:
        """The first table row with the key of each row, NONE where there is none; uint32, shape (rows,).

        table: the key columns, as for the table; with `index` their rows at these numbers, else their first `rows`.
        hows: `kinds(...)` of how they are read. ValueError: columns or kinds that do not fit the table's, or an index
        with several columns.
        """
        found: RowNumbers = np.empty(rows, np.uint32)
        self._checked(
            lib.as_lookup_find(self._lookup, table.pointer, hows, _numbers(index), rows, _numbers(found)),
            rows,
        )
        return found

    def match(
        self, table: ColumnTable, hows: Any, rows: int, index: RowNumbers | None = None
    ) -> tuple[RowNumbers | None, RowNumbers]:
        """`find` without the rows that have none: (left, right), uint32, one each for a row that has one: its number
        (index[i] or i), and the table's first row. left is None if all rows have one."""
        both: RowNumbers = np.empty(2 * rows, np.uint32)
        left = _cast(_POINTER, address_of(both))
        given = _NULL if index is None else _cast(_POINTER, address_of(index))
        count = _match(self._lookup, table.pointer, hows, given, rows, left, left + rows)
        if count == rows:
            return None, both[rows:]
        if count < 0:
            self._checked(count, rows)
        return both[:count], both[rows : rows + count]

    @property
    def address(self) -> int:
        """Of the `as_lookup`, which lives as long as this object."""
        return int(_cast("uintptr_t", self._lookup))

    def pairs(self, found: RowNumbers, *, outer: bool = False) -> int:
        """How many pairs `expand` makes."""
        return lib.as_lookup_pairs(self._lookup, _numbers(found), len(found), outer)  # type: ignore[no-any-return]

    def expand(
        self, found: RowNumbers, *, outer: bool = False, most: int = 1 << 20
    ) -> Iterator[tuple[RowNumbers, RowNumbers]]:
        """Pairs (i, table row) of all rows of each key that `find` found, in both orders; with `outer` also (i, NONE)
        where there is none. At most `most` pairs at a time."""
        left_of = self.pairs(found, outer=outer)
        cursor = ffi.new("int64_t[2]")
        while left_of:
            count = min(left_of, most)
            left: RowNumbers = np.empty(count, np.uint32)
            right: RowNumbers = np.empty(count, np.uint32)
            lib.as_lookup_expand(
                self._lookup,
                _numbers(found),
                len(found),
                outer,
                cursor,
                count,
                _numbers(left),
                _numbers(right),
            )
            left_of -= count
            yield left, right

    def _checked(self, count: int, rows: int) -> int:
        if count < 0:
            raise ValueError(
                f"lookup of {rows} rows: the key columns or their kinds are not those of the table's "
                f"{self.columns}; allowed: the same kinds (integers of any width), an index for one column only"
            )
        return count


def address_of_kinds(hows: Any) -> int:
    """Where what `kinds` has made lies, for as long as that lives."""
    return int(_cast("uintptr_t", hows))


def kinds(hows: Sequence[int]) -> Any:
    """How key columns are read, for `find` and `match`: made once."""
    return ffi.new("uint32_t[]", list(hows))


def _numbers(array: RowNumbers | None) -> Any:
    return _NULL if array is None else _cast(_POINTER, address_of(array))


def _memory(nbytes: int) -> Any:
    """Memory for a lookup, 64 bytes more than it needs."""
    if nbytes < _HUGE:
        return np.empty(nbytes + 64, np.uint8)
    memory = mmap.mmap(-1, nbytes + 64)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(memory, np.uint8)


def _aligned(memory: np.ndarray) -> Any:
    return ffi.cast("void *", (address_of(memory) + 63) & ~63)
