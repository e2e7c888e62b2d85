"""Frames between two systems, as bytes: no sockets, no actors. Everything that comes in is checked here or typed.

    0        4      5       6      8        12       16
    +--------+------+-------+------+--------+--------+------------------+
    | length | kind | flags | type | target |  ask   | msgpack body     |
    +--------+------+-------+------+--------+--------+------------------+
    u32      u8     u8      u16    u32      u32        little endian

`length` counts the bytes after itself. `type` and `target` are the numbers that the sender gave to a message class
and an actor's name by a `DefineType` and a `DefineActor` frame. `ask` pairs an answer with its ask.
"""

from __future__ import annotations

import struct
from enum import IntEnum

import msgspec

from actorstream.errors import BrokenError

PROTOCOL = 1
HEADER = struct.Struct("<IBBHII")
BLANK = bytes(HEADER.size)
LENGTH_BYTES = 4
HANDSHAKE_FRAME = 64 << 10
"""Largest frame before the handshake is over."""


class ActorFrameKind(IntEnum):
    """The kind of a frame."""

    CONTROL = 0
    TELL = 1
    ASK = 2
    ANSWER = 3
    ERROR = 4
    """The answer of an ask is an exception: the body is a `failure.Failure`."""
    STOP = 5
    """Asks an actor to stop; no body, answered by a bool."""


class Hello(msgspec.Struct, array_like=True, tag="hello"):
    """First frame of each side, the same in every version. `identity` tells two systems of one name apart."""

    protocol: int
    name: str
    identity: int
    max_frame: int


class Welcome(msgspec.Struct, array_like=True, tag="welcome"):
    """The other side's Hello is accepted. Requests may follow once both sides have sent one."""


class Goodbye(msgspec.Struct, array_like=True, tag="goodbye"):
    """Nothing follows: the system stops, or refuses the connection."""

    reason: str
    refused: bool = False


class DefineType(msgspec.Struct, array_like=True, tag="type"):
    number: int
    name: str
    """`module:Class`"""


class DefineActor(msgspec.Struct, array_like=True, tag="actor"):
    number: int
    name: str


class Window(msgspec.Struct, array_like=True, tag="window"):
    """The actor's mailbox lets this peer have `size` bytes outstanding."""

    target: int
    size: int


class Credit(msgspec.Struct, array_like=True, tag="credit"):
    """`size` bytes that were sent to the actor have been processed."""

    target: int
    size: int


class Need(msgspec.Struct, array_like=True, tag="need"):
    """The sender waits for more credit than it gets unasked: return all of it once nothing is outstanding."""

    target: int


class Dead(msgspec.Struct, array_like=True, tag="dead"):
    target: int
    reason: str


class Alive(msgspec.Struct, array_like=True, tag="alive"):
    """An actor that was reported dead, or never was, has been spawned."""

    target: int


Control = Hello | Welcome | Goodbye | DefineType | DefineActor | Window | Credit | Need | Dead | Alive

_control_encoder = msgspec.msgpack.Encoder()
_control_decoder: msgspec.msgpack.Decoder[Control] = msgspec.msgpack.Decoder(Control)


def control_frame(message: Control) -> bytes:
    body = _control_encoder.encode(message)
    return HEADER.pack(len(body) + HEADER.size - LENGTH_BYTES, ActorFrameKind.CONTROL, 0, 0, 0, 0) + body


def read_control(body: bytes | memoryview) -> Control:
    try:
        return _control_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenError(f"the peer sent a control frame that is none: {error}") from error


Frame = tuple[int, int, int, int, memoryview]
"""kind, type, target, ask, body"""


class FrameReader:
    """Cuts a byte stream into frames, however it was split on the way. Frames are views of immutable bytes."""

    __slots__ = ("_held", "_parts", "_wanted", "limit")

    def __init__(self, limit: int = HANDSHAKE_FRAME) -> None:
        self.limit = limit
        """Largest frame allowed, in bytes with its header."""
        self._parts: list[bytes] = []
        self._held = 0
        self._wanted = HEADER.size

    def feed(self, data: bytes) -> list[Frame]:
        """Takes the next bytes and returns the frames they complete.

        Raises BrokenError for a frame larger than the limit or shorter than its header."""
        if self._held:
            self._parts.append(data)
            self._held += len(data)
            if self._held < self._wanted:
                return []
            data = b"".join(self._parts)
            self._parts.clear()
            self._held = 0
        frames: list[Frame] = []
        view = memoryview(data)
        unpack, header, size = HEADER.unpack_from, HEADER.size, len(data)
        start = 0
        self._wanted = header
        while size - start >= header:
            length, kind, _, type_number, target, ask = unpack(data, start)
            end = start + LENGTH_BYTES + length
            if end - start > self.limit or end - start < header:
                raise BrokenError(
                    f"the peer sent a frame of {end - start} bytes; allowed: {header} to {self.limit} "
                    "(`max_frame` of System)"
                )
            if end > size:
                self._wanted = end - start
                break
            frames.append((kind, type_number, target, ask, view[start + header : end]))
            start = end
        if start < size:
            self._parts.append(data[start:] if start else data)
            self._held = size - start
        return frames
