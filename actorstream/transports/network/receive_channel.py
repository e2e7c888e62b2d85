"""The consumer's end of a channel over a network: frames that have come, and the credit that goes back for them."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any
from weakref import ref

from actorstream.errors import BrokenError, ClosedError
from actorstream.transports.base import FRONTIER_MIN, Channel, Frame, FrameKind, ReceiveChannel
from actorstream.transports.network.message import (
    CREDIT,
    CREDITS,
    KEEP,
    MOST_BYTES,
    PROMISE,
    RECEIVER_CLOSED,
    SAME,
    Credit,
    to_own_clock,
)

if TYPE_CHECKING:
    from actorstream.events.jumbo import JumboTuple
    from actorstream.transports.network.exchange import Exchange
    from actorstream.transports.network.link import Link

END = int(FrameKind.END)
LEAST_KEPT = 256
"""So many consumed jumbo tuples are noted before it is looked which of them are free."""


class NetworkReceiveChannel(ReceiveChannel):
    """Owned by the worker's loop thread."""

    def __init__(self, channel: Channel, link: Link, exchange: Exchange) -> None:
        self.channel = channel
        self._link, self._exchange = link, exchange
        self._frames: deque[Frame] = deque()
        self._frontiers = [FRONTIER_MIN] * channel.frontiers
        self._taken = self._taken_bytes = 0
        self._told = self._due = self._due_bytes = 0
        """What the peer was last told that was consumed, and from when on it has to be told again."""
        self._owes = False
        self._tell()
        self._last: JumboTuple | None = None
        """The payload that the next frame may refer to."""
        self._kept: list[ref[Any]] = []
        """Of the blocks of consumed jumbo tuples; some of it is free by now."""
        self._most_kept = LEAST_KEPT
        self._ended = False
        self._lost = ""
        self._closed = False

    # -- what comes

    def arrive(self, frame: Frame, flags: int) -> None:
        """Takes in a frame. BrokenError: its sender had no credit for it, or its rows cannot be."""
        if self._closed:
            return
        if flags & SAME:
            frame.payload = self._last
            if frame.payload is None:
                raise BrokenError(f"{self}: a frame refers to a payload that was not sent before it")
        self._check(frame)
        self.arrive_checked([frame])
        self._last = frame.payload if flags & KEEP else None

    def arrive_checked(self, frames: list[Frame]) -> None:
        """Takes in frames whose rows fit their payloads. BrokenError: their sender had no credit for them."""
        if self._closed:
            return
        if len(self._frames) + len(frames) > self.channel.slots:
            raise BrokenError(f"{self}: a frame beyond the {self.channel.slots} that may wait")
        if self._link.ahead:
            for frame in frames:
                to_own_clock(frame, self._link.ahead)
        self._last = None
        self._frames.extend(frames)
        self._exchange.ring(self.channel.receive_bit)

    def _check(self, frame: Frame) -> None:
        payload = frame.payload
        if frame.nbytes > MOST_BYTES:
            raise BrokenError(
                f"{self}: a frame that counts as {frame.nbytes} bytes; allowed: at most {MOST_BYTES}"
            )
        if payload is None:
            if frame.rows or frame.first:
                raise BrokenError(f"{self}: a frame of {frame.rows} rows without a payload")
        elif frame.kind != FrameKind.DATA:
            raise BrokenError(f"{self}: a mark of kind {frame.kind} with a payload")
        elif frame.first < 0 or frame.rows < 0:
            raise BrokenError(f"{self}: rows {frame.first} to {frame.first + frame.rows}")
        elif frame.schema and frame.first + frame.rows > payload.rows:
            raise BrokenError(
                f"{self}: rows {frame.first} to {frame.first + frame.rows} of a jumbo tuple of {payload.rows}"
            )

    def promise(self, body: Any) -> None:
        """Takes in frontiers that have risen. BrokenError: the channel has no such word."""
        for word, value in PROMISE.iter_unpack(body):
            if word >= len(self._frontiers):
                raise BrokenError(f"{self}: frontier word {word} of {len(self._frontiers)}")
            if value > self._frontiers[word]:
                self._frontiers[word] = value
        if not self._closed:
            self._exchange.ring(self.channel.receive_bit)

    def lose(self, why: str) -> None:
        """Nothing more will come."""
        if not self._lost and not self._closed:
            self._lost = why
            self._exchange.ring(self.channel.receive_bit)

    # -- the consumer

    def peek(self, ahead: int = 0) -> Frame | None:
        frames = self._frames
        if ahead < len(frames):
            return frames[ahead]
        if self._closed:
            raise ClosedError(f"{self}: this receiving end was closed; nothing can be received any more")
        if self._lost and not frames and not self._ended:
            raise BrokenError(f"{self}: {self._lost}")
        return None

    def consume(self) -> None:
        if not self._frames and self.peek() is None:
            raise IndexError(f"{self}: nothing waits, so nothing can be consumed")
        frame = self._frames.popleft()
        self._taken += 1
        self._taken_bytes += frame.nbytes
        payload = frame.payload
        if payload is None:
            self._ended = frame.kind == END
        else:
            kept, block = self._kept, payload.block
            if not kept or kept[-1]() is not block:  # else a part of it was consumed before
                kept.append(ref(block))
                if len(kept) >= self._most_kept:
                    self._most_kept = max(LEAST_KEPT, 2 * self._forget_freed())
        if self._taken >= self._due or self._taken_bytes >= self._due_bytes:
            self.settle(now=False)
        elif not self._owes:
            self._owes = True
            self._exchange.owe(self._link, self, soon=True)

    def _forget_freed(self) -> int:
        """Returns how many jumbo tuples are kept."""
        self._kept = [each for each in self._kept if each() is not None]
        return len(self._kept)

    def settle(self, *, now: bool) -> bool:
        """Gives back credit, if it is worth a message or `now`. Returns whether some is left to give."""
        if self._taken == self._told or self._closed:
            return False
        if not now and self._taken < self._due and self._taken_bytes < self._due_bytes:
            return True
        self._tell()
        self._link.control(CREDIT, self.channel.id, CREDITS.pack(self._taken, self._taken_bytes))
        return False

    def _tell(self) -> None:
        """Notes that the peer is told of all that was consumed, and when it has to be told again."""
        self._told, self._owes = self._taken, False
        self._due = self._taken + max(1, self.channel.slots // 4)
        self._due_bytes = self._taken_bytes + self.channel.budget // 4

    def take_credit(self) -> Credit | None:
        """The credit to give back, which the caller sends; None: there is none."""
        if self._taken == self._told or self._closed:
            return None
        self._tell()
        return self.channel.id + 1, self._taken, self._taken_bytes

    def frontier(self, word: int = 0) -> int:
        return self._frontiers[word]

    def waiting(self) -> int:
        return len(self._frames)

    def statistics(self) -> dict[str, int]:
        return {"received": self._taken, "waiting": len(self._frames), "kept": self._forget_freed()}

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._frames.clear()
            self._last = None
            self._link.control(RECEIVER_CLOSED, self.channel.id)

    def __repr__(self) -> str:
        return (
            f"channel {self.channel.id} from worker {self.channel.sender} to worker {self.channel.receiver}"
        )
