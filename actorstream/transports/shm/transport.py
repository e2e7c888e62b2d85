"""Transport `shm`: the workers are processes of one host, jumbo tuples stay where they were built.

One worker's end of the fabric: opens doorbells, arenas and channel ends on first use, and watches its peers.
"""

from __future__ import annotations

import os
import weakref
from typing import Any, ClassVar

from actorstream.errors import BrokenError, ClosedError, ConfigurationError
from actorstream.native.arena import Arena
from actorstream.native.channel import ReceiveRing, SendRing
from actorstream.native.doorbell import Doorbell
from actorstream.transports.base import Channel, Fabric, HandedOver, OutsideChannel, ReceiveChannel, Transport
from actorstream.transports.shm.channel import ShmReceiveChannel, ShmSendChannel
from actorstream.transports.shm.fabric import ShmFabric
from actorstream.transports.shm.layout import MAGIC, VERSION, ChannelPlace
from actorstream.transports.shm.listener import Listener
from actorstream.transports.shm.outside import attach
from actorstream.transports.shm.peers import Peers
from actorstream.transports.shm.rows import ROW_BYTES
from actorstream.transports.sizing import refuse_options


def _shut(senders: list[ShmSendChannel], receivers: list[ReceiveChannel], process: int) -> bool:
    """Closes all ends, in the process that opened them (a fork's child has copies). Called once."""
    if os.getpid() == process:
        for receiver in receivers.copy():
            receiver.close()
        for sender in senders:
            sender.close()
    return True


OPTIONS = ("arena_bytes", "commit_step", "huge_pages")


class ShmTransport(Transport):
    """One worker. Made in the process that uses it, after the fork."""

    name: ClassVar[str] = "shm"
    causal: ClassVar[bool] = True
    row_bytes: ClassVar[int] = ROW_BYTES

    @classmethod
    def fabric(cls, workers: int, channels: list[Channel], plan: int, **options: Any) -> ShmFabric:
        """Control memory, arenas and eventfds. Options: `arena_bytes` (address space of each arena; told from the
        budgets), `commit_step` (bytes; 4 MiB), `huge_pages` (tried, never required)."""
        refuse_options(cls.name, options, OPTIONS)
        return ShmFabric(workers, channels, plan, **options)

    @classmethod
    def take_over(cls, workers: int, channels: list[Channel], plan: int, handed: HandedOver) -> ShmFabric:
        """Maps the control memory that the descriptors lead to."""
        return ShmFabric.taken_over(workers, channels, plan, handed)

    def __init__(self, fabric: Fabric, worker: int) -> None:
        if not isinstance(fabric, ShmFabric):
            raise TypeError(f"transport 'shm' needs a ShmFabric, not a {type(fabric).__name__}")
        self.worker = worker
        self._fabric = fabric
        self._bells: dict[int, Doorbell] = {}
        self._bell = self._bell_of(worker)
        self._arena = Arena.create(
            fabric.arena_limit,
            fabric.arena_id(worker),
            fd=fabric.arena_fds[worker],
            commit_step=fabric.commit_step,
            huge_pages=fabric.huge_pages,
        )
        self._arenas = {self._arena.id: self._arena}
        self._senders: list[ShmSendChannel] = []
        self._receivers: list[ReceiveChannel] = []
        self._listener: Listener | None = None
        peers = {c.receiver for c in fabric.channels.values() if c.sender == worker}
        peers |= {c.sender for c in fabric.channels.values() if c.receiver == worker}
        self._peers = Peers(fabric, worker, peers - {worker}, self._lose)
        self._lost: set[int] = set()
        # also where close() was forgotten: the collector may take what an end needs before the end itself
        self._shut = weakref.finalize(self, _shut, self._senders, self._receivers, os.getpid())

    async def start(self) -> None:
        """Checks the fabric's header; peers are found as they start, nobody waits for anybody."""
        magic, version, _, _, plan, _ = self._fabric.header()
        if (magic, version, plan) != (MAGIC, VERSION, self._fabric.plan):
            raise ConfigurationError(
                f"worker {self.worker}: the fabric is of version {version} and plan {plan:#018x}, this worker's plan "
                f"is {self._fabric.plan:#018x}; start all workers from the same plan"
            )
        self._peers.start()

    @property
    def doorbell(self) -> Doorbell:
        return self._bell

    @property
    def arena(self) -> Arena:
        return self._arena

    def sender(self, channel: Channel) -> ShmSendChannel:
        fabric, place = self._fabric, self._place(channel)
        peer = self._bell_of(channel.receiver)
        ring = SendRing(
            fabric.control,
            place.ring,
            plan=fabric.plan,
            budget=channel.budget,
            peer=peer,
            peer_bit=channel.receive_bit,
        )
        line = fabric.line(place.line)
        end = ShmSendChannel(channel, ring, line, peer, self._arena, fabric.arena_ids)
        if channel.receiver in self._lost:
            end.lose()
        self._senders.append(end)
        return end

    def receiver(self, channel: Channel) -> ShmReceiveChannel:
        fabric, place = self._fabric, self._place(channel)
        ring = ReceiveRing(
            fabric.control,
            place.ring,
            plan=fabric.plan,
            peer=self._bell_of(channel.sender),
            peer_bit=channel.send_bit,
        )
        line = fabric.line(place.line)
        end = ShmReceiveChannel(channel, ring, line, self._arena_of, place.returns // 2, bell=self._bell)
        if channel.sender in self._lost:
            end.lose()
        self._receivers.append(end)
        return end

    async def listen(self, receive_bit: int, *, slots: int = 256, budget: int = 4 << 20) -> str:
        if self._listener is None:
            self._listener = Listener(self._fabric, self.worker)
        return await self._listener.listen(receive_bit, slots, budget)

    @classmethod
    async def attach(cls, token: str) -> OutsideChannel:
        return await attach(token)

    async def accept(self, token: str) -> ReceiveChannel:
        if self._listener is None:
            raise ConfigurationError(f"worker {self.worker} listens under no token; call listen() first")
        return await self._listener.accept(token, self._bell, self._receivers)

    def lose(self, worker: int, why: str) -> None:
        self._lose(worker)

    async def close(self) -> None:
        """Closes all ends; blocks that others still read stay where they are until this process ends."""
        if self._shut() is None:
            return
        if self._listener is not None:
            self._listener.close()
        self._peers.close()
        for arena in self._arenas.values():
            arena.close()
        for bell in self._bells.values():
            bell.close()

    def _place(self, channel: Channel) -> ChannelPlace:
        """Where a channel lies. ConfigurationError: the doorbells do not have its bits."""
        for bit in (channel.send_bit, channel.receive_bit):
            self._bell.require(bit, f"channel {channel.id}")  # all doorbells of the fabric have equally many
        return self._fabric.layout.channels[channel.id]

    def _bell_of(self, worker: int) -> Doorbell:
        bell = self._bells.get(worker)
        if bell is None:
            fabric = self._fabric
            bell = Doorbell(
                fabric.control, fabric.layout.bells[worker], fabric.layout.bits, fabric.eventfds[worker]
            )
            self._bells[worker] = bell
        return bell

    def _arena_of(self, id: int) -> Arena:
        """Another worker's arena, mapped read-only when its first block arrives."""
        arena = self._arenas.get(id)
        if arena is None:
            fabric = self._fabric
            if not self._shut.alive:
                raise ClosedError(f"worker {self.worker}: this transport was closed")
            if id not in fabric.arena_ids:
                raise BrokenError(
                    f"worker {self.worker}: a frame names arena {id:#x}, which is none of this run's"
                )
            fd = fabric.arena_fds[fabric.worker_of(id)]
            arena = self._arenas[id] = Arena.map(fd, fabric.arena_limit, id)
        return arena

    def _lose(self, peer: int) -> None:
        self._lost.add(peer)
        for sender in self._senders:
            if sender.channel.receiver == peer:
                sender.lose()
                self._bell.ring(sender.channel.send_bit)
        for receiver in self._receivers:
            if isinstance(receiver, ShmReceiveChannel) and receiver.channel.sender == peer:
                receiver.lose()
                self._bell.ring(receiver.channel.receive_bit)
