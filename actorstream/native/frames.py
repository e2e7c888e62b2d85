"""The bytes of a frame's header on a network or in a ring, from a Frame and back, quicker than Python. Knows no transport.

`pack_frame(prefix, frame, flags, seq, ack, channel, length, credited, taken, taken_bytes)` returns the header of
`transports/network/message.py`, of which `prefix` is what all messages between two workers have in common.
`unpack_frame(type, kind, packet, at)` makes a frame of that type, without a payload, from the fields at byte `at`, and
returns it with the three numbers of credit behind them. ValueError: the packet ends before.
`unpack_run(frame, jumbo, trusted, packet, at, prefix, seq, bodies)` takes in the frames that lie one after another from byte
`at` on, as long as each begins with `prefix`, is numbered one higher than the one before, the first one `seq`, and has rows that
fit its payload. It returns groups of such frames in their order, each (channel, flags, credit, frames); where the last frame
ends; how many there are; the bytes of their payloads; their greatest acknowledgement; and how many of `bodies`, which follow
the packet, belong to them. All frames of a group have no flags, or there is one; their credit is that of the first one.
`entry_frame(type, entry)` returns the frame, without a payload, whose header is the entry of a ring, as `channel.Entry` names its
fields, and the entry's flags, offset and arena. ValueError: it has not 128 bytes.
`following(packet)` returns the lengths of the payloads that follow a packet.
`received_jumbo(jumbo, trusted, data)` returns the jumbo tuple, of the type `jumbo`, whose bytes `data` exports. Its block is a
`Received`: a part of what came, which lives as long as any array over it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = [
    "Group",
    "Received",
    "entry_frame",
    "following",
    "pack_frame",
    "received_jumbo",
    "unpack_frame",
    "unpack_run",
]

Group = tuple[int, int, tuple[int, int, int], list[Any]]
"""Channel, flags, credit and frames."""

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
    def entry_frame(type: Any, entry: Any, /) -> tuple[Any, int, int, int]: ...
    def unpack_run(
        frame: Any,
        jumbo: Any,
        trusted: bool,
        packet: Any,
        at: int,
        prefix: bytes,
        seq: int,
        bodies: list[Any],
        /,
    ) -> tuple[list[Group], int, int, int, int, int]: ...
    def following(packet: Any, /) -> list[int]: ...
    def received_jumbo(jumbo: Any, trusted: bool, data: Any, /) -> Any: ...

    class Received:
        address: int
        nbytes: int

        def export(self) -> Received: ...

else:
    from actorstream.native._objects import (
        Received,
        entry_frame,
        following,
        pack_frame,
        received_jumbo,
        unpack_frame,
        unpack_run,
    )
