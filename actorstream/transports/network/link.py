"""A worker's link to one peer: numbers what is sent, keeps it until the peer has it, and takes in what comes once each.

Messages are gathered into packets while a channel's consumer has work to do already. The link survives a connection that
is cut: `resend` repeats what the peer has not acknowledged, and `accepts` drops what came before. It knows no sockets and no
channels' credit.
"""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from actorstream.errors import BrokenError
from actorstream.native.frames import pack_frame
from actorstream.transports.base import DATA
from actorstream.transports.network.message import (
    ACK,
    APART,
    HELLO,
    NO_CREDIT,
    WHOLE,
    Credit,
    Envelope,
    followed,
)

if TYPE_CHECKING:
    from actorstream.native.doorbell import Doorbell
    from actorstream.transports.base import Frame
    from actorstream.transports.network.message import Message

FRAME_BYTES = WHOLE.size
LEAST_INLINE = 16 << 10
"""Payloads of so many bytes are copied into their packet by every port."""
WINDOW = 1024
"""With so many unacknowledged messages, credits and promises wait: later ones replace them."""
ACK_MESSAGES, ACK_BYTES = 256, 8 << 20
"""What is acknowledged at once; less waits for a message that goes back anyway, or for the next timer."""


class Port(Protocol):
    """How the packets of a worker, and the payloads that follow them, reach its peers. `receive` returns None if nothing has
    come. `look` looks, up to `ns` nanoseconds, whether something comes; False: nothing has, or the bell has rung; None: the port
    cannot say, as there is something else that only `receive` notices. `is_drained`: the last `receive` found nothing, and what
    comes from then on wakes the event loop. A payload of at most `inline` bytes is copied into its packet, where that costs less
    than to send it by itself; a packet waits for nothing more once it has `packet_bytes`, or payloads of `following_bytes` behind
    it."""

    inline: int
    packet_bytes: int
    following_bytes: int

    @property
    def is_drained(self) -> bool: ...

    def send(self, peer: int, packet: bytes, bodies: list[memoryview]) -> None: ...
    def receive(self) -> tuple[Any, Sequence[Any]] | None: ...
    def look(self, bell: Doorbell, ns: int) -> bool | None: ...


class End(Protocol):
    """A channel end. `settle` sends what it owes if that is worth a message, or `now`, and says whether some is left.
    `take_credit` returns the credit that it owes, to be sent by the caller; None: it owes none."""

    def settle(self, *, now: bool) -> bool: ...
    def take_credit(self) -> Credit | None: ...


class Link:
    """The link from worker `envelope.sender` to its peer `envelope.receiver`, with what has come back over it.

    Args:
        soon: called when a packet waits for more messages; `push` is to be called before the worker waits.

    Attributes:
        greeted: whether the peer has said HELLO.
        left: whether the peer has said BYE: it reads nothing any more.
        lost: why the peer is lost; "" if it is not.
    """

    def __init__(self, port: Port, envelope: Envelope, soon: Callable[[], None] = lambda: None) -> None:
        self.port, self.envelope = port, envelope
        self._inline, self._packet_bytes = port.inline, port.packet_bytes
        self._following_bytes = port.following_bytes
        self._soon = soon
        self.peer = envelope.receiver
        self.incoming = envelope.reversed().prefix
        """What all that comes begins with."""
        self.greeted = self.left = False
        self.lost = ""
        self.incarnation = 0
        self.ahead = 0
        """By how many nanoseconds the peer's clock is ahead of ours."""
        self.senders: dict[int, Any] = {}
        self.receivers: dict[int, Any] = {}
        """Ends of channels with the peer, by number, that something has come for."""
        self.owing: dict[int, End] = {}
        """Channel ends that have promises or credit to send, by identity."""
        self.seen: int = 0
        """Sequence number of the last message that was taken in."""
        self._sent = self._acked = 0
        self._told = 0
        """What the peer was last told of `seen`."""
        self._packed = 0
        """The value of `seen` that the last packed message carries."""
        self._untold_bytes = 0
        self._kept: deque[tuple[int, bytes, list[memoryview]]] = deque()
        """Packets, by the number of their last message."""
        self._parts: list[bytes | memoryview] = []
        """The packet that is being gathered, and what is to follow it."""
        self._bodies: list[memoryview] = []
        self._nbytes = self._following = self._pushed = 0
        self._holds = False

    def compare_clocks(self, ahead: int, error: int) -> None:
        """The peer's clock is so many nanoseconds ahead of ours. An offset within its own error is none: both are on one host."""
        self.ahead = ahead if abs(ahead) > error else 0

    @property
    def is_open(self) -> bool:
        """Whether the peer still reads what it is sent."""
        return not self.left and not self.lost

    @property
    def unacknowledged(self) -> int:
        """Messages that the peer may not have."""
        return self._sent - self._acked

    def control(self, kind: int, channel: int = 0, body: bytes = b"") -> None:
        """Sends a control message, if the peer still reads."""
        if not self.is_open:
            return
        seq = 0
        if kind not in (HELLO, ACK):
            self._sent = seq = self._sent + 1
        self._packed = self.seen
        self._add(self.envelope.control(kind, seq, self.seen, channel, body))
        if pad := -len(body) & 7:
            self._add(bytes(pad))
        if not self._holds:
            self.push()

    def frame(
        self, frame: Frame, flags: int, channel: int, payload: memoryview | None, idle: bool = False
    ) -> None:
        """Sends a frame, and with it what is owed. The memory of `payload` must stay as it is as long as the view exists.
        `idle`: the consumer waits for it; else it may travel with others that follow."""
        is_first = not self._parts  # also where what is owed comes before it in the packet
        # whoever sees the frame sees the credit of what was consumed before it, too
        credit = self._settle_with_frame() if self.owing else NO_CREDIT
        self._sent = seq = self._sent + 1
        parts, prefix = self._parts, self.envelope.prefix
        length = 0 if payload is None else len(payload)
        if length > self._inline:
            flags |= APART
        self._packed = seen = self.seen
        parts.append(pack_frame(prefix, frame, flags, seq, seen, channel, length, *credit))
        nbytes = self._nbytes + FRAME_BYTES
        if payload is not None:
            if flags & APART:
                self._bodies.append(payload)
                self._following += length
            else:
                nbytes += length
                parts.append(payload)
                if pad := -length & 7:
                    nbytes += pad
                    parts.append(bytes(pad))
        self._nbytes = nbytes
        is_full = nbytes >= self._packet_bytes or self._following >= self._following_bytes
        if idle or is_full or frame.kind != DATA:
            self.push()
        elif is_first:
            self._soon()

    def _add(self, part: bytes | memoryview) -> None:
        self._parts.append(part)
        self._nbytes += len(part)

    def push(self) -> None:
        """Sends the packet that is being gathered."""
        parts, bodies = self._parts, self._bodies
        if not parts:
            return
        if bodies:
            parts[0] = followed(parts[0])  # type: ignore[arg-type]
        packet = b"".join(parts)
        self._parts, self._bodies, self._nbytes, self._following = [], [], 0, 0
        if self._sent > self._pushed:
            self._pushed = self._sent
            self._kept.append((self._sent, packet, bodies))
        self._told = self._packed
        if self._told == self.seen:  # else more has come since the packet was begun
            self._untold_bytes = 0
        self.port.send(self.peer, packet, bodies)

    def resend(self) -> None:
        """Sends everything again that the peer has not acknowledged: the connection was cut and is there again."""
        for _, packet, bodies in self._kept:
            self.port.send(self.peer, packet, bodies)

    def accepts(self, message: Message, nbytes: int) -> bool:
        """Takes in the acknowledgement of a message, and says whether the message itself is the next one.

        False: it has come before, or one before it was lost with a connection and will be sent again. BrokenError: it
        acknowledges what was never sent."""
        self.acknowledged(message.ack)
        if message.seq == 0:
            return True
        if message.seq != self.seen + 1:
            self._untold_bytes += ACK_BYTES if message.seq <= self.seen else 0
            return False
        self.took(1, nbytes)
        return True

    def acknowledged(self, ack: int) -> None:
        """The peer has the messages up to number `ack`. BrokenError: it cannot have."""
        if ack > self._sent:
            raise BrokenError(f"message {ack} was acknowledged, {self._sent} were sent")
        if ack > self._acked:
            self._acked, kept = ack, self._kept
            while kept and kept[0][0] <= ack:
                kept.popleft()

    def took(self, count: int, nbytes: int) -> None:
        """The next messages of the peer were taken in."""
        self.seen += count
        self._untold_bytes += nbytes

    def acknowledge(self, *, now: bool = False) -> bool:
        """Tells the peer what has come, if that is much, or `now`. Returns whether something is left to tell."""
        if not self.is_open or (self._told == self.seen and not self._untold_bytes):
            return False
        if now or self.seen - self._told >= ACK_MESSAGES or self._untold_bytes >= ACK_BYTES:
            self.control(ACK)
            return False
        return True

    def settle(self, *, now: bool) -> bool:
        """Sends the packet that is being gathered, and the promises, credit and acknowledgements that are worth a message; `now`:
        all. Returns whether some are left."""
        left = False
        if self.owing:
            if not self.is_open:
                self.owing.clear()
            elif self.unacknowledged < WINDOW:
                owing, self.owing = self.owing, {}
                self._holds = True
                for number, end in owing.items():
                    if end.settle(now=now):
                        self.owing[number] = end
                self._holds = False
            left = bool(self.owing)
        self.push()
        return self.acknowledge(now=now) or left

    def _settle_with_frame(self) -> Credit:
        """Sends what is owed before a frame, except the credit that is returned: the frame carries that of one channel."""
        credit = NO_CREDIT
        if self.unacknowledged < WINDOW:
            owing, self.owing = self.owing, {}
            self._holds = True
            for end in owing.values():
                found = end.take_credit() if credit is NO_CREDIT else None
                if found is None:
                    end.settle(now=True)
                else:
                    credit = found
            self._holds = False
        return credit

    def drop(self) -> None:
        """Gives up what waits for an acknowledgement: nobody will send one."""
        self._kept.clear()
        self._parts.clear()
        self._bodies.clear()
        self._nbytes = self._following = 0
        self._acked = self._pushed = self._sent
        self.owing.clear()


def new_incarnation() -> int:
    """A number that tells a process from another one that takes its place."""
    return secrets.randbits(63) | 1
