"""Takes packets apart and hands each message to the channel end or link that it is for. It refuses what no worker of the run
sends, and loses a peer that sends what it must not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.events.jumbo import JumboTuple
from actorstream.native.frames import received_jumbo, unpack_run
from actorstream.transports.base import Frame
from actorstream.transports.network.message import (
    ACK,
    BYE,
    CLOCK,
    CREDIT,
    CREDITS,
    FRAMES,
    HELLO,
    PROMISES,
    RECEIVER_CLOSED,
    SENDER,
    SENDER_CLOSED,
    Header,
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
        self._channels, self._trusted = exchange.network.channels, exchange.trusted
        secret = exchange.network.secret
        self._keys = {peer: key_between(secret, peer, self._worker) for peer in self._links}

    def take(self, packet: Any, bodies: Sequence[Any] = ()) -> int:
        """Takes in the messages of a packet, and returns how many there were, or about."""
        at = count = 0
        following = list(bodies)
        link = self._links.get(int.from_bytes(packet[SENDER], "little"))
        while count == 0 or at < len(packet):
            if link is not None and link.greeted and not link.lost:
                try:
                    at, taken = self._take_run(link, packet, at, following)
                    count += taken
                    if taken and at >= len(packet):
                        if following:
                            raise BrokenError(
                                f"{len(following)} payloads behind the last message of a packet"
                            )
                        break
                except BrokenError as error:
                    self._blame(link, error)
                    break
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
                at = self._take_one(link, header, packet, at, following)
            except BrokenError as error:
                self._blame(link, error)
        self._exchange.change()
        return count

    def _blame(self, link: Link, error: BrokenError) -> None:
        self._exchange.lose(link.peer, f"worker {link.peer} sent what it must not: {error}")

    def _take_one(self, link: Link, header: Header, packet: Any, at: int, following: list[Any]) -> int:
        """Takes in the message at byte `at`, and returns where the next one begins."""
        message, at = read(header, packet, at, following)
        if message.kind == HELLO:
            self._exchange.greeted(link, message)
        elif not link.greeted:
            return at  # its greeting was lost with a connection; both will be sent again
        if link.accepts(message, len(message.body)):
            self._dispatch(link, message)
        if following and at >= len(packet):
            raise BrokenError(f"{len(following)} payloads behind the last message of a packet")
        return at

    def _take_run(self, link: Link, packet: Any, at: int, following: list[Any]) -> tuple[int, int]:
        """Takes in the frames from byte `at` on, and returns where something else begins, and how many frames there were."""
        groups, at, count, nbytes, ack, used = unpack_run(
            Frame, JumboTuple, self._trusted, packet, at, link.incoming, link.seen + 1, following
        )
        if count:
            del following[:used]
            link.acknowledged(ack)
            link.took(count, nbytes)
            for number, flags, credit, frames in groups:
                if credit[0]:
                    sender = link.senders.get(credit[0] - 1) or self._outgoing(link, credit[0] - 1)
                    sender.credit(credit[1], credit[2])
                receiver = link.receivers.get(number) or self._incoming(link, number)
                if flags:
                    receiver.arrive(frames[0], flags)
                else:
                    receiver.arrive_checked(frames)
        return at, count

    def _arrive(self, link: Link, message: Message) -> None:
        credit, frame = message.credit, message.frame
        if credit[0]:
            self._outgoing(link, credit[0] - 1).credit(*credit[1:])
        assert frame is not None
        if len(message.body):
            frame.payload = received_jumbo(JumboTuple, self._trusted, message.body)
        self._incoming(link, message.channel).arrive(frame, message.flags)

    def _dispatch(self, link: Link, message: Message) -> None:
        kind = message.kind
        if kind in FRAMES:
            self._arrive(link, message)
        elif kind == CREDIT:
            self._outgoing(link, message.channel).credit(*CREDITS.unpack(message.body))
        elif kind == PROMISES:
            self._incoming(link, message.channel).promise(message.body)
        elif kind == CLOCK:
            self._exchange.clock_told(link, message)
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
        link.receivers[number] = found = self._exchange.receiver(channel)
        return found

    def _outgoing(self, link: Link, number: int) -> NetworkSendChannel:
        channel = self._channels.get(number)
        if channel is None or (channel.sender, channel.receiver) != (self._worker, link.peer):
            raise BrokenError(
                f"channel {number}, which does not lead from worker {self._worker} to {link.peer}"
            )
        link.senders[number] = found = self._exchange.sender(channel)
        return found
