"""The listening side of channels for producers outside the plan: one token, one producer, memory of their own.

The worker makes everything (channel, arena, eventfd) and hands it over, so it needs to trust no descriptor it is given.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import os
import socket
from dataclasses import dataclass, field

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.native.arena import Arena
from actorstream.native.channel import ReceiveRing, channel_size, lay_out_channel
from actorstream.native.doorbell import Doorbell
from actorstream.native.line import LINE, Line
from actorstream.native.memory import ControlMemory, create_eventfd, create_memfd
from actorstream.transports.base import Channel
from actorstream.transports.shm.channel import ShmReceiveChannel
from actorstream.transports.shm.fabric import ShmFabric
from actorstream.transports.shm.handshake import (
    VERSION,
    Hello,
    Offer,
    Refusal,
    Token,
    check_user,
    receive_hello,
    send_message,
)
from actorstream.transports.shm.layout import LEAST_RETURNS, aligned, power_of_two

BITS = 64
"""Bits of an outside producer's doorbell; bit 0 is its credit."""
BELL = aligned(LINE)
RING = aligned(BELL + Doorbell.size(BITS))
ARENA_BUDGETS = 16
LEAST_ARENA = 256 << 20
_numbers = itertools.count(1)


@dataclass
class Opening:
    """One `listen`: a socket until its producer has attached, then the memory they share."""

    token: Token
    channel: Channel
    returns: int
    listening: socket.socket
    memory: ControlMemory
    arena_fd: int
    arena_limit: int
    eventfd: int
    attached: asyncio.Future[socket.socket]
    task: asyncio.Task[None] | None = None
    arena: Arena | None = None
    bell: Doorbell | None = None
    connection: socket.socket | None = None
    fds: list[int] = field(default_factory=list)


class Listener:
    """All openings of one worker. Used from its loop only."""

    def __init__(self, fabric: ShmFabric, worker: int) -> None:
        self._fabric = fabric
        self._worker = worker
        self._openings: dict[str, Opening] = {}

    async def listen(self, receive_bit: int, slots: int, budget: int) -> str:
        """Makes channel and arena, and waits for a producer in the background; answers the token."""
        bits = self._fabric.layout.bits
        if not 0 <= receive_bit < bits:
            raise ConfigurationError(
                f"listen: receive_bit {receive_bit} is not one of this worker's doorbell; allowed: 0 to {bits - 1}"
            )
        loop = asyncio.get_running_loop()
        slots = power_of_two(slots)
        returns = max(4 * slots, LEAST_RETURNS)
        memory = ControlMemory(RING + channel_size(slots, returns, 1), name="actorstream-outside")
        Doorbell.lay_out(memory, BELL, BITS)
        lay_out_channel(memory, RING, slots, returns, 1, self._fabric.plan)
        limit = max(LEAST_ARENA, ARENA_BUDGETS * budget)
        token = Token.new(self._fabric.plan)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        listening.bind(token.address)
        listening.listen(4)
        opening = Opening(
            token,
            Channel(-next(_numbers), -1, self._worker, 0, receive_bit, slots, budget, 1),
            returns,
            listening,
            memory,
            create_memfd("actorstream-arena-outside", limit),
            limit,
            create_eventfd(),
            loop.create_future(),
        )
        opening.task = loop.create_task(self._serve(opening))
        self._openings[str(token)] = opening
        return str(token)

    async def accept(self, token: str, own: Doorbell) -> ShmReceiveChannel:
        """The receiving end, once the producer has attached. `own`: this worker's doorbell, rung when he is gone."""
        opening = self._openings.get(token)
        if opening is None:
            raise ConfigurationError(f"worker {self._worker} does not listen under token {token[:24]!r}")
        connection = await opening.attached
        channel = opening.channel
        arena = opening.arena = Arena.map(opening.arena_fd, opening.arena_limit, self._arena_id(channel))
        opening.bell = Doorbell(opening.memory, BELL, BITS, opening.eventfd)
        ring = ReceiveRing(
            opening.memory, RING, plan=self._fabric.plan, peer=opening.bell, peer_bit=channel.send_bit
        )

        def arena_of(id: int) -> Arena:
            if id != arena.id:
                raise BrokenError(f"an outside producer named arena {id:#x}, its own is {arena.id:#x}")
            return arena

        line = Line(opening.memory, 0)
        end = ShmReceiveChannel(channel, ring, line, arena_of, opening.returns // 2, outside=True)
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.remove_reader(connection.fileno())
            end.lose()
            own.ring(channel.receive_bit)

        loop.add_reader(connection.fileno(), gone)  # he says nothing more: readable means that he hung up
        return end

    async def _serve(self, opening: Opening) -> None:
        loop = asyncio.get_running_loop()
        while not opening.attached.done():
            connection, _ = await loop.sock_accept(opening.listening)
            try:
                check_user(connection)
                await self._greet(opening, connection, await receive_hello(connection))
            except (BrokenError, OSError):
                connection.close()  # whoever that was, the token stays good for its owner
        opening.listening.close()

    async def _greet(self, opening: Opening, connection: socket.socket, hello: Hello) -> None:
        why = ""
        if hello.version != VERSION:
            why = f"it speaks version {hello.version} of the handshake, this worker {VERSION}"
        elif hello.plan != self._fabric.plan:
            why = f"its token is of plan {hello.plan:#018x}, this worker runs {self._fabric.plan:#018x}"
        elif not hmac.compare_digest(hello.secret.encode(), opening.token.secret.encode()):
            why = "its token's secret is wrong"
        if why:
            await send_message(connection, Refusal(why), [])
            connection.close()
            return
        fabric, channel = self._fabric, opening.channel
        offer = Offer(
            plan=fabric.plan,
            slots=channel.slots,
            budget=channel.budget,
            worker=self._worker,
            receive_bit=channel.receive_bit,
            bell_offset=fabric.layout.bells[self._worker],
            bell_bits=fabric.layout.bits,
            control_bytes=fabric.layout.size,
            channel_bytes=opening.memory.nbytes,
            arena_id=self._arena_id(channel),
            arena_limit=opening.arena_limit,
        )
        fds = [
            opening.memory.fd,
            opening.arena_fd,
            fabric.control.fd,
            fabric.eventfds[self._worker],
            opening.eventfd,
        ]
        await send_message(connection, offer, fds)
        opening.connection = connection
        if not opening.attached.done():
            opening.attached.set_result(connection)

    def _arena_id(self, channel: Channel) -> int:
        """Outside every fabric's ids, so that nobody takes such a block for one that he can forward."""
        return 0xFF00_0000 | (-channel.id & 0xFF_FFFF)

    def close(self) -> None:
        """Stops listening and hangs up. Ends that were accepted are closed by their owner before."""
        loop = asyncio.get_running_loop()
        for opening in self._openings.values():
            if opening.task is not None:
                opening.task.cancel()
            opening.attached.cancel()
            opening.listening.close()
            if opening.connection is not None:
                loop.remove_reader(opening.connection.fileno())
                opening.connection.close()
            if opening.arena is not None:
                opening.arena.close()
            if opening.bell is not None:
                opening.bell.close()
            opening.memory.close()
            with contextlib.suppress(OSError):
                os.close(opening.arena_fd)
            os.close(opening.eventfd)
        self._openings.clear()
