"""The bytes of a message between two workers: a versioned header, the fields of a frame, and a payload.

```
 byte 0                                                                                  64              208
+-------+---------+------+-------+--------+----------+------+-----+-----+-----+---------+--------+-------+---------+
| magic | version | kind | flags | sender | receiver | plan | key | seq | ack | channel | length | frame | payload |
|   4   |    2    |   1  |   1   |   4    |    4     |   8  | 16  |  8  |  8  |    4    |   4    |  144  | length  |
+-------+---------+------+-------+--------+----------+------+-----+-----+-----+---------+--------+-------+---------+
```
Control messages have no frame: their body of `length` bytes follows at byte 64. The last 24 bytes of a frame's fields give
back credit of one channel: its number plus one (0: no credit), frames and bytes. All numbers are little-endian. This
module reads and writes bytes; it opens nothing and keeps nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Any

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.transports.base import Frame, FrameKind

MAGIC = b"ASnt"
VERSION = 2
HEAD = Struct("<4sHBBIIQ16sQQII")
FRAME = Struct("<QQqqqqqqqqqqqqqQQQ")
WHOLE = Struct(HEAD.format + FRAME.format[1:])
Credit = tuple[int, int, int]
"""Of a channel's number plus one: the frames and bytes that were consumed, in all."""
NO_CREDIT: Credit = (0, 0, 0)
MOST_BYTES = 1 << 30
"""A payload of more bytes is refused at both ends."""

HELLO, BYE, ACK, CREDIT, PROMISES, SENDER_CLOSED, RECEIVER_CLOSED, STREAM, STREAM_END, GATHER = range(16, 26)
FRAMES = frozenset(int(kind) for kind in FrameKind)
APART = 1
"""Flag: the payload is the second part of the message."""
SAME = 2
"""Flag: the payload is that of the frame before on this channel, and does not travel again."""
KEEP = 4
"""Flag: a frame that follows may refer to the payload of this one."""

GREETING = Struct("<QQQ16s")
"""Of HELLO: process, incarnation, workers of the run, where the process runs."""
CREDITS = Struct("<QQ")
"""Of CREDIT: frames and bytes that were consumed, in all."""
PROMISE = Struct("<Iq")
"""Of PROMISES, any number: frontier word and its value."""
_BODIES = {
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


@dataclass(slots=True)
class Message:
    """A received message. `fields` are those of a frame; `body` is the payload or the control message's body."""

    kind: int
    flags: int
    plan: int
    seq: int
    ack: int
    channel: int
    fields: tuple[Any, ...]
    body: Any


class Envelope:
    """What the headers from one worker to another have in common."""

    __slots__ = ("key", "plan", "receiver", "sender")

    def __init__(self, sender: int, receiver: int, plan: int, secret: bytes) -> None:
        self.sender, self.receiver, self.plan = sender, receiver, plan
        self.key = key_between(secret, sender, receiver)

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
        return WHOLE.pack(
            MAGIC,
            VERSION,
            frame.kind,
            flags,
            self.sender,
            self.receiver,
            self.plan,
            self.key,
            seq,
            ack,
            channel,
            length,
            frame.nbytes,
            frame.schema,
            frame.rows,
            frame.first,
            frame.producer,
            frame.sequence,
            frame.serial,
            frame.piece,
            frame.pieces,
            frame.barrier,
            frame.min_time,
            frame.max_time,
            frame.min_entry,
            frame.max_entry,
            frame.began,
            *credit,
        )


Header = tuple[bytes, int, int, int, int, int, int, bytes, int, int, int, int]
"""The fields of HEAD, as drawn above."""


def header_of(head: Any, receiver: int, keys: dict[int, bytes]) -> Header | None:
    """The header of a message; None: it carries no key of this run, or is for somebody else.

    ConfigurationError: the sender belongs to this run, but has another version."""
    if len(head) < HEAD.size:
        return None
    header: Header = HEAD.unpack_from(head)  # type: ignore[assignment]
    if header[0] != MAGIC or header[5] != receiver or keys.get(header[4]) != header[7]:
        return None
    if header[1] != VERSION:
        raise ConfigurationError(
            f"worker {header[4]} speaks version {header[1]} of the network transports, worker {receiver} speaks "
            f"{VERSION}; install one version of actorstream on all hosts"
        )
    return header


def read(header: Header, head: Any, apart: Any | None) -> Message:
    """The message with this header. BrokenError: nothing that this version sends is like that."""
    _, _, kind, flags, _, _, plan, _, seq, ack, channel, length = header
    fields: tuple[Any, ...] = ()
    if kind in FRAMES:
        if len(head) < WHOLE.size:
            raise BrokenError(f"a frame of {len(head)} bytes; its header alone has {WHOLE.size}")
        fields = FRAME.unpack_from(head, HEAD.size)
        start = WHOLE.size
    else:
        start = HEAD.size
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
    body = _body(head, apart, start, flags, length)
    return Message(kind, flags, plan, seq, ack, channel, fields, body)


def _fits(kind: int, length: int, wanted: int | None) -> bool:
    if wanted is not None:
        return length == wanted
    return kind in _ANY_LENGTH or (length > 0 and length % PROMISE.size == 0)


def _body(head: Any, apart: Any | None, start: int, flags: int, length: int) -> Any:
    if flags & ~(APART | SAME | KEEP) or (flags & APART and flags & SAME) or (flags & SAME and length):
        raise BrokenError(f"a frame with flags {flags} and {length} bytes")
    if (apart is not None) != bool(flags & APART):
        raise BrokenError(f"a message of {1 + (apart is not None)} parts with flags {flags}")
    body = apart if apart is not None else head[start:]
    if len(body) != length or (apart is not None and len(head) != start):
        raise BrokenError(f"a message that announces {length} bytes and has {len(body)}")
    return body


def credit_of(message: Message) -> Credit:
    """The credit that a frame carries."""
    found: Credit = message.fields[-3:]  # type: ignore[assignment]
    return found


def frame_of(message: Message, payload: Any) -> Frame:
    """The frame of a message."""
    frame = Frame.__new__(Frame)
    frame.kind, frame.payload = message.kind, payload
    (
        frame.nbytes,
        frame.schema,
        frame.rows,
        frame.first,
        frame.producer,
        frame.sequence,
        frame.serial,
        frame.piece,
        frame.pieces,
        frame.barrier,
        frame.min_time,
        frame.max_time,
        frame.min_entry,
        frame.max_entry,
        frame.began,
        _,
        _,
        _,
    ) = message.fields
    return frame


def to_own_clock(frame: Frame, ahead: int) -> None:
    """Turns the entry times of a frame, by a clock that is so many nanoseconds ahead of ours, into ours; 0 stays unknown."""
    for name in ("min_entry", "max_entry", "began"):
        if value := getattr(frame, name):
            setattr(frame, name, value - ahead)
