"""One rank of a run over MPI: the exchange over MPI messages, and when the rank looks for them.

MPI has no descriptor to sleep on. The loop thread takes in what has come whenever the worker looks at its doorbell, and when
`Lookout` says so.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from time import monotonic
from typing import Any, ClassVar

import mpi4py  # noqa: F401  # so that a missing extra is told; importing mpi4py.MPI would start MPI

from actorstream.native.arena import Arena
from actorstream.native.doorbell import Doorbell
from actorstream.transports.base import Channel, Fabric, ReceiveChannel, SendChannel, Transport
from actorstream.transports.mpi.assembly import MpiAssembly
from actorstream.transports.mpi.fabric import MpiFabric
from actorstream.transports.mpi.lookout import Lookout
from actorstream.transports.mpi.port import MpiPort
from actorstream.transports.mpi.world import check_rank, check_size, load, ranks_here, started_ranks
from actorstream.transports.network.exchange import Exchange
from actorstream.transports.shm.transport import ShmTransport
from actorstream.transports.sizing import refuse_options

OPTIONS = ("start_s", "same_host", "clock", "knocks", "here")
LEFT_S = 0.5
"""How long a rank that closes waits until one that has left takes what it was sent."""
CLOCKS_S, FIRST_CLOCK_S = 5.0, 2.0
"""Between two looks at how far the home rank's clock is ahead; how long a rank waits for the first one."""


class MpiTransport(Transport):
    """One rank; `worker` is its number in the world. Made in the process that uses it."""

    name: ClassVar[str] = "mpi"
    assembly = MpiAssembly

    @classmethod
    def fabric(cls, workers: int, channels: list[Channel], plan: int, **options: Any) -> MpiFabric:
        """Options: `start_s` (seconds that a rank waits for the others at the start; 30), `same_host` (which ranks share memory;
        None: none do), `clock` (how far the home rank's clock is ahead of this one's; None: all ranks have one clock), `knocks`
        (how ranks wake each other; None: they do not), `here` (the ranks on this host; None: all)."""
        refuse_options(cls.name, options, OPTIONS)
        return MpiFabric(workers, channels, plan, **options)

    def __init__(self, fabric: Fabric, worker: int) -> None:
        """ConfigurationError: this process is in no MPI world that can run the plan."""
        if not isinstance(fabric, MpiFabric):
            raise TypeError(f"transport 'mpi' needs an MpiFabric, not a {type(fabric).__name__}")
        check_rank(worker)
        mpi = load()
        world = mpi.COMM_WORLD
        check_size(world.Get_size(), fabric.workers, started_ranks())
        if worker != world.Get_rank():
            raise ValueError(
                f"worker {worker} in the process of rank {world.Get_rank()}; allowed: its own rank"
            )
        self.worker = worker
        self._fabric = fabric
        self._arena = Arena.create(fabric.arena_limit, secrets.randbits(31))
        self._port = MpiPort(mpi, fabric.run, self._arena, fabric.knocks)
        self._near = ShmTransport(fabric.near, worker) if fabric.near is not None else None
        bell = None
        if self._near is not None and fabric.near is not None:
            bell = (self._near.doorbell, fabric.near.layout.bells[worker])
        self._clock = fabric.clock
        self._exchange = Exchange(
            fabric, worker, self._port, trusted=True, bell=bell, clock=fabric.clock or (lambda: None)
        )
        self._telling: asyncio.TimerHandle | None = None
        # a rank that has no core of its own would only take the time of the others
        eager = ranks_here(mpi) <= len(os.sched_getaffinity(0))
        self._lookout = Lookout(
            self._port, self._exchange.poll, eager=eager, knocks=fabric.knocks, peers=[*self._exchange.links]
        )
        self._started = self._is_broken = False

    async def start(self) -> None:
        for peer in self._exchange.links:
            self._exchange.greet(peer)
        self._started = True
        if self._near is not None:
            await self._near.start()
        if self._exchange.links:
            self._lookout.start()
        await self._know_clock()
        self._tell_clock()
        await self._exchange.gather(self._fabric.start_s, [f"rank {peer}" for peer in self._exchange.links])

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

    def lose(self, worker: int, why: str) -> None:
        """MPI may not send to any rank any more, once a lost one has taken up all the memory for sending."""
        self._is_broken = True
        if not self._exchange.closed and worker in self._exchange.links:
            self._exchange.lose(worker, why)
        if self._near is not None:
            self._near.lose(worker, why)

    async def close(self) -> None:
        """Waits until every peer has what was sent to it."""
        if self._exchange.closed:
            return
        try:
            if self._started:
                limit_s = 0.0 if self._is_broken else self._fabric.start_s
                end = monotonic() + limit_s
                await self._exchange.leave(limit_s)
                await self._sent(end)
        finally:
            if self._telling is not None:
                self._telling.cancel()
            self._exchange.close()
            self._port.close()
            self._lookout.close()  # the port's thread writes to its descriptor no more
            self._arena.close()
            if self._near is not None:
                await self._near.close()

    async def _sent(self, end: float) -> None:
        """Waits until MPI has taken what was to be sent. A peer that has left still waits for the last acknowledgement, which
        nobody sends once this rank looks no more; but it may never take what lies before that."""
        links = self._exchange.links
        soon = min(end, monotonic() + LEFT_S)
        while monotonic() < end:
            now = monotonic()
            peers = [peer for peer, link in links.items() if link.is_open or (link.left and now < soon)]
            if self._port.has_sent(peers):
                return
            await asyncio.sleep(0)

    async def _know_clock(self) -> None:
        """Waits for the first comparison of clocks, which takes the way to the home rank and back."""
        end = monotonic() + FIRST_CLOCK_S
        while self._clock is not None and self._clock() is None and monotonic() < end:
            await asyncio.sleep(FIRST_CLOCK_S / 200)

    def _tell_clock(self) -> None:
        """Tells the peers again and again, so that entry times from a rank with another clock are put right."""
        if self._clock is not None and not self._exchange.closed:
            self._exchange.tell_clock()
            self._telling = asyncio.get_running_loop().call_later(CLOCKS_S, self._tell_clock)
