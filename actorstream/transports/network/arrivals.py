"""Takes packets apart and hands each message to the channel end or link that it is for. It refuses what no worker of the run
sends, and loses a peer that sends what it must not."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.native.frames import unpack_run
from actorstream.transports.base import Frame
from actorstream.transports.network.message import (
    ACK,
    APART,
    BYE,
    CREDIT,
    CREDITS,
    FRAMES,
    HELLO,
    PROMISES,
    RECEIVER_CLOSED,
    SENDER_CLOSED,
    Credit,
    Message,
    header_of,
    key_between,
    read,
)

if TYPE_CHECKING:
    from actorstream.transports.network.exchange import Exchange
    from actorstream.transports.network.link import Link
    from actorstream.transports.network.receive_channel import NetworkReceiveChannel
    from actorstream.transports.network.send_channel import NetworkSendChannel


class Arrivals:
    """Of one worker.

    Attributes:
        refused: packets that carried no key of this run, of which nothing more was read.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.refused = 0
        self._exchange, self._worker, self._links = exchange, exchange.worker, exchange.links
        self._channels = exchange.network.channels
        secret = exchange.network.secret
        self._keys = {peer: key_between(secret, peer, self._worker) for peer in self._links}

    def take(self, packet: Any, bodies: Sequence[Any] = ()) -> int:
        """Takes in the messages of a packet, and returns how many there were, or about."""
        at = count = 0
        following = deque(bodies)
        while count == 0 or at < len(packet):
            count += 1
            try:
                header = header_of(packet, at, self._worker, self._keys)
            except ConfigurationError as error:
                self._exchange.refuse(error)
                break
            if header is None:
                self.refused += 1
                break
            link = self._links[header[4]]
            if link.lost:
                break
            try:
                message, at = read(header, packet, at, following)
                if message.kind == HELLO:
                    self._exchange.greeted(link, message)
                elif not link.greeted:
                    raise BrokenError(f"a message of kind {message.kind} before a greeting")
                if link.accepts(message, len(message.body)):
                    self._dispatch(link, message)
                if at < len(packet) and link.greeted:
                    at = self._take_run(link, packet, at, following)
                if following and at >= len(packet):
                    raise BrokenError(f"{len(following)} payloads behind the last message of a packet")
            except BrokenError as error:
                self._exchange.lose(link.peer, f"worker {link.peer} sent what it must not: {error}")
        self._exchange.change()
        return count

    def _take_run(self, link: Link, packet: Any, at: int, following: deque[Any]) -> int:
        """Takes in the frames from byte `at` on, and returns where something else begins."""
        run, at = unpack_run(Frame, packet, at, link.incoming, link.seen + 1)
        for frame, flags, channel, ack, credit, start, length in run:
            if flags & APART:
                body = following.popleft() if following else b""
                if len(body) != length:
                    raise BrokenError(f"a frame that announces {length} bytes, of which {len(body)} follow")
            else:
                body = packet[start : start + length]
            link.acknowledged(ack)
            link.took(length)
            self._arrive(link, channel, frame, flags, body, credit)
        return at

    def _arrive(
        self, link: Link, number: int, frame: Frame | None, flags: int, body: Any, credit: Credit
    ) -> None:
        if credit[0]:
            self._outgoing(link, credit[0] - 1).credit(*credit[1:])
        assert frame is not None
        self._incoming(link, number).arrive(frame, flags, body)

    def _dispatch(self, link: Link, message: Message) -> None:
        kind = message.kind
        if kind in FRAMES:
            self._arrive(link, message.channel, message.frame, message.flags, message.body, message.credit)
        elif kind == CREDIT:
            self._outgoing(link, message.channel).credit(*CREDITS.unpack(message.body))
        elif kind == PROMISES:
            self._incoming(link, message.channel).promise(message.body)
        elif kind == SENDER_CLOSED:
            self._incoming(link, message.channel).lose("the sender has closed without an end mark")
        elif kind == RECEIVER_CLOSED:
            self._outgoing(link, message.channel).lose("the receiver has closed before the end mark")
        elif kind == BYE:
            link.acknowledge(now=True)
            link.left = True
            link.drop()
            self._exchange.part(link.peer, f"worker {link.peer} has left")
        elif kind not in (HELLO, ACK):
            raise BrokenError(f"a message of kind {kind}, which no channel has")

    def _incoming(self, link: Link, number: int) -> NetworkReceiveChannel:
        channel = self._channels.get(number)
        if channel is None or (channel.sender, channel.receiver) != (link.peer, self._worker):
            raise BrokenError(
                f"channel {number}, which does not lead from worker {link.peer} to {self._worker}"
            )
        return self._exchange.receiver(channel)

    def _outgoing(self, link: Link, number: int) -> NetworkSendChannel:
        channel = self._channels.get(number)
        if channel is None or (channel.sender, channel.receiver) != (self._worker, link.peer):
            raise BrokenError(
                f"channel {number}, which does not lead from worker {self._worker} to {link.peer}"
            )
        return self._exchange.sender(channel)
