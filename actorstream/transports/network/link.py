"""A worker's link to one peer: numbers what is sent, keeps it until the peer has it, and takes in what comes once each.

The link survives a connection that is cut: `resend` repeats what the peer has not acknowledged, and `accepts` drops
what came before. It knows no sockets and no channels' credit.
"""

from __future__ import annotations

import secrets
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from actorstream.errors import BrokenError
from actorstream.transports.network.message import ACK, APART, HELLO, NO_CREDIT, Credit, Envelope

if TYPE_CHECKING:
    from actorstream.transports.base import Frame
    from actorstream.transports.network.message import Message

INLINE = 16 << 10
"""A payload of at most so many bytes is copied behind its header, which costs less than a second part."""
WINDOW = 1024
"""With so many unacknowledged messages, credits and promises wait: later ones replace them."""
ACK_MESSAGES, ACK_BYTES = 32, 1 << 20
"""What is acknowledged at once; less waits for a message that goes back anyway, or for the next timer."""


class Port(Protocol):
    """How the messages of a worker reach its peers. `receive` returns None if nothing has come. `descriptor` is readable once
    something has come; None: there is no such descriptor."""

    @property
    def descriptor(self) -> int | None: ...

    def send(self, peer: int, head: bytes, payload: memoryview | None) -> None: ...
    def receive(self) -> tuple[Any, Any | None] | None: ...


class End(Protocol):
    """A channel end. `settle` sends what it owes if that is worth a message, or `now`, and says whether some is left.
    `take_credit` returns the credit that it owes, to be sent by the caller; None: it owes none."""

    def settle(self, *, now: bool) -> bool: ...
    def take_credit(self) -> Credit | None: ...


class Link:
    """The link from worker `envelope.sender` to its peer `envelope.receiver`, with what has come back over it.

    Attributes:
        greeted: whether the peer has said HELLO.
        left: whether the peer has said BYE: it reads nothing any more.
        lost: why the peer is lost; "" if it is not.
    """

    def __init__(self, port: Port, envelope: Envelope) -> None:
        self.port, self.envelope = port, envelope
        self.peer = envelope.receiver
        self.greeted = self.left = False
        self.lost = ""
        self.incarnation = 0
        self.ahead = 0
        """By how many nanoseconds the peer's clock is ahead of ours."""
        self.owing: dict[int, End] = {}
        """Channel ends that have promises or credit to send, by identity."""
        self.seen: int = 0
        """Sequence number of the last message that was taken in."""
        self._sent = self._acked = 0
        self._told = 0
        """What the peer was last told of `seen`."""
        self._untold_bytes = 0
        self._kept: deque[tuple[int, bytes, memoryview | None]] = deque()

    @property
    def is_open(self) -> bool:
        """Whether the peer still reads what it is sent."""
        return not self.left and not self.lost

    @property
    def unacknowledged(self) -> int:
        """Messages that the peer may not have."""
        return len(self._kept)

    def control(self, kind: int, channel: int = 0, body: bytes = b"") -> None:
        """Sends a control message, if the peer still reads."""
        if not self.is_open:
            return
        seq = 0
        if kind not in (HELLO, ACK):
            self._sent = seq = self._sent + 1
        self._put(seq, self.envelope.control(kind, seq, self.seen, channel, body), None)

    def frame(self, frame: Frame, flags: int, channel: int, payload: memoryview | None) -> None:
        """Sends a frame, and with it what is owed. The memory of `payload` must stay as it is as long as the view exists."""
        # whoever sees the frame sees the credit of what was consumed before it, too
        credit = self._settle_with_frame() if self.owing else NO_CREDIT
        self._sent = seq = self._sent + 1
        length = 0 if payload is None else len(payload)
        apart = length > INLINE
        if apart:
            flags |= APART
        head = self.envelope.frame(frame, flags, seq, self.seen, channel, length, credit)
        if payload is not None and not apart:
            self._put(seq, b"".join((head, payload)), None)
        else:
            self._put(seq, head, payload if apart else None)

    def _put(self, seq: int, head: bytes, payload: memoryview | None) -> None:
        if seq:
            self._kept.append((seq, head, payload))
        self._told, self._untold_bytes = self.seen, 0
        self.port.send(self.peer, head, payload)

    def resend(self) -> None:
        """Sends everything again that the peer has not acknowledged: the connection was cut and is there again."""
        for _, head, payload in self._kept:
            self.port.send(self.peer, head, payload)

    def accepts(self, message: Message, nbytes: int) -> bool:
        """Takes in the acknowledgement of a message, and says whether the message itself is the next one.

        False: it has come before, or one before it was lost with a connection and will be sent again. BrokenError: it
        acknowledges what was never sent."""
        ack = message.ack
        if ack > self._sent:
            raise BrokenError(f"message {ack} was acknowledged, {self._sent} were sent")
        if ack > self._acked:
            self._acked, kept = ack, self._kept
            while kept and kept[0][0] <= ack:
                kept.popleft()
        if message.seq == 0:
            return True
        if message.seq != self.seen + 1:
            self._untold_bytes += ACK_BYTES if message.seq <= self.seen else 0
            return False
        self.seen += 1
        self._untold_bytes += nbytes
        return True

    def acknowledge(self, *, now: bool = False) -> bool:
        """Tells the peer what has come, if that is much, or `now`. Returns whether something is left to tell."""
        if not self.is_open or (self._told == self.seen and not self._untold_bytes):
            return False
        if now or self.seen - self._told >= ACK_MESSAGES or self._untold_bytes >= ACK_BYTES:
            self.control(ACK)
            return False
        return True

    def settle(self, *, now: bool) -> bool:
        """Sends promises, credit and acknowledgements that are worth a message; `now`: all. Returns whether some are left."""
        left = False
        if self.owing:
            if not self.is_open:
                self.owing.clear()
            elif len(self._kept) < WINDOW:
                owing, self.owing = self.owing, {}
                for number, end in owing.items():
                    if end.settle(now=now):
                        self.owing[number] = end
            left = bool(self.owing)
        return self.acknowledge(now=now) or left

    def _settle_with_frame(self) -> Credit:
        """Sends what is owed before a frame, except the credit that is returned: the frame carries that of one channel."""
        credit = NO_CREDIT
        if len(self._kept) < WINDOW:
            owing, self.owing = self.owing, {}
            for end in owing.values():
                found = end.take_credit() if credit is NO_CREDIT else None
                if found is None:
                    end.settle(now=True)
                else:
                    credit = found
        return credit

    def drop(self) -> None:
        """Gives up what waits for an acknowledgement: nobody will send one."""
        self._kept.clear()
        self.owing.clear()


def new_incarnation() -> int:
    """A number that tells a process from another one that takes its place."""
    return secrets.randbits(63) | 1
