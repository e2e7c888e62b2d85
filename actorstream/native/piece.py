"""Rows of a batch sent as a jumbo tuple of their own, by one call of C. Knows no schema and no batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from actorstream.native._core import ffi, lib
from actorstream.native.channel import ENTRY, Entry, SendRing, refused

if TYPE_CHECKING:
    from actorstream.native.arena import Arena
    from actorstream.native.pieces import ColumnTable

_send_piece = lib.as_channel_send_piece

NativePieceSender = Callable[["ColumnTable", int, int, int, int, int, int, int, int], bool]
"""See `piece_sender`."""


def piece_sender(
    ring: SendRing, arena: Arena, schema: int, producer: int, plan: int, most: int
) -> NativePieceSender:
    """A function (table, index, first, rows, sequence, serial, min_entry, max_entry, flags) that writes rows of the table into
    a block of `arena` and publishes them; `index`: the address of uint32 row numbers relative to `first`, or 0.

    It returns False, with nothing sent, where there is no credit, where the jumbo tuple would have `most` bytes or more, and
    where the rows do not fit the arena or are too many columns: whoever encodes and sends them is told why. BrokenError,
    ClosedError: as `SendRing.send`."""
    form = ffi.new("as_entry *")
    ENTRY.pack_into(ffi.buffer(form), 0, *Entry(schema=schema, producer_and_loan=producer))

    def send_piece(
        table: ColumnTable,
        index: int,
        first: int,
        rows: int,
        sequence: int,
        serial: int,
        min_entry: int,
        max_entry: int,
        flags: int,
    ) -> bool:
        form.serial = serial
        code = _send_piece(
            ring._producer or ring.handle,
            form,
            arena._arena or arena.handle,
            table.address,
            table.columns,
            index,
            first,
            rows,
            plan,
            most,
            sequence,
            min_entry,
            max_entry,
            flags,
        )
        return code == 0 or refused(code)

    return send_piece
