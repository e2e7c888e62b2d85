"""One rank of the conformance suite over MPI: `mpiexec -n 2 python tests/conformance/mpi_ranks.py`, and the checks that
need a third rank with `-n 3`. With the word `same-host`, ranks 0 and 1 share memory, and rank 2 counts as elsewhere."""

from __future__ import annotations

import sys
from typing import Any

from mpi4py import MPI

from actorstream.testing.transport import CHECKS
from actorstream.testing.transport.check import pipes
from actorstream.testing.transport.ranks import play_ranks
from actorstream.transports.mpi.fabric import MpiFabric
from actorstream.transports.mpi.knocks import Knocks
from actorstream.transports.mpi.transport import MpiTransport
from actorstream.transports.mpi.world import finalize
from actorstream.transports.network.same_host import SameHost, own_place

world = MPI.COMM_WORLD
checks = tuple(check for check in CHECKS if world.size < 3 or check.workers == world.size)
knocks = Knocks.among(lambda data, _: world.allgather(data), world.rank, None, 100.0)
options: dict[str, Any] = {"start_s": 100.0, "knocks": knocks}
if "same-host" in sys.argv:
    options["same_host"] = SameHost(world.rank, [own_place(), own_place(), bytes(16)], bytes(32), 100.0)
    fabric = MpiFabric(3, pipes((0, 1), (1, 2), (1, 0)), 1, **options)
    print(
        f"rank {world.rank} shares {sorted(fabric.near.channels) if fabric.near is not None else []}",
        flush=True,
    )
    fabric.close()
played, failures = play_ranks(checks, MpiTransport, world.rank, world.size, **options)
for failure in failures:
    print(failure, file=sys.stderr, flush=True)
if failures:
    world.Abort(1)
least = world.allreduce(played, op=MPI.MIN)
print(f"each rank of {world.size} played {least} checks", flush=True)
finalize(MPI)
