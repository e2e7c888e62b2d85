"""Columns and pieces as C sees them: measuring, writing, laying out and opening jumbo tuples at addresses.

Describes memory and never owns it: whoever passes an address keeps it alive until the call returns. Knows no
schema, no NumPy and no Arrow.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from struct import Struct
from typing import Any

from actorstream.errors import BrokenError, SchemaError
from actorstream.native._core import ffi, lib

#: The fields of `as_column`: (width, wide, first, validity, data, offsets), the last three addresses or 0. `width`
#: is bytes a value, or 0 for a variable column; `wide` is 1 if its offsets are int64; row 0 is value `first` of
#: the buffers.
Column = tuple[int, int, int, int, int, int]

_COLUMN = "IIqQQQ"
_ONE = Struct("<" + _COLUMN)
_PIECE = Struct("<QQqq")
_SLOT_BYTES = 32


@lru_cache(maxsize=256)
def _columns_struct(columns: int) -> Struct:
    return Struct("<" + _COLUMN * columns)


@lru_cache(maxsize=256)
def _width_array(widths: tuple[int, ...]) -> Any:
    return ffi.new("uint32_t[]", widths)


class ColumnTable:
    """The descriptors of one batch's columns, to be filled again and again by one thread at a time.

    `address` is that of the descriptors (for `Pieces`), `pointer` the same for C calls.
    """

    __slots__ = ("_buffer", "_memory", "_struct", "address", "columns", "pointer")

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self._memory = ffi.new("as_column[]", max(columns, 1))
        self._buffer = ffi.buffer(self._memory)
        self._struct = _columns_struct(columns)
        self.pointer = ffi.cast("as_column *", self._memory)
        self.address = int(ffi.cast("uintptr_t", self._memory))

    def fill(self, columns: Sequence[Column]) -> None:
        """Describes `columns`. Raises `struct.error` if they are more, fewer or malformed."""
        self._struct.pack_into(self._buffer, 0, *chain.from_iterable(columns))

    def fill_one(self, column: Column) -> None:
        """`fill` of a table with one column, in a third of the time."""
        self._struct.pack_into(self._buffer, 0, *column)

    def fill_from(self, table: ColumnTable, first: int, own: Iterable[tuple[int, Column]]) -> None:
        """Describes the columns of another table from row `first` on; instead of them, or behind them, those of `own`, each
        with its place."""
        lib.as_columns_from(table.pointer, table.columns, first, self.pointer)
        for place, column in own:
            _ONE.pack_into(self._buffer, _ONE.size * place, *column)

    def open(self, address: int, nbytes: int, schema: int) -> int:
        """Describes the jumbo tuple at `address` (a block of `nbytes` bytes) and returns its rows.

        Costs no Python per column. Raises `SchemaError` if the block has another schema fingerprint,
        `BrokenError` if its bytes are damaged. Bytes from outside the program must pass `verify` before a value is
        read.
        """
        return _open(address, nbytes, schema, self.columns, self.pointer)

    def verify(self, rows: int, widths: tuple[int, ...]) -> None:
        """O(rows). Raises `BrokenError` unless widths are `widths` (0: variable) and offsets stay inside."""
        if len(widths) != self.columns:
            raise ValueError(f"column table: {len(widths)} widths for {self.columns} columns")
        if lib.as_jumbo_verify(self.pointer, self.columns, rows, _width_array(widths)) != lib.AS_OK:
            raise BrokenError(
                f"jumbo tuple of {rows} rows: its columns are not {widths} bytes wide (0: variable), or "
                "offsets run backwards; the sender is of another version or the bytes were damaged on the way"
            )

    def tuples(self) -> list[Column]:
        """The descriptors as Python tuples."""
        values = self._struct.unpack_from(self._buffer)
        return [values[at : at + 6] for at in range(0, len(values), 6)]  # type: ignore[misc]


class Pieces:
    """Runs and selections of rows of one or several column tables: one jumbo tuple, in a single copy.

    `set` or `set_many`, then `measure`, then `write`; then again. One thread at a time.
    """

    __slots__ = ("_buffer", "_capacity", "_pieces", "_slots", "columns", "count")

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.count = 0
        self._slots = ffi.new("char[]", max(columns, 1) * _SLOT_BYTES)
        self._reserve(4)

    def _reserve(self, capacity: int) -> None:
        self._capacity = capacity
        self._pieces = ffi.new("as_piece[]", capacity)
        self._buffer = ffi.buffer(self._pieces)

    def set(self, table: ColumnTable, rows: int, first: int = 0, index: int = 0) -> None:
        """One piece: rows first .. first + rows - 1 of `table`.

        With `index`, the address of `rows` uint32 row numbers relative to `first`: those rows.
        """
        _PIECE.pack_into(self._buffer, 0, table.address, index, first, rows)
        self.count = 1

    def set_many(self, pieces: Sequence[tuple[int, int, int, int]]) -> None:
        """Several pieces, each (address of a column table, address of an index or 0, first, rows)."""
        count = len(pieces)
        if count > self._capacity:
            self._reserve(2 * count)
        for number, piece in enumerate(pieces):
            _PIECE.pack_into(self._buffer, number * 32, *piece)
        self.count = count

    def measure(self) -> int:
        """Bytes that writing the pieces takes, a multiple of 64.

        Raises `ValueError` if they do not describe columns of the same widths, or more than 2^62 bytes.
        """
        nbytes: int = lib.as_jumbo_measure(self._pieces, self.count, self.columns, self._slots)
        if nbytes == 0:
            raise _bad_measure(f"{self.count} pieces of {self.columns} columns")
        return nbytes

    def write(self, address: int, nbytes: int, schema: int, plan: int = 0, *, away: bool = False) -> None:
        """Writes what was measured to `nbytes` bytes at `address` (a multiple of 8; of 64 for Arrow).

        away: another core reads the tuple first; where it shares no cache with this one, large columns go past the caches.

        Releases the GIL. Raises `ValueError` if the pieces have changed since `measure`, and never writes
        outside.
        """
        out = ffi.cast("uint8_t *", address)
        if lib.as_jumbo_write(
            out, nbytes, self._slots, self._pieces, self.count, self.columns, schema, plan, away
        ):
            raise ValueError(
                f"jumbo tuple: {self.count} pieces do not fit {nbytes} bytes at {address:#x} as measured; "
                "measure and write must see the same columns, and the address must be a multiple of 8"
            )


def _bad_measure(what: str) -> ValueError:
    reason = {
        errno.EOVERFLOW: "take more than 2^62 bytes",
        errno.ENOSPC: "do not fit",
    }.get(ffi.errno, "are none, differ in widths, or have negative sizes")
    return ValueError(f"jumbo tuple: {what} {reason}")


def _open(address: int, nbytes: int, schema: int, columns: int, out: Any) -> int:
    rows = ffi.new("int64_t *")
    status = lib.as_jumbo_open(ffi.cast("uint8_t *", address), nbytes, schema, columns, out, rows)
    if status == lib.AS_OK:
        return rows[0]  # type: ignore[no-any-return]
    if status == lib.AS_E_STALE:
        raise SchemaError(
            f"jumbo tuple at {address:#x}: its schema is not {schema:#018x}, the one of this end; "
            "both ends of a channel must run the same plan"
        )
    if status == lib.AS_E_CORRUPT:
        raise BrokenError(
            f"jumbo tuple at {address:#x} ({nbytes} bytes): header, bounds or offsets are wrong"
        )
    raise ValueError(f"jumbo tuple: address {address:#x} must be a multiple of 8 and not 0")


def open_columns(address: int, nbytes: int, schema: int, columns: int) -> tuple[int, list[Column]]:
    """Rows and column descriptors of the jumbo tuple at `address`; raises as `ColumnTable.open` does."""
    table = ColumnTable(columns)
    rows = table.open(address, nbytes, schema)
    return rows, table.tuples()


def prepare(address: int, nbytes: int, widths: tuple[int, ...], rows: int, schema: int, plan: int = 0) -> int:
    """Lays out an empty jumbo tuple in `nbytes` bytes at `address`, to be filled; returns the bytes used.

    `open_columns` says where the values go. Raises `ValueError` if it does not fit.
    """
    used: int = lib.as_jumbo_prepare(
        ffi.cast("uint8_t *", address), nbytes, _width_array(widths), len(widths), rows, schema, plan
    )
    if used == 0:
        raise _bad_measure(f"{rows} rows of columns {widths} bytes wide, in {nbytes} bytes at {address:#x},")
    return used
