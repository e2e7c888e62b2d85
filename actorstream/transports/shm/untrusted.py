"""What a worker takes from a producer outside the plan: a copy of its own, made before anything of it is checked.

The producer can write into its memory at any time, so what was checked there could be something else when it is read.
"""

from __future__ import annotations

from collections.abc import Callable

from actorstream.errors import BrokenError
from actorstream.events.jumbo import JumboTuple
from actorstream.native.arena import Arena
from actorstream.native.channel import ReceiveRing
from actorstream.transports.base import DATA, Frame, FrameKind
from actorstream.transports.shm.copying import copied

KINDS = frozenset(int(kind) for kind in FrameKind)
BARRIER = int(FrameKind.BARRIER)
HEADER = 64


def own_frame(
    frame: Frame, offset: int, arena: int, ring: ReceiveRing, arena_of: Callable[[int], Arena]
) -> Frame:
    """The frame of an entry that `ring` has just peeked, with its payload on this process's heap. BrokenError: no frame
    can be like that."""
    if frame.kind not in KINDS:
        raise BrokenError(f"an outside producer sent a frame of kind {frame.kind}; allowed: {sorted(KINDS)}")
    if offset:
        frame.payload = _copy(ring, arena_of(arena))
        frame.nbytes = frame.payload.block.nbytes
    elif frame.kind == BARRIER:
        frame.barrier, frame.serial = frame.serial, 0
    rows = 0 if frame.payload is None else frame.payload.rows
    if frame.first < 0 or frame.rows < 0 or frame.first + frame.rows > rows:
        if frame.kind == DATA or frame.payload is not None:
            raise BrokenError(
                f"an outside producer sent rows {frame.first} to {frame.first + frame.rows} of {rows}; allowed: rows that "
                "its jumbo tuple has"
            )
        frame.first = frame.rows = 0
    return frame


def _copy(ring: ReceiveRing, arena: Arena) -> JumboTuple:
    try:
        block = ring.borrow(arena)
    except ValueError as error:
        raise BrokenError(
            f"an outside producer sent an entry without a block of its arena: {error}"
        ) from None
    payload = copied(JumboTuple(block, trusted=False), None)
    if payload.block.nbytes < HEADER:
        raise BrokenError(f"a jumbo tuple of {payload.block.nbytes} bytes; a header alone has {HEADER}")
    return payload
