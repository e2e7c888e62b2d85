"""Transport `mpi`: workers are the ranks of an MPI job, on one host or many, started by mpiexec or srun."""

from __future__ import annotations

from actorstream.transports.mpi.fabric import MpiFabric
from actorstream.transports.mpi.transport import MpiTransport

__all__ = ["MpiFabric", "MpiTransport"]
