"""The bytes of a frame's header on a network, from a Frame and back, quicker than Python makes it. Knows no transport.

`pack_frame(prefix, frame, flags, seq, ack, channel, length, credited, taken, taken_bytes)` returns the header of
`transports/network/message.py`, of which `prefix` is what all messages between two workers have in common.
`unpack_frame(type, kind, packet, at)` makes a frame of that type, without a payload, from the fields at byte `at`, and
returns it with the three numbers of credit behind them. ValueError: the packet ends before.
`unpack_run(type, packet, at, prefix, seq)` takes in the frames that lie one after another from byte `at` on, as long as each
begins with `prefix`, is numbered one higher than the one before, the first one `seq`, and is nothing that must be looked at
more closely. It returns a list of (frame, flags, channel, acknowledgement, credit, where its payload begins, the payload's
length), and where the last frame ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Run", "pack_frame", "unpack_frame", "unpack_run"]

Run = list[tuple[Any, int, int, int, tuple[int, int, int], int, int]]

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
    def unpack_run(type: Any, packet: Any, at: int, prefix: bytes, seq: int, /) -> tuple[Run, int]: ...

else:
    from actorstream.native._objects import pack_frame, unpack_frame, unpack_run
