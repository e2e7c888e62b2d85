"""The bytes of a frame's header on a network, from a Frame and back, quicker than Python makes it. Knows no transport.

`pack_frame(prefix, frame, flags, seq, ack, channel, length, credited, taken, taken_bytes)` returns the header of
`transports/network/message.py`, of which `prefix` is what all messages between two workers have in common.
`unpack_frame(type, kind, packet, at)` makes a frame of that type, without a payload, from the fields at byte `at`, and
returns it with the three numbers of credit behind them. ValueError: the packet ends before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["pack_frame", "unpack_frame"]

if TYPE_CHECKING:

    def pack_frame(
        prefix: bytes,
        frame: Any,
        flags: int,
        seq: int,
        ack: int,
        channel: int,
        length: int,
        credited: int,
        taken: int,
        taken_bytes: int,
        /,
    ) -> bytes: ...
    def unpack_frame(type: Any, kind: int, packet: Any, at: int, /) -> tuple[Any, tuple[int, int, int]]: ...

else:
    from actorstream.native._objects import pack_frame, unpack_frame
