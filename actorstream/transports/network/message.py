"""The bytes of a message between two workers: a versioned header, the fields of a frame, and a payload. One or more messages,
each at a multiple of 8 bytes, are a packet, which travels as a whole.

```
 byte 0                                                                                  64              208
+-------+---------+------+-------+--------+----------+------+-----+-----+-----+---------+--------+-------+---------+
| magic | version | kind | flags | sender | receiver | plan | key | seq | ack | channel | length | frame | payload |
|   4   |    2    |   1  |   1   |   4    |    4     |   8  | 16  |  8  |  8  |    4    |   4    |  144  | length  |
+-------+---------+------+-------+--------+----------+------+-----+-----+-----+---------+--------+-------+---------+
```
Control messages have no frame: their body of `length` bytes follows at byte 64. Large payloads are not in the packet but
follow it, in the order of their messages. The last 24 bytes of a frame's fields give
back credit of one channel: its number plus one (0: no credit), frames and bytes. All numbers are little-endian. This
module reads and writes bytes; it opens nothing and keeps nothing.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import Any

import msgspec

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.native.frames import pack_frame, unpack_frame
from actorstream.transports.base import Frame, FrameKind

MAGIC = b"ASnt"
VERSION = 4
HEAD = Struct("<4sHBBIIQ16sQQII")
FRAME = Struct("<QQqqqqqqqqqqqqqQQQ")
WHOLE = Struct(HEAD.format + FRAME.format[1:])
SENDER = slice(8, 12)
"""Where the sender is in a header."""
PREFIX = 40
"""Bytes that all headers between two workers have in common, but for kind and flags."""
Credit = tuple[int, int, int]
"""Of a channel's number plus one: the frames and bytes that were consumed, in all."""
NO_CREDIT: Credit = (0, 0, 0)
MOST_BYTES = 1 << 30
"""A payload of more bytes is refused at both ends."""

HELLO, BYE, ACK, CREDIT, PROMISES, SENDER_CLOSED, RECEIVER_CLOSED, STREAM, STREAM_END, GATHER, CLOCK = range(
    16, 27
)
FRAMES = frozenset(int(kind) for kind in FrameKind)
APART = 1
"""Flag: the payload follows the packet."""
SAME = 2
"""Flag: the payload is that of the frame before on this channel, and does not travel again."""
KEEP = 4
"""Flag: a frame that follows may refer to the payload of this one."""

FOLLOWED = 8
"""Flag of a packet's first message: payloads follow the packet."""

GREETING = Struct("<QQQ16s")
"""Of HELLO: process, incarnation, workers of the run, where the process runs."""
CREDITS = Struct("<QQ")
"""Of CREDIT: frames and bytes that were consumed, in all."""
PROMISE = Struct("<Iq")
"""Of PROMISES, any number: frontier word and its value."""
CLOCKS = Struct("<qq")
"""Of CLOCK: by how many ns the clock of the home rank is ahead of the sender's, and the bound of the error."""
_BODIES = {
    CLOCK: CLOCKS.size,
    HELLO: GREETING.size,
    BYE: 0,
    ACK: 0,
    CREDIT: CREDITS.size,
    STREAM_END: 0,
    SENDER_CLOSED: 0,
    RECEIVER_CLOSED: 0,
}
_ANY_LENGTH = frozenset((STREAM, GATHER))
UNNUMBERED = frozenset((HELLO, ACK))
"""Kinds without a sequence number: they may come twice, or out of turn."""


def key_between(secret: bytes, sender: int, receiver: int) -> bytes:
    """What each message from `sender` to `receiver` carries to prove that its sender knows the run's secret."""
    return blake2b(f"{sender} to {receiver}".encode(), key=secret, digest_size=16).digest()


class Message(msgspec.Struct):
    """A received message. `body` is the payload of `frame`, whose own is not set yet, or the control message's body."""

    kind: int
    flags: int
    plan: int
    seq: int
    ack: int
    channel: int
    frame: Frame | None
    credit: Credit
    """What a frame gives back of another channel."""
    body: Any


class Envelope:
    """What the headers from one worker to another have in common."""

    __slots__ = ("_secret", "key", "plan", "prefix", "receiver", "sender")

    def __init__(self, sender: int, receiver: int, plan: int, secret: bytes) -> None:
        self.sender, self.receiver, self.plan, self._secret = sender, receiver, plan, secret
        self.key = key_between(secret, sender, receiver)
        self.prefix = self.control(0, 0, 0)[:PREFIX]

    def reversed(self) -> Envelope:
        """That of the other direction."""
        return Envelope(self.receiver, self.sender, self.plan, self._secret)

    def control(self, kind: int, seq: int, ack: int, channel: int = 0, body: bytes = b"") -> bytes:
        """The bytes of a control message."""
        head = HEAD.pack(
            MAGIC,
            VERSION,
            kind,
            0,
            self.sender,
            self.receiver,
            self.plan,
            self.key,
            seq,
            ack,
            channel,
            len(body),
        )
        return head + body

    def frame(
        self,
        frame: Frame,
        flags: int,
        seq: int,
        ack: int,
        channel: int,
        length: int,
        credit: Credit = NO_CREDIT,
    ) -> bytes:
        """The header and the fields of a frame, whose payload of `length` bytes follows, and credit for another channel."""
        return pack_frame(self.prefix, frame, flags, seq, ack, channel, length, *credit)


Header = tuple[bytes, int, int, int, int, int, int, bytes, int, int, int, int]
"""The fields of HEAD, as drawn above."""


def header_of(packet: Any, at: int, receiver: int, keys: dict[int, bytes]) -> Header | None:
    """The header of the message at byte `at`; None: it carries no key of this run, or is for somebody else.

    ConfigurationError: the sender belongs to this run, but has another version."""
    if len(packet) < at + HEAD.size:
        return None
    header: Header = HEAD.unpack_from(packet, at)  # type: ignore[assignment]
    if header[0] != MAGIC or header[5] != receiver or keys.get(header[4]) != header[7]:
        return None
    if header[1] != VERSION:
        raise ConfigurationError(
            f"worker {header[4]} speaks version {header[1]} of the network transports, worker {receiver} speaks "
            f"{VERSION}; install one version of actorstream on all hosts"
        )
    return header


def read(header: Header, packet: Any, at: int, bodies: list[Any]) -> tuple[Message, int]:
    """The message with this header, which begins at byte `at` of the packet, and where the next one begins. `bodies`: what
    follows the packet; the message takes its own away. BrokenError: nothing that this version sends is like that."""
    _, _, kind, flags, _, _, plan, _, seq, ack, channel, length = header
    flags &= ~FOLLOWED
    frame, credit = None, NO_CREDIT
    start = at + HEAD.size
    if kind in FRAMES:
        if len(packet) < at + WHOLE.size:
            raise BrokenError(f"a frame of {len(packet) - at} bytes; its header alone has {WHOLE.size}")
        frame, credit = unpack_frame(Frame, kind, packet, start)
        start = at + WHOLE.size
    else:
        wanted = _BODIES.get(kind)
        if wanted is None and kind != PROMISES and kind not in _ANY_LENGTH:
            allowed = sorted(FRAMES | {*_BODIES, PROMISES} | _ANY_LENGTH)
            raise BrokenError(f"a message of kind {kind}; allowed: {allowed}")
        if flags or not _fits(kind, length, wanted):
            raise BrokenError(f"a control message of kind {kind} with flags {flags} and {length} bytes")
    if (kind in UNNUMBERED) != (seq == 0):
        raise BrokenError(f"a message of kind {kind} with sequence number {seq}")
    if length > MOST_BYTES:
        raise BrokenError(f"a message of {length} bytes; allowed: at most {MOST_BYTES}")
    if flags & ~(APART | SAME | KEEP) or (flags & APART and flags & SAME) or (flags & SAME and length):
        raise BrokenError(f"a frame with flags {flags} and {length} bytes")
    if flags & APART:
        if not bodies:
            raise BrokenError("a frame whose payload does not follow")
        body, end = bodies.pop(0), start
    else:
        end = start + length
        body = packet[start:end]
    if len(body) != length:
        raise BrokenError(f"a message that announces {length} bytes and has {len(body)}")
    return Message(kind, flags, plan, seq, ack, channel, frame, credit, body), end + (-end & 7)


def read_single(header: Header, packet: Any, bodies: list[Any]) -> Message:
    """The only message of a packet. BrokenError: as of `read`, or there is more."""
    message, end = read(header, packet, 0, bodies)
    if bodies or end < len(packet):
        raise BrokenError(
            f"a packet of {len(packet)} bytes and {len(bodies)} payloads behind its only message"
        )
    return message


def followed(first: bytes) -> bytes:
    """The first message of a packet, marked as one that payloads follow."""
    return b"".join((first[:7], bytes((first[7] | FOLLOWED,)), first[8:]))


def _fits(kind: int, length: int, wanted: int | None) -> bool:
    if wanted is not None:
        return length == wanted
    return kind in _ANY_LENGTH or (length > 0 and length % PROMISE.size == 0)


def to_own_clock(frame: Frame, ahead: int) -> None:
    """Turns the entry times of a frame, by a clock that is so many nanoseconds ahead of ours, into ours; 0 stays unknown."""
    for name in ("min_entry", "max_entry", "began"):
        if value := getattr(frame, name):
            setattr(frame, name, value - ahead)
