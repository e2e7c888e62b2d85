"""What a rank has begun to send over MPI goes on while a hook keeps its loop thread."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

NBYTES = 64 << 20
LONG_S = 60.0
RANKS = f"""
import os, sys
from pathlib import Path
from time import monotonic, sleep
import numpy as np
from mpi4py import MPI
from actorstream.native.arena import Arena
from actorstream.transports.mpi.port import MpiPort

world, arrived = MPI.COMM_WORLD, Path(sys.argv[1])
data = np.full({NBYTES}, world.rank, np.uint8)
if world.rank == 0:
    port = MpiPort(MPI, 1, Arena.create(1 << 20, 1))
    port.send(1, b"packet", [data.data])
    end = monotonic() + {LONG_S}
    while not arrived.exists() and monotonic() < end:
        sleep(0.01)  # a hook, which calls nothing of MPI
    print(arrived.exists(), flush=True)
else:
    world.Recv([data, MPI.BYTE], 0, 4)
    if not data.any():
        arrived.touch()
world.Barrier()  # mpiexec may end the other rank when one leaves
os._exit(0)
"""


def test_a_large_payload_leaves_while_a_hook_keeps_the_loop_thread(tmp_path: Path) -> None:
    # over tcp, as between hosts: ranks of one host read each other's memory, which needs nobody's help
    environment = {**os.environ, "MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self"}
    mpiexec = Path(sys.executable).with_name("mpiexec")
    command = [mpiexec, "-n", "2", sys.executable, "-c", RANKS, tmp_path / "arrived"]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=2 * LONG_S, env=environment, check=False
    )
    assert done.stdout == "True\n", done.stderr
