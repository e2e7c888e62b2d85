"""Layout of jumbo tuples whose columns are all fixed-width and without nulls: known from the schema and the rows alone,
so that reading one needs no column table, and one row is a single struct.

  0    magic u32 | version u16 | columns u16 | schema u64 | rows i64 | total bytes u64 | plan u64
  40   flags u32 | column table offset u32 (64)
  64   column table, 32 bytes a column: validity u64 (0) | offsets u64 (0) | data u64 | width u32 | wide u32 (0)
  ...  data of each column, 64-byte aligned
(include/jumbo.h of the core has the general case; tests/unit/events/test_layout.py holds the two together.)
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from actorstream.errors import BrokenError, SchemaError
from actorstream.events.event_codec import rows_of
from actorstream.events.fields import STRUCT_CODES, Field, Kind
from actorstream.events.values import EPOCH, YEARS, code_of, microseconds

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

MAGIC = 0x424D554A
VERSION = 1
ALIGNMENT = 64
HEADER = Struct("<IHHQqQQII")
_START = Struct("32s")
"""A header up to `total bytes`: all of it that is checked."""
_SLOT = Struct("<QQQII")
_KEPT = 256

Slot = tuple[int, int, int, int, int]
"""An entry of the column table: offsets of validity (0: no nulls), offsets (0: fixed width) and data; width, wide."""


def aligned(nbytes: int) -> int:
    """`nbytes` rounded up to the alignment of buffers."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


class BlockLayout(NamedTuple):
    """Of a number of rows: bytes in all, header and column table, the dtypes, and of each column its name, which of the
    dtypes it has, and where its values are among values of that dtype."""

    total: int
    head: np.ndarray
    dtypes: tuple[Any, ...]
    columns: tuple[tuple[str, int, slice], ...]


class FixedLayout:
    """Where the columns of `schema` (system columns included) lie, for any number of rows.

    `pack` and `unpack` write and read the jumbo tuple of one event at an address: 1 µs each, `latency` benchmark.
    """

    __slots__ = (
        "_checked",
        "_event",
        "_expected",
        "_getter",
        "_head",
        "_kept",
        "_one",
        "_pack",
        "_prepared",
        "_read",
        "_unpack",
        "_write",
        "one_bytes",
        "schema",
        "start",
    )

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.start = aligned(ALIGNMENT + _SLOT.size * len(schema.fields))
        self._kept: dict[int, tuple[tuple[int, ...], int]] = {}
        self._checked: dict[tuple[bytes, ...], tuple[int, int]] = {}
        """The starts of headers that were right -> what `read_header` returned."""
        user = schema.user.fields
        codes = [_code(field) for field in user]
        cells = "".join(f"{code}{ALIGNMENT - field.width}x" for code, field in zip(codes, user))
        self._head: dict[int, bytes] = {}
        self._prepared: dict[tuple[int, int], BlockLayout] = {}
        self._write = Struct(f"<{self.start}s{cells}")
        self._read = Struct(f"<IHHQqQ{self.start - 32}x{cells}")
        self._one = ctypes.c_char * self.offsets(1)[1]
        fingerprint, total = schema.fingerprint, self.offsets(1)[1]
        self._expected = (MAGIC, VERSION, len(schema.fields), fingerprint, 1, total)
        self._pack = [(i, packer) for i, field in enumerate(user) if (packer := _packer(field))]
        self._unpack = [(i, unpacker) for i, field in enumerate(user) if (unpacker := _unpacker(field))]
        self._getter = _getter(schema.user.names())
        self._event: Any = None
        self.one_bytes = total
        """Bytes of the jumbo tuple of one row."""

    def offsets(self, rows: int) -> tuple[tuple[int, ...], int]:
        """Offset of each column's data, and the bytes in all."""
        found = self._kept.get(rows)
        if found is None:
            at, places = self.start, []
            for field in self.schema.fields:
                places.append(at)
                at += aligned(field.width * rows)
            if len(self._kept) >= _KEPT:
                self._kept.clear()
            found = self._kept[rows] = (tuple(places), at)
        return found

    def prepared(self, rows: int, plan: int) -> BlockLayout:
        """What laying out `rows` rows again and again takes; kept."""
        found = self._prepared.get((rows, plan))
        if found is None:
            places, total = self.offsets(rows)
            dtypes: list[Any] = []
            columns = []
            for field, place in zip(self.schema.fields, places):
                if field.dtype not in dtypes:
                    dtypes.append(field.dtype)
                begin = place // field.width
                columns.append((field.name, dtypes.index(field.dtype), slice(begin, begin + rows)))
            if len(self._prepared) >= _KEPT:
                self._prepared.clear()
            found = BlockLayout(
                total, np.frombuffer(self.head(rows, plan), np.uint8), tuple(dtypes), tuple(columns)
            )
            self._prepared[rows, plan] = found
        return found

    def head(self, rows: int, plan: int) -> bytes:
        """Header and column table of a jumbo tuple."""
        places, total = self.offsets(rows)
        fields = self.schema.fields
        head = HEADER.pack(
            MAGIC, VERSION, len(fields), self.schema.fingerprint, rows, total, plan, 0, ALIGNMENT
        )
        table = b"".join(_SLOT.pack(0, 0, place, field.width, 0) for place, field in zip(places, fields))
        return (head.ljust(ALIGNMENT, b"\0") + table).ljust(self.start, b"\0")

    def check(self, data: Any) -> int:
        """The rows of the jumbo tuple that a block exports. SchemaError or BrokenError if it is not one of this layout."""
        nbytes = data.nbytes
        start = _START.unpack_from(data) if nbytes >= ALIGNMENT else ()
        found = self._checked.get(start)
        if found is None or found[1] > nbytes:
            rows, total = found = read_header(self.schema, data)
            if total != self.offsets(rows)[1]:
                raise _wrong(self.schema, rows, total, data)
            if len(self._checked) >= _KEPT:
                self._checked.clear()
            self._checked[start] = found
        return found[0]

    # -- one row ----

    def pack(self, address: int, event: Any, plan: int) -> None:
        """Writes the jumbo tuple of one event to `one_bytes` bytes at `address`. Any exception means that the event
        does not fit its columns: let the general path say why. Only for schemas without system columns."""
        head = self._head.get(plan)
        if head is None:
            head = self._head[plan] = self.head(1, plan)
        values = self._getter(event)
        if self._pack:
            values = list(values)
            for position, convert in self._pack:
                values[position] = convert(values[position])
        self._write.pack_into(self._one.from_address(address), 0, head, *values)

    def unpack(self, address: int) -> Any | None:
        """The event of a jumbo tuple of one row at `address`; None if it has more rows, or is not of this layout."""
        values = self._read.unpack_from(self._one.from_address(address))
        if values[:6] != self._expected:
            return None
        make = self._event
        if make is None:
            make = self._event = rows_of(self.schema).single
        if not self._unpack:
            return make(*values[6:])
        made = list(values[6:])
        for position, convert in self._unpack:
            made[position] = convert(made[position])
        return make(*made)


def read_header(schema: Schema, data: Any) -> tuple[int, int]:
    """(rows, bytes in all) of the jumbo tuple of `schema` that a block exports. SchemaError if it is of another schema,
    BrokenError if it is none or says that it is larger than the block."""
    nbytes = data.nbytes
    if nbytes < ALIGNMENT:
        raise BrokenError(f"not a jumbo tuple: {nbytes} bytes; a header alone has {ALIGNMENT}")
    head = HEADER.unpack_from(data)
    magic, version, columns, fingerprint, rows, total, _, _, _ = head
    if magic != MAGIC or version != VERSION:
        raise BrokenError(f"not a jumbo tuple: it begins with {magic:#x}, version {version}")
    if fingerprint != schema.fingerprint:
        raise SchemaError(
            f"a jumbo tuple has the schema {fingerprint:#018x}, this end expects {schema.name} "
            f"{schema.fingerprint:#018x}; both ends of a channel must run the same plan and the same Event classes"
        )
    if rows < 0 or columns != len(schema.fields) or total > nbytes:
        raise _wrong(schema, rows, total, data)
    return rows, total


def read_table(schema: Schema, data: Any) -> tuple[int, list[Slot]]:
    """Rows and column table of a jumbo tuple that this run wrote; other bytes need the core's checks."""
    rows, _ = read_header(schema, data)
    table = memoryview(data)[ALIGNMENT : ALIGNMENT + _SLOT.size * len(schema.fields)]
    return rows, list(_SLOT.iter_unpack(table))  # type: ignore[arg-type]


def _wrong(schema: Schema, rows: int, total: int, data: Any) -> BrokenError:
    return BrokenError(
        f"a jumbo tuple of {schema.name} ({len(schema.fields)} columns) says {rows} rows, {total} of {data.nbytes} bytes"
    )


def _code(field: Field) -> str:
    if field.categories:
        assert field.dtype is not None
        return field.dtype.char
    return STRUCT_CODES[field.kind]


def _getter(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """The values of an event's fields as a tuple. Names that no event can have come to no event."""
    from actorstream.events.schema import is_attribute

    attributes = "".join(f"event.{name}, " for name in names if is_attribute(name))
    return eval(f"lambda event: ({attributes})")  # type: ignore[no-any-return]


def _packer(field: Field) -> Callable[[Any], int] | None:
    if field.kind is Kind.BOOL:
        return _bool_byte
    if field.kind is Kind.DATETIME:
        return microseconds
    if field.kind is Kind.DICTIONARY:
        return lambda value: code_of(field, value)
    return None


def _bool_byte(value: Any) -> int:
    if value is True or value is False:
        return int(value)
    raise TypeError("not a bool")


def _unpacker(field: Field) -> Callable[[int], Any] | None:
    if field.kind is Kind.BOOL:
        return bool
    if field.kind is Kind.DATETIME:
        return _datetime_of
    if field.kind is Kind.DICTIONARY:
        return field.categories.__getitem__
    return None


def _datetime_of(micros: int) -> Any:
    from datetime import timedelta

    try:
        return EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise SchemaError(f"{micros} µs is outside {YEARS}") from None
