"""Jumbo tuples on a shared-memory channel, whole ones and rows that become one: one function of Python and one of C between a
batch and the ring.

For payloads that the receiver can map; all others go the way of frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.native.piece import piece_sender as native_piece_sender
from actorstream.transports.shm.rows import Stoppable, waited_flags

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.native.arena import Arena
    from actorstream.native.channel import SendRing
    from actorstream.native.pieces import ColumnTable
    from actorstream.transports.fast_paths import JumboSender, PieceSender


def jumbo_sender(
    ring: SendRing,
    end: Stoppable,
    reachable: frozenset[int],
    schema: int,
    producer: int,
    frames: Callable[..., bool],
) -> JumboSender:
    """See `SendChannel.jumbo_sender`. `frames`: sends what does not lie in a `reachable` arena, or may not be trusted."""
    send = ring.jumbo_sender(schema, producer)

    def send_jumbo(jumbo: Any, rows: int, sequence: int, min_entry: int, max_entry: int, began: int) -> bool:
        block = jumbo.block
        if end._stopped is not None or block._arena not in reachable or not jumbo.trusted:
            return frames(jumbo, rows, sequence, min_entry, max_entry, began)
        flags = waited_flags(began, max_entry) if began else 0
        return send(block, sequence, jumbo.size or jumbo.nbytes, rows, min_entry, max_entry, flags)

    return send_jumbo


def piece_sender(
    ring: SendRing, end: Stoppable, arena: Arena, schema: int, producer: int, plan: int, most: int
) -> PieceSender:
    """See `PieceSending`. `arena`: this process's, which the receiver maps."""
    send = native_piece_sender(ring, arena, schema, producer, plan, most)

    def send_piece(
        table: ColumnTable,
        index: int,
        first: int,
        rows: int,
        sequence: int,
        serial: int,
        min_entry: int,
        max_entry: int,
        began: int,
    ) -> bool:
        if end._stopped is not None:
            return False
        flags = waited_flags(began, max_entry) if began else 0
        return send(table, index, first, rows, sequence, serial, min_entry, max_entry, flags)

    return send_piece
