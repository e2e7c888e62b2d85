"""The sending end of a producer outside the plan: memory that the listening worker made, a doorbell of its own.

It allocates in its arena and waits for credit; it knows nothing of the run but its one channel.
"""

from __future__ import annotations

import asyncio
import os
import socket
import weakref
from typing import TYPE_CHECKING

from actorstream.errors import BrokenError
from actorstream.native.arena import Arena
from actorstream.native.channel import SendRing
from actorstream.native.doorbell import Doorbell
from actorstream.native.line import CacheLine
from actorstream.native.memory import ControlMemory
from actorstream.transports.base import Channel, Frame, OutsideChannel
from actorstream.transports.shm.channel import ShmSendChannel
from actorstream.transports.shm.handshake import (
    VERSION,
    ListenToken,
    Offer,
    ProducerHello,
    check_user,
    readable,
    receive_offer,
    send_message,
)
from actorstream.transports.shm.listener import BITS, CREDIT_BELL, FRAMES_BELL, RING
from actorstream.transports.shm.retired import retire, sweep

if TYPE_CHECKING:
    from actorstream.events.row_format import RowFormat


class ShmOutsideChannel(ShmSendChannel, OutsideChannel):
    """What `attach` answers. Build jumbo tuples in `arena`; `send` waits for credit."""

    def __init__(self, offer: Offer, fds: list[int], connection: socket.socket) -> None:
        """Takes over the descriptors and the connection."""
        channel_fd, arena_fd, peer_eventfd, own_eventfd = fds
        self._connection = connection
        self._fds = fds
        memory = ControlMemory(offer.channel_bytes, fd=channel_fd)
        self._own = Doorbell(memory, CREDIT_BELL, BITS, own_eventfd)
        peer = Doorbell(memory, FRAMES_BELL, BITS, peer_eventfd)
        arena = Arena.create(offer.arena_limit, offer.arena_id, fd=arena_fd)
        channel = Channel(0, -1, offer.worker, 0, 0, offer.slots, offer.budget, 1)
        ring = SendRing(memory, RING, plan=offer.plan, budget=offer.budget, peer=peer, peer_bit=0)
        line = CacheLine(memory, 0)
        super().__init__(channel, ring, line, peer, arena, frozenset((offer.arena_id,)))
        self._shut = weakref.finalize(self, retire, ring)  # where close() is forgotten
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(connection.fileno(), self._gone)

    @property
    def doorbell(self) -> Doorbell:
        return self._own

    @property
    def arena(self) -> Arena:
        return self._arena

    def rows(self, layout: str) -> None:
        """None: the worker takes no rows in entries from outside."""

    def events(self, rows: RowFormat, schema: int, producer: int) -> None:
        """None: as `rows`."""

    async def send(self, frame: Frame) -> None:
        self.poll()
        while not self.send_nowait(frame):
            await self._rung()
            self.poll()

    async def _rung(self) -> None:
        bell = self._own
        while not bell.collect():
            if bell.park():
                try:
                    await readable(bell.eventfd)
                finally:
                    bell.unpark()

    def _gone(self) -> None:
        """The worker said nothing after its offer, so readable means that it hung up."""
        self._loop.remove_reader(self._connection.fileno())
        self.lose()
        self._own.ring(self.channel.send_bit)

    def close(self) -> None:
        if self._closed:
            return
        self._shut.detach()
        super().close()
        self._loop.remove_reader(self._connection.fileno())
        self._connection.close()
        self._arena.close()
        self._own.close()
        self._peer.close()
        for fd in self._fds:
            os.close(fd)


async def attach(text: str) -> ShmOutsideChannel:
    """See `Transport.attach`."""
    sweep()
    token = ListenToken.parse(text)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    try:
        try:
            await asyncio.get_running_loop().sock_connect(connection, token.address)
        except OSError as error:
            raise BrokenError(
                f"nobody listens under token {text[:32]}…: {error.strerror}; it was used already, or its worker ended"
            ) from None
        check_user(connection)
        await send_message(connection, ProducerHello(VERSION, token.plan, token.secret), [])
        offer, fds = await receive_offer(connection)
        try:
            return ShmOutsideChannel(offer, fds, connection)
        except BaseException:
            for fd in fds:
                os.close(fd)
            raise
    except BaseException:
        connection.close()
        raise
