"""What each rank knows of a run over MPI. Every rank makes the same one; it starts no MPI."""

from __future__ import annotations

import itertools

from actorstream.transports.base import Channel, Fabric
from actorstream.transports.shm.limits import Limits, arena_limit

MASK = 2**64 - 1
_runs = itertools.count()


class MpiFabric(Fabric):
    """The channels of a run.

    Attributes:
        secret: that of the message headers; MPI lets nobody in from outside, so it is no secret.
        start_s: how long a worker waits for its peers at the start.
        run: tells the messages of this run from those of another one between the same ranks. All ranks of a world make
            their fabrics in the same order, so that they agree without a message.
    """

    secret = b"mpi"

    def __init__(self, workers: int, channels: list[Channel], plan: int, *, start_s: float = 30.0) -> None:
        self.run = next(_runs)
        self.workers = workers
        self.channels = {channel.id: channel for channel in channels}
        self.plan = plan & MASK
        self.start_s = start_s
        budgets = [0] * workers
        for channel in channels:
            budgets[channel.sender] += channel.budget
            budgets[channel.receiver] += channel.budget  # received jumbo tuples lie in the receiver's arena
        self.arena_limit = arena_limit(Limits.read(), workers, budgets, 0)

    def close(self) -> None:
        """Nothing is open: MPI belongs to the process."""
