"""What each rank knows of a run over MPI. Every rank makes the same one; it starts no MPI."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from actorstream.transports.base import Channel, Fabric
from actorstream.transports.shm.limits import Limits, arena_limit

if TYPE_CHECKING:
    from actorstream.native.keepalive import ClockOffset
    from actorstream.transports.mpi.knocks import Knocks
    from actorstream.transports.network.same_host import SameHost

MASK = 2**64 - 1
_runs = itertools.count()


class MpiFabric(Fabric):
    """The channels of a run.

    Attributes:
        secret: that of the message headers; MPI lets nobody in from outside, so it is no secret.
        start_s: how long a worker waits for its peers at the start.
        clock: how far the home rank's clock is ahead of this rank's; None: it is not known (yet).
        knocks: how ranks wake each other; None: they do not.
        near: the memory of channels between ranks of this host, if they share any; the others are `channels`.
        run: tells the messages of this run from those of another one between the same ranks. All ranks of a world make
            their fabrics in the same order, so that they agree without a message.
    """

    secret = b"mpi"

    def __init__(
        self,
        workers: int,
        channels: list[Channel],
        plan: int,
        *,
        start_s: float = 30.0,
        same_host: SameHost | None = None,
        clock: Callable[[], ClockOffset | None] | None = None,
        knocks: Knocks | None = None,
        here: Collection[int] | None = None,
    ) -> None:
        """`clock`: None: all ranks have one clock. `here`: the ranks on this host, whose limits count; None: all.
        ResourceError: a limit of this host is too small."""
        self.run = next(_runs)
        self.workers = workers
        self.near = same_host.share(workers, channels, plan) if same_host is not None else None
        if self.near is not None:
            channels = [channel for channel in channels if channel.id not in self.near.channels]
        self.channels = {channel.id: channel for channel in channels}
        self.plan = plan & MASK
        self.start_s, self.clock, self.knocks = start_s, clock, knocks
        budgets = Counter[int]()
        for channel in channels:
            budgets[channel.sender] += channel.budget
            budgets[channel.receiver] += channel.budget  # received jumbo tuples lie in the receiver's arena
        own = [budgets[worker] for worker in (range(workers) if here is None else here)]
        # nobody knows how many files MPI itself opens
        self.arena_limit = arena_limit(Limits.read("mpi"), 1, own, 0, transport="mpi", files=0)

    def close(self) -> None:
        """Lets go of shared memory; MPI belongs to the process."""
        if self.near is not None:
            self.near.close()
