"""Jumbo tuples: the encoded bytes of a batch, in a block of an arena or on the heap, and how batches become them.

One copy in (`encode`, selections included), none out (`decode`). A block is kept alive by the views of its root array
and by nothing else. Jumbo tuples know nothing of channels.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
import numpy as np

from actorstream.errors import BrokenError, SchemaError
from actorstream.events.arrow import is_valid
from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.fields import Kind
from actorstream.events.layout import FixedLayout, read_table
from actorstream.events.schema import Schema
from actorstream.events.sending import piece
from actorstream.events.values import are_times
from actorstream.native.address import address_of
from actorstream.native.frames import Received
from actorstream.native.pieces import ColumnTable, Pieces

if TYPE_CHECKING:
    from actorstream.native.arena import Arena


class Holder(Protocol):
    """Where a jumbo tuple's bytes lie: a native Block, or a HeapBlock."""

    @property
    def address(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    def export(self) -> Any:
        """The bytes, read-only, as a buffer of Python that has `nbytes`. The block is used as long as any array over it."""


_BYTES = np.dtype(np.uint8)
_NOTHING: dict[Any, np.ndarray] = {}


class HeapBlock:
    """Bytes outside any arena, for networks, tests and edges inside a process."""

    __slots__ = ("_root", "address", "nbytes")

    def __init__(self, root: np.ndarray) -> None:
        self._root = root
        self.address: int = address_of(root)
        self.nbytes = len(root)

    @classmethod
    def allocate(cls, nbytes: int) -> HeapBlock:
        raw = np.empty(nbytes + 64, np.uint8)
        start = -address_of(raw) % 64
        return cls(raw[start : start + nbytes])

    def view(self) -> np.ndarray:
        return self._root

    def export(self) -> memoryview:
        return self._root.data.toreadonly()


class JumboTuple(msgspec.Struct, eq=False, gc=False):
    """One jumbo tuple in `block`. Making one reads nothing; header and columns are looked at when first needed.

    Attributes:
        block: the native Block (or HeapBlock) whose use this object holds.
        trusted: False for bytes from outside the run, whose every offset is checked before anything is read.
        size: `nbytes`, if it is known without the header; else 0.
    """

    block: Holder
    _rows: int = -1
    trusted: bool = True
    size: int = 0
    _address: int = 0
    _data: Any = None
    _typed: dict[Any, np.ndarray] = _NOTHING
    _table: ColumnTable | None = None
    _layout: Any = None

    # -- bytes ----

    @property
    def address(self) -> int:
        """Where the bytes begin in this process."""
        if self._address == 0:
            self._address = self.block.address
        return self._address

    def root(self) -> np.ndarray:
        """The block as read-only bytes."""
        return self._as(_BYTES)

    @property
    def nbytes(self) -> int:
        """Bytes of the jumbo tuple itself, from its header unless known."""
        if self.size == 0:
            self.size = int(self.root()[24:32].view(np.uint64)[0])
        return self.size

    @property
    def rows(self) -> int:
        """Rows in all, from the header unless known."""
        if self._rows < 0:
            self._rows = int(self.root()[16:24].view(np.int64)[0])
        return self._rows

    @property
    def fingerprint(self) -> int:
        """Schema fingerprint, from the header."""
        return int(self.root()[8:16].view(np.uint64)[0])

    def buffer(self) -> memoryview:
        """The bytes of the jumbo tuple, for a network or a file; zero-copy, read-only."""
        if len(self.root()) < 64:
            raise BrokenError(f"a jumbo tuple of {len(self.root())} bytes; a header alone has 64")
        return self.root()[: self.nbytes].data

    # -- columns ----

    def column(self, schema: Schema, position: int, first: int, rows: int) -> Column:
        """Rows first .. first + rows - 1 of column `position` of `schema`, zero-copy. SchemaError if the jumbo tuple is
        of another schema, BrokenError if it is damaged or has fewer rows."""
        layout = self._layout
        if layout is None:
            layout = self._open(schema)
        if first + rows > self._rows:
            raise BrokenError(f"rows {first} to {first + rows} of a jumbo tuple of {self._rows} rows")
        field = schema.fields[position]
        slot = layout[position]
        if type(slot) is int:
            begin = slot // field.width + first
            return Column(field, rows, None, self._as(field.dtype)[begin : begin + rows], None)
        validity, offsets_at, data_at, width, wide = slot
        if validity == 0 and width:
            begin = data_at // width + first
            return Column(field, rows, None, self._as(field.dtype)[begin : begin + rows], None)
        if validity and not field.nullable:
            raise BrokenError(f"field {field.name!r} has nulls in a jumbo tuple, but is not nullable")
        end, root = first + rows, self.root()
        bits = root[validity : validity + ((end + 7) >> 3)] if validity else None
        if width:
            values: np.ndarray = root[data_at : data_at + end * width].view(field.dtype)  # type: ignore[arg-type]
            return Column(field, rows, bits, values, None, first)
        size = 8 if wide else 4
        offsets = root[offsets_at : offsets_at + (end + 1) * size].view(np.int64 if wide else np.int32)
        return Column(field, rows, bits, root[data_at : data_at + int(offsets[end])], offsets, first)

    def _as(self, dtype: Any) -> np.ndarray:
        """The block as values of `dtype`, made once; columns are slices of it."""
        found = self._typed.get(dtype)
        if found is None:
            if self._typed is _NOTHING:
                self._typed = {}
            data = self._exported()
            found = self._typed[dtype] = np.frombuffer(data, dtype, data.nbytes // dtype.itemsize)
        return found

    def _exported(self) -> Any:
        """The buffer that the block exports, made once."""
        if self._data is None:
            self._data = self.block.export()
        return self._data

    def _open(self, schema: Schema) -> Any:
        """Checks the header, or all of what is not trusted. Returns where the columns are."""
        if not self.trusted:
            self.table(schema)
        elif schema.fixed:
            layout = schema._layout or layout_of(schema)
            self._rows = layout.check(self._exported())
            self._layout = layout.offsets(self._rows)[0]
        else:
            self._rows, self._layout = read_table(schema, self._exported())
        return self._layout

    def _leave_shared_memory(self) -> None:
        """Copies the bytes, since whoever wrote them could change them between the check and a later read."""
        data = np.frombuffer(self.buffer(), np.uint8)
        self.block = HeapBlock.allocate(len(data))
        self.block.view()[:] = data
        self._address, self._data, self._typed = 0, None, _NOTHING

    def _verify(self, schema: Schema, table: ColumnTable) -> None:
        """Of bytes from outside: offsets must lie inside, and values must be some. BrokenError if not."""
        table.verify(self._rows, schema.widths)
        base = self.address
        self._layout = [
            (validity and validity - base, offsets and offsets - base, data - base, width, wide)
            for width, wide, _, validity, data, offsets in table.tuples()
        ]
        try:
            self._verify_values(schema)
        except BrokenError:
            self._layout = None
            raise

    def _verify_values(self, schema: Schema) -> None:
        """Strings must be UTF-8, bools 0 or 1, codes those of categories, times such as a
        datetime can hold. BrokenError if not."""
        for position, field in enumerate(schema.fields):
            limit = 2 if field.kind is Kind.BOOL else len(field.categories)
            if limit:
                column = self.column(schema, position, 0, self._rows)
                codes = column.data.view(f"u{field.width}")
                if column.validity is not None:
                    codes = codes[column.valid()]
                wrong = len(codes) > 0 and codes.max() >= limit
            elif field.kind is Kind.DATETIME:
                column = self.column(schema, position, 0, self._rows)
                wrong = not are_times(column.data[column.first : column.first + self._rows], column.valid())
            elif field.kind is Kind.STRING:
                wrong = not is_valid(self.column(schema, position, 0, self._rows).arrow())
            else:
                continue
            if wrong:
                raise BrokenError(
                    f"a jumbo tuple of {schema.name}: field {field.name!r} has bytes that are no {field.kind.value}"
                )

    def table(self, schema: Schema) -> ColumnTable:
        """The descriptors of all columns for native code, row 0 being the jumbo tuple's."""
        if self._table is None:
            table = ColumnTable(len(schema.fields))
            if not self.trusted and type(self.block) not in (HeapBlock, Received):
                self._leave_shared_memory()
            rows = table.open(self.address, self.block.nbytes, schema.fingerprint)
            self._rows = rows
            if not self.trusted:
                self._verify(schema, table)
            self._table = table
        return self._table

    def event(self, schema: Schema, first: int) -> Any:
        """One event of a schema of fixed-width fields; the short way if the jumbo tuple has just one row."""
        if self.trusted and self._layout is None:
            event = layout_of(schema).unpack(self.address)
            if event is not None and first == 0:
                return event
        from actorstream.events.event_codec import rows_of

        values = [
            self.column(schema, position, first, 1).tolist()[0] for position in range(len(schema.user.fields))
        ]
        return rows_of(schema).single(*values)

    def __repr__(self) -> str:
        return f"JumboTuple({'?' if self._rows < 0 else self._rows} rows at {self.address:#x})"


def layout_of(schema: Schema) -> FixedLayout:
    """The layout of a schema whose columns are all fixed-width and without nulls; made once."""
    found = schema._layout
    if found is None:
        found = schema._layout = FixedLayout(schema)
    return found  # type: ignore[no-any-return]


class _Scratch(threading.local):
    """Each thread's reusable piece lists, by number of columns."""

    def __init__(self) -> None:
        self.pieces: dict[int, Pieces] = {}


_scratch = _Scratch()


def encode(
    batches: Sequence[Batch], arena: Arena | None, schema: Schema | int = 0, plan: int = 0
) -> JumboTuple:
    """One jumbo tuple of the rows of all batches, in one copy; selections are gathered straight into the block.

    arena: where; None: on the heap. schema: that of the edge, with its system columns (or the fingerprint of the
    batches' own schema; 0: the same). plan: fingerprint of the plan, written to the header.
    SchemaError: a batch is of another schema, lacks a system column, or has a value that does not fit its field.
    """
    if len(batches) == 1:
        only = batches[0]
        frame_schema = schema if isinstance(schema, Schema) else _own_schema(only, schema)
        if (
            only.rows == 1
            and only._events is not None
            and frame_schema.fixed
            and (frame_schema is only.schema or frame_schema == only.schema)
        ):
            made = _encode_event(only._events[0], arena, frame_schema, plan)
            if made is not None:
                return made
        wanted: Sequence[Batch] = batches
    else:
        if not batches:
            raise SchemaError("encode of no batches; allowed: at least one, of any number of rows")
        frame_schema = schema if isinstance(schema, Schema) else _own_schema(batches[0], schema)
        wanted = [batch for batch in batches if batch.rows] or batches[:1]
    count = len(frame_schema.fields)
    pieces = _scratch.pieces.get(count)
    if pieces is None:
        pieces = _scratch.pieces[count] = Pieces(count)
    parts = [piece(batch, frame_schema) for batch in wanted]
    if len(parts) == 1:
        table, index, first, rows = parts[0]
        pieces.set(table, rows, first, index)
    else:
        pieces.set_many([(table.address, index, first, rows) for table, index, first, rows in parts])
        rows = sum(part[3] for part in parts)
    nbytes = pieces.measure()
    block: Holder = HeapBlock.allocate(nbytes) if arena is None else arena.allocate(nbytes)
    jumbo = JumboTuple(block, rows, size=nbytes)
    pieces.write(jumbo.address, nbytes, frame_schema.fingerprint, plan, away=arena is not None)
    return jumbo


def _own_schema(batch: Batch, fingerprint: int) -> Schema:
    if fingerprint not in (0, batch.schema.fingerprint):
        raise SchemaError(
            f"encode: rows of {batch.schema!r} ({batch.schema.fingerprint:#018x}) for an edge of schema "
            f"{fingerprint:#018x}; allowed: the edge's Schema, if it has system columns, or rows of the same schema"
        )
    return batch.schema


def _encode_event(event: Any, arena: Arena | None, schema: Schema, plan: int) -> JumboTuple | None:
    """One event of fixed-width fields by one struct; None if it does not fit, for the general path to say why."""
    layout = layout_of(schema)
    nbytes = layout.one_bytes
    jumbo = JumboTuple(HeapBlock.allocate(nbytes) if arena is None else arena.allocate(nbytes), 1)
    try:
        layout.pack(jumbo.address, event, plan)
    except Exception:
        return None
    return jumbo


def decode(schema: Schema, jumbo: JumboTuple, first: int = 0, rows: int | None = None) -> Batch:
    """The rows of a jumbo tuple of `schema` (system columns included) as a batch. Checked when first touched."""
    return Batch.from_jumbo(schema, jumbo, first, rows)


def to_bytes(batches: Sequence[Batch] | Batch, schema: Schema | int = 0, plan: int = 0) -> bytes:
    """The bytes of one jumbo tuple of the rows."""
    return bytes(encode([batches] if isinstance(batches, Batch) else batches, None, schema, plan).buffer())


def from_bytes(data: Any, *, trusted: bool = False) -> JumboTuple:
    """A jumbo tuple of bytes (any buffer), which it keeps; copied only if they are not 8-byte aligned. Checked fully
    before anything of them is read, unless `trusted`."""
    root = np.frombuffer(data, np.uint8)
    if len(root) < 64:
        raise BrokenError(f"a jumbo tuple of {len(root)} bytes; a header alone has 64")
    if address_of(root) % 8:
        block = HeapBlock.allocate(len(root))
        block.view()[:] = root
    else:
        block = HeapBlock(root)
    return JumboTuple(block, trusted=trusted)
