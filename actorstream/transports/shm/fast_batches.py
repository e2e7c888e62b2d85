"""Whole jumbo tuples on a shared-memory channel: one function of Python and one of C between a batch and the ring.

For payloads that the receiver can map; all others go the way of frames.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.transports.shm.rows import Stoppable, waited_flags

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.native.channel import SendRing
    from actorstream.transports.fast_paths import WholeSender


def whole_sender(
    ring: SendRing,
    end: Stoppable,
    reachable: frozenset[int],
    schema: int,
    producer: int,
    frames: Callable[..., bool],
) -> WholeSender:
    """See `SendChannel.wholes`. `frames`: sends what does not lie in a `reachable` arena, or may not be trusted."""
    send = ring.whole_sender(schema, producer)

    def send_whole(jumbo: Any, rows: int, sequence: int, min_entry: int, max_entry: int, began: int) -> bool:
        block = jumbo.block
        if end._stopped is not None or block._arena not in reachable or not jumbo.trusted:
            return frames(jumbo, rows, sequence, min_entry, max_entry, began)
        flags = waited_flags(began, max_entry) if began else 0
        return send(block, sequence, jumbo.size or jumbo.nbytes, rows, min_entry, max_entry, flags)

    return send_whole
