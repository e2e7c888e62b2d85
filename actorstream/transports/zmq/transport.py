"""One worker's end of a run over ZeroMQ: sockets, the exchange over them, and what is done when a connection is cut.

A cut connection comes back by itself, and what was not acknowledged is sent again. A peer that stays away longer than
`ZmqFabric.away_s`, or whose process on this host has ended, is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
from typing import Any, ClassVar

from actorstream.errors import ClosedError
from actorstream.native.arena import Arena
from actorstream.native.doorbell import Doorbell
from actorstream.native.pidfd import open_pidfd
from actorstream.transports.base import Channel, Fabric, HandedOver, ReceiveChannel, SendChannel, Transport
from actorstream.transports.network.exchange import Exchange
from actorstream.transports.shm.transport import ShmTransport
from actorstream.transports.sizing import refuse_options
from actorstream.transports.zmq.assembly import ZmqAssembly
from actorstream.transports.zmq.fabric import ZmqFabric
from actorstream.transports.zmq.sockets import LINGER_MS, Sockets, curve_keys

OPTIONS = (
    "scheme",
    "addresses",
    "secret",
    "curve",
    "start_s",
    "away_s",
    "bound",
    "clocks",
    "same_host",
    "here",
)
CLOCKS_S = 1.0
"""Between two looks at how far the clocks of the peers are ahead."""
AWAY = 1.2
"""A connection that is not made again for so many times the limit is lost: the keepalive, if there is one, says it first and
names the host."""
QUIET_S = 0.1
"""After a process on this host has ended, what it sent is still read; it is lost when nothing came for so long."""


class ZmqTransport(Transport):
    """One worker. Made in the process that uses it."""

    name: ClassVar[str] = "zmq"
    assembly = ZmqAssembly

    @classmethod
    def fabric(cls, workers: int, channels: list[Channel], plan: int, **options: Any) -> ZmqFabric:
        """Options: see ZmqFabric. Without any, the workers are on this host and use Unix sockets."""
        refuse_options(cls.name, options, OPTIONS)
        return ZmqFabric(workers, channels, plan, **options)

    @classmethod
    def take_over(cls, workers: int, channels: list[Channel], plan: int, handed: HandedOver) -> ZmqFabric:
        return ZmqFabric.taken_over(workers, channels, plan, handed)

    def __init__(self, fabric: Fabric, worker: int) -> None:
        if not isinstance(fabric, ZmqFabric):
            raise TypeError(f"transport 'zmq' needs a ZmqFabric, not a {type(fabric).__name__}")
        self.worker = worker
        self._fabric = fabric
        address = fabric.addresses[worker]
        encrypted = fabric.curve and any(each.startswith("tcp:") for each in fabric.addresses)
        slots = sum(each.slots for each in fabric.channels.values() if worker in (each.sender, each.receiver))
        curve = curve_keys(fabric.secret) if encrypted else None
        self._sockets = Sockets(
            fabric.bound or address,
            peers=fabric.workers - 1,
            curve=curve,
            slots=slots,
            away_s=fabric.away_s,
        )
        self._near = ShmTransport(fabric.near, worker) if fabric.near is not None else None
        bell = None
        if self._near is not None and fabric.near is not None:
            bell = (self._near.doorbell, fabric.near.layout.bells[worker])
        self._exchange = Exchange(fabric, worker, self._sockets, trusted=False, met=self._met, bell=bell)
        self._arena = Arena.create(fabric.arena_limit, secrets.randbits(31))
        self._loop: asyncio.AbstractEventLoop | None = None
        self._cut: dict[int, asyncio.TimerHandle] = {}
        self._pidfds: dict[int, int] = {}
        self._clocks: asyncio.TimerHandle | None = None
        self._connected: set[int] = set()

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        links, addresses = self._exchange.links, self._fabric.addresses
        for peer in links:
            self._sockets.connect(peer, addresses[peer])
            self._exchange.greet(peer)
        self._sockets.watch(self._loop, self._exchange.poll, self._changed)
        self._changed()
        self._compare_clocks()
        if self._near is not None:
            await self._near.start()
        await self._exchange.gather(self._fabric.start_s, [addresses[peer] for peer in links])

    @property
    def doorbell(self) -> Doorbell:
        if self._near is not None and not self._exchange.links:
            return self._near.doorbell  # nothing comes from elsewhere
        return self._exchange.bell

    @property
    def arena(self) -> Arena:
        return self._arena if self._near is None else self._near.arena

    def sender(self, channel: Channel) -> SendChannel:
        if self._near is not None and channel.id not in self._fabric.channels:
            return self._near.sender(channel)
        return self._exchange.sender(channel)

    def receiver(self, channel: Channel) -> ReceiveChannel:
        if self._near is not None and channel.id not in self._fabric.channels:
            return self._near.receiver(channel)
        return self._exchange.receiver(channel)

    def statistics(self) -> dict[str, int]:
        """refused: messages without a key of this run, which were dropped unread."""
        return {"refused": self._exchange.arrivals.refused}

    def lose(self, worker: int, why: str) -> None:
        if not self._exchange.closed and worker in self._exchange.links:
            self._exchange.lose(worker, why)
        if self._near is not None:
            self._near.lose(worker, why)

    async def close(self) -> None:
        """Waits until every peer that lives has what was sent to it; nothing is lost with a slow receiver."""
        if self._exchange.closed:
            return
        loop, exchange = self._loop, self._exchange
        try:
            if loop is not None:
                await exchange.leave(self._fabric.start_s)
        finally:
            lost = frozenset(peer for peer, link in exchange.links.items() if link.lost or link.left)
            exchange.close()
            for timer in (*self._cut.values(), self._clocks):
                if timer is not None:
                    timer.cancel()
            if loop is not None:
                self._sockets.unwatch(loop)
                for pidfd in self._pidfds.values():
                    loop.remove_reader(pidfd)
                    os.close(pidfd)
            self._pidfds.clear()
            self._sockets.close(LINGER_MS, lost)
            self._arena.close()
            if self._near is not None:
                await self._near.close()

    def _compare_clocks(self) -> None:
        """Entry times that come from another host are put right by how far its clock is ahead."""
        assert self._loop is not None
        known = [(link, self._fabric.clocks(peer)) for peer, link in self._exchange.links.items()]
        for link, clock in known:
            if clock is not None:
                link.compare_clocks(*clock)
        if any(clock is not None for _, clock in known):
            self._clocks = self._loop.call_later(CLOCKS_S, self._compare_clocks)

    # -- connections

    def _changed(self) -> None:
        """A connection was made or cut."""
        for peer, made in self._sockets.connections():
            link = self._exchange.links[peer]
            if not link.is_open:
                continue
            if not made:
                self._missed(peer)
                continue
            timer = self._cut.pop(peer, None)
            if timer is not None:
                timer.cancel()
            if peer in self._connected:
                self._exchange.greet(peer)
                link.resend()
            else:
                self._connected.add(peer)

    def _missed(self, peer: int) -> None:
        """There is no connection; the peer is lost unless one is made in time."""
        if peer not in self._cut and self._loop is not None:  # else an attempt to connect again has failed
            self._cut[peer] = self._loop.call_later(AWAY * self._fabric.away_s, self._away, peer)

    def _away(self, peer: int) -> None:
        self._cut.pop(peer, None)
        if not self._exchange.closed and self._exchange.links[peer].is_open:
            self._exchange.lose(
                peer,
                f"{self._name(peer)} is lost: it was out of reach for {self._fabric.away_s:g} s",
            )

    def _name(self, peer: int) -> str:
        return f"worker {peer} at {self._fabric.addresses[peer]}"

    def _met(self, peer: int, process: int) -> None:
        """Watches the process of a peer on this host: it cannot come back."""
        if peer not in self._connected:
            self._missed(peer)  # it has reached this worker, so this worker must reach it soon
        if process in (0, os.getpid()) or peer in self._pidfds or self._loop is None:
            return
        try:
            self._pidfds[peer] = open_pidfd(process)
        except ProcessLookupError:
            self._ended(peer)
        except OSError:
            return  # no descriptor is left: the connection will tell
        else:
            self._loop.add_reader(self._pidfds[peer], self._ended, peer)

    def _ended(self, peer: int) -> None:
        assert self._loop is not None
        pidfd = self._pidfds.pop(peer, None)
        if pidfd is not None:
            self._loop.remove_reader(pidfd)
            os.close(pidfd)
        self._quiet(peer, -1)

    def _quiet(self, peer: int, seen: int) -> None:
        """Loses an ended peer once all that it sent was read."""
        with contextlib.suppress(ClosedError):
            self._exchange.poll()
        link = self._exchange.links[peer]
        if self._exchange.closed or not link.is_open:
            return
        if link.seen == seen:
            self._exchange.lose(peer, f"{self._name(peer)} is lost: its process has ended")
            return
        assert self._loop is not None
        self._loop.call_later(QUIET_S, self._quiet, peer, link.seen)
