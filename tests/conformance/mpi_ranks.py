"""One rank of the conformance suite over MPI: `mpiexec -n 2 python tests/conformance/mpi_ranks.py`, and the checks that
need a third rank with `-n 3`."""

from __future__ import annotations

import sys

from mpi4py import MPI

from actorstream.testing.transport import CHECKS
from actorstream.testing.transport.ranks import play_ranks
from actorstream.transports.mpi import MpiTransport

world = MPI.COMM_WORLD
checks = tuple(check for check in CHECKS if world.size < 3 or check.workers == world.size)
played, failures = play_ranks(checks, MpiTransport, world.rank, world.size, start_s=100.0)
for failure in failures:
    print(failure, file=sys.stderr, flush=True)
if failures:
    world.Abort(1)
print(f"rank {world.rank} of {world.size} played {played} checks", flush=True)
