"""The producer's end of a channel over a network: an account of credit, and frames handed to the peer's link."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorstream.errors import BrokenError, ClosedError, ResourceError
from actorstream.transports.base import FRONTIER_MIN, Channel, Frame, SendChannel
from actorstream.transports.network.message import (
    KEEP,
    MOST_BYTES,
    PROMISE,
    PROMISES,
    SAME,
    SENDER_CLOSED,
)

if TYPE_CHECKING:
    from actorstream.transports.network.exchange import Exchange
    from actorstream.transports.network.link import Link


class NetworkSendChannel(SendChannel):
    """Owned by the worker's loop thread."""

    def __init__(self, channel: Channel, link: Link, exchange: Exchange) -> None:
        self.channel = channel
        self._link, self._exchange = link, exchange
        self._sent = self._sent_bytes = self._peak = 0
        self._taken = self._taken_bytes = 0
        self._wish = False
        self._last: Any = None
        """The payload of the last frame; frames that follow with the same payload only refer to it."""
        self._frontiers = [FRONTIER_MIN] * channel.frontiers
        self._risen: set[int] = set()
        self._stopped: Callable[[], Exception] | None = None

    def send_nowait(self, frame: Frame) -> bool:
        nbytes = frame.nbytes
        if (self._stopped is not None or not self._fits(nbytes)) and not self.admits(nbytes):
            return False
        payload, body, flags = frame.payload, None, 0
        if payload is None:
            self._last = None
        elif payload is self._last:
            flags = SAME | self._keep(frame)
        else:
            size = payload.nbytes
            if size > MOST_BYTES:
                raise ResourceError(
                    f"{self}: a jumbo tuple of {size} bytes; allowed: at most {MOST_BYTES}; lower deploy.batch_size"
                )
            body = payload.root().data[:size]
            if frame.first + frame.rows == payload.rows:
                self._last = None
            else:
                flags = self._keep(frame)
        idle = self._sent == self._taken
        self._sent += 1
        self._sent_bytes += nbytes
        waiting = self._sent_bytes - self._taken_bytes
        if waiting > self._peak:
            self._peak = waiting
        self._link.frame(frame, flags, self.channel.id, body, idle)
        return True

    def _keep(self, frame: Frame) -> int:
        """KEEP, if this frame does not hand over the last rows of its payload."""
        payload = frame.payload
        if frame.schema and frame.first + frame.rows < payload.rows:
            self._last = payload
            return KEEP
        self._last = None
        return 0

    def admits(self, nbytes: int) -> bool:
        if self._stopped is not None:
            raise self._stopped()
        if self._fits(nbytes):
            return True
        self._exchange.poll()
        if self._stopped is not None:
            raise self._stopped()
        if self._fits(nbytes):
            return True
        self._wish = True
        return False

    def _fits(self, nbytes: int) -> bool:
        waiting = self._sent - self._taken
        if not waiting:
            return True
        channel = self.channel
        return waiting < channel.slots and self._sent_bytes - self._taken_bytes + nbytes <= channel.budget

    def advance(self, word: int, value: int, *, ring: bool = True) -> None:
        if value > self._frontiers[word]:
            self._frontiers[word] = value
            self._risen.add(word)
            self._exchange.owe(self._link, self, soon=ring)

    def settle(self, *, now: bool) -> bool:
        """Sends the frontiers that have risen. False: none is left to send."""
        if self._risen:
            body = b"".join(PROMISE.pack(word, self._frontiers[word]) for word in sorted(self._risen))
            self._risen.clear()
            self._link.control(PROMISES, self.channel.id, body)
        return False

    def take_credit(self) -> None:
        """This end receives nothing."""
        return

    def credit(self, taken: int, taken_bytes: int) -> None:
        """The receiver has consumed so many frames and bytes in all. BrokenError: it cannot have."""
        if not (self._taken <= taken <= self._sent and self._taken_bytes <= taken_bytes <= self._sent_bytes):
            raise BrokenError(
                f"{self}: {taken} frames of {taken_bytes} bytes were consumed of {self._sent} of {self._sent_bytes}"
            )
        self._taken, self._taken_bytes = taken, taken_bytes
        if self._wish or taken == self._sent:
            self._wish = False
            self._exchange.ring(self.channel.send_bit)

    def is_empty(self) -> bool:
        return self._sent == self._taken

    def poll(self) -> None:
        self._exchange.poll()

    def statistics(self) -> dict[str, int]:
        return {
            "sent": self._sent,
            "waiting": self._sent - self._taken,
            "waiting_bytes": self._sent_bytes - self._taken_bytes,
            "loans": 0,
            "peak_bytes": self._peak,
            "sent_bytes": self._sent_bytes,
        }

    def lose(self, why: str) -> None:
        """The receiver does not read any more."""
        if self._stopped is None:
            self._last = None
            self._stopped = lambda: BrokenError(f"{self}: {why}")
            self._exchange.ring(self.channel.send_bit)

    def close(self) -> None:
        if self._stopped is None:
            self.settle(now=True)
            self._link.control(SENDER_CLOSED, self.channel.id)
        self._last = None
        self._stopped = lambda: ClosedError(
            f"{self}: this sending end was closed; nothing can be sent any more"
        )

    def __repr__(self) -> str:
        return (
            f"channel {self.channel.id} from worker {self.channel.sender} to worker {self.channel.receiver}"
        )
