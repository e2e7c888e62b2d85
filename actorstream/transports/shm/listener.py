"""The listening side of channels for producers outside the plan: one token, one producer, memory of their own.

The worker makes everything (channel, doorbells, arena, eventfds), opens its ends of it, and only then hands it over: it trusts
no descriptor that it is given and nothing that stands in this memory afterwards. A producer sees no other memory of the run.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import itertools
import os
import socket

import msgspec

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.native.arena import Arena
from actorstream.native.channel import ReceiveRing, channel_size, lay_out_channel
from actorstream.native.doorbell import Doorbell
from actorstream.native.line import LINE, CacheLine
from actorstream.native.memory import ControlMemory, create_eventfd, create_memfd
from actorstream.transports.base import Channel, ReceiveChannel
from actorstream.transports.shm.channel import ShmReceiveChannel
from actorstream.transports.shm.fabric import ShmFabric
from actorstream.transports.shm.handshake import (
    VERSION,
    ListenToken,
    Offer,
    ProducerHello,
    Refusal,
    check_user,
    receive_hello,
    send_message,
)
from actorstream.transports.shm.layout import LEAST_RETURNS, aligned, power_of_two

BITS = 64
"""Bits of the doorbells between a worker and an outside producer, of which bit 0 is used."""
CREDIT_BELL = aligned(LINE)
"""What the worker rings: there is credit."""
FRAMES_BELL = aligned(CREDIT_BELL + Doorbell.size(BITS))
"""What the producer rings: there are frames."""
RING = aligned(FRAMES_BELL + Doorbell.size(BITS))
ARENA_BUDGETS = 16
LEAST_ARENA = 256 << 20
MOST_GREETED = 16
"""Clients of one token that are greeted at a time; further ones wait."""
RETRY = 0.1
"""Seconds until a listener that could not accept a client, for want of descriptors say, tries again."""
_numbers = itertools.count(1)


class Opening(msgspec.Struct):
    """One `listen`: a socket until its producer has attached, then the memory they share and the worker's ends of it."""

    token: ListenToken
    channel: Channel
    returns: int
    listening: socket.socket
    memory: ControlMemory
    arena_fd: int
    arena: Arena
    eventfds: tuple[int, int]
    credit: Doorbell
    frames: Doorbell
    ring: ReceiveRing
    attached: asyncio.Future[socket.socket]
    task: asyncio.Task[None] | None = None
    accepted: bool = False
    closed: bool = False

    def relay(self, own: Doorbell) -> None:
        """The producer may have rung. It cannot ring the worker's own doorbell, which it does not see."""
        if self.closed:
            return
        self.frames.unpark()
        self.frames.collect()
        own.ring(self.channel.receive_bit)
        if not self.frames.park():
            self.attached.get_loop().call_soon(self.relay, own)

    def close(self) -> None:
        """Stops listening and hangs up. An end that was accepted is closed by its owner before."""
        self.closed = True
        loop = self.attached.get_loop()
        if self.task is not None:
            self.task.cancel()
        self.listening.close()
        loop.remove_reader(self.eventfds[1])
        if self.attached.done() and not self.attached.cancelled():
            connection = self.attached.result()
            loop.remove_reader(connection.fileno())
            connection.close()
        self.attached.cancel()
        if not self.accepted:
            self.ring.close()
        self.arena.close()
        self.credit.close()
        self.frames.close()
        self.memory.close()
        for fd in (self.arena_fd, *self.eventfds):
            os.close(fd)


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
        slots = power_of_two(slots)
        channel = Channel(-next(_numbers), -1, self._worker, 0, receive_bit, slots, budget, 1)
        with contextlib.ExitStack() as undo:
            opening = self._open(channel, undo)
            undo.pop_all()
        opening.task = asyncio.get_running_loop().create_task(self._serve(opening))
        self._openings[str(opening.token)] = opening
        return str(opening.token)

    def _open(self, channel: Channel, undo: contextlib.ExitStack) -> Opening:
        """Makes what worker and producer share, and opens the worker's ends. `undo`: of what was made so far."""
        plan, returns = self._fabric.plan, max(4 * channel.slots, LEAST_RETURNS)
        token = ListenToken.new(plan)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
        undo.callback(listening.close)
        memory = ControlMemory(RING + channel_size(channel.slots, returns, 1), name="actorstream-outside")
        undo.callback(memory.close)
        for bell in (CREDIT_BELL, FRAMES_BELL):
            Doorbell.lay_out(memory, bell, BITS)
        lay_out_channel(memory, RING, channel.slots, returns, 1, plan)
        limit = max(LEAST_ARENA, ARENA_BUDGETS * channel.budget)
        arena_fd = create_memfd("actorstream-arena-outside", limit)
        undo.callback(os.close, arena_fd)
        eventfds = []
        for _ in range(2):
            eventfds.append(create_eventfd())
            undo.callback(os.close, eventfds[-1])
        credit = Doorbell(memory, CREDIT_BELL, BITS, eventfds[0])
        opening = Opening(
            token=token,
            channel=channel,
            returns=returns,
            listening=listening,
            memory=memory,
            arena_fd=arena_fd,
            arena=Arena.map(arena_fd, limit, self._arena_id(channel)),
            eventfds=(eventfds[0], eventfds[1]),
            credit=credit,
            frames=Doorbell(memory, FRAMES_BELL, BITS, eventfds[1]),
            ring=ReceiveRing(memory, RING, plan=plan, peer=credit, peer_bit=channel.send_bit),
            attached=asyncio.get_running_loop().create_future(),
        )
        listening.bind(token.address)
        listening.listen(MOST_GREETED)
        return opening

    async def accept(self, token: str, own: Doorbell, ends: list[ReceiveChannel]) -> ShmReceiveChannel:
        """The receiving end, once the producer has attached. `own`: this worker's doorbell, rung when he has sent something
        or is gone. `ends`: the worker's, of which it is one until it is closed; then nothing is left of the opening."""
        opening = self._openings.get(token)
        if opening is None:
            raise ConfigurationError(f"worker {self._worker} does not listen under token {token[:24]!r}")
        connection = await asyncio.shield(opening.attached)  # a caller that gives up may come again
        if opening.accepted:
            raise ConfigurationError(
                f"worker {self._worker} has accepted the producer of token {token[:24]!r} already; allowed: once; call listen() "
                "for another token"
            )
        channel, arena = opening.channel, opening.arena

        def arena_of(id: int) -> Arena:
            if id != arena.id:
                raise BrokenError(f"an outside producer named arena {id:#x}, its own is {arena.id:#x}")
            return arena

        def forget() -> None:
            ends.remove(end)
            del self._openings[token]
            opening.close()

        line = CacheLine(opening.memory, 0)
        most_kept = opening.returns // 2
        end = ShmReceiveChannel(
            channel, opening.ring, line, arena_of, most_kept, outside=True, on_close=forget
        )
        ends.append(end)
        opening.accepted = True
        loop = asyncio.get_running_loop()

        def gone() -> None:
            loop.remove_reader(connection.fileno())
            end.lose()
            own.ring(channel.receive_bit)

        loop.add_reader(connection.fileno(), gone)  # he says nothing more: readable means that he hung up
        loop.add_reader(opening.eventfds[1], opening.relay, own)
        opening.relay(own)
        return end

    async def _serve(self, opening: Opening) -> None:
        """Greets whoever comes, each for itself, until one has attached."""
        loop = asyncio.get_running_loop()
        room = asyncio.Semaphore(MOST_GREETED)
        greeting: set[asyncio.Task[None]] = set()

        def greeted(task: asyncio.Task[None]) -> None:
            greeting.discard(task)
            room.release()

        async def welcome() -> None:
            while True:
                await room.acquire()
                try:
                    connection, _ = await loop.sock_accept(opening.listening)
                except OSError:  # no descriptor left, or a client that has gone again
                    room.release()
                    await asyncio.sleep(RETRY)
                    continue
                task = loop.create_task(self._greet(opening, connection))
                greeting.add(task)
                task.add_done_callback(greeted)

        waiting = loop.create_task(welcome())
        try:
            await asyncio.wait((waiting, opening.attached), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (waiting, *greeting):
                task.cancel()
            opening.listening.close()

    async def _greet(self, opening: Opening, connection: socket.socket) -> None:
        """Lets the producer in, if it has the token; whoever else it is, the token stays good for its owner."""
        kept = False
        try:
            check_user(connection)
            why = self._wrong(opening, await receive_hello(connection))
            if why:
                await send_message(connection, Refusal(why), [])
                return
            fds = [opening.memory.fd, opening.arena_fd, opening.eventfds[1], opening.eventfds[0]]
            await send_message(connection, self._offer(opening), fds)
            opening.attached.set_result(connection)
            kept = True
        except (BrokenError, OSError):
            pass
        finally:
            if not kept:
                connection.close()

    def _wrong(self, opening: Opening, hello: ProducerHello) -> str:
        """Why this producer is not let in; empty: it is."""
        if hello.version != VERSION:
            return f"it speaks version {hello.version} of the handshake, this worker {VERSION}"
        if hello.plan != self._fabric.plan:
            return f"its token is of plan {hello.plan:#018x}, this worker runs {self._fabric.plan:#018x}"
        if not hmac.compare_digest(hello.secret.encode(), opening.token.secret.encode()):
            return "its token's secret is wrong"
        return "its token was used already" if opening.attached.done() else ""

    def _offer(self, opening: Opening) -> Offer:
        return Offer(
            plan=self._fabric.plan,
            slots=opening.channel.slots,
            budget=opening.channel.budget,
            worker=self._worker,
            channel_bytes=opening.memory.nbytes,
            arena_id=opening.arena.id,
            arena_limit=opening.arena.limit,
        )

    def _arena_id(self, channel: Channel) -> int:
        """Outside every fabric's ids, so that nobody takes such a block for one that he can forward."""
        return 0xFF00_0000 | (-channel.id & 0xFF_FFFF)

    def close(self) -> None:
        """Stops listening and hangs up. Ends that were accepted are closed by their owner before."""
        for opening in self._openings.values():
            opening.close()
        self._openings.clear()
