"""What a rank has begun to send over MPI goes on while a hook keeps its loop thread, and a knock wakes a rank that sleeps."""

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


UNDER_WAY = """
import os
from mpi4py import MPI
from actorstream.native.arena import Arena
from actorstream.transports.mpi import port as module

world = MPI.COMM_WORLD
if world.rank == 0:
    world.Send([b"packet", MPI.BYTE], 1, 3)
    world.Recv([bytearray(1), MPI.BYTE], 1, 5)
    world.Send([b"payload!", MPI.BYTE], 1, 4)
else:
    module.following = lambda packet: [8]
    port, told = module.MpiPort(MPI, 1, Arena.create(1 << 20, 1)), []
    while port.is_done():  # the packet has not come
        assert port.receive() is None
    port.on_traffic = lambda: told.append(port.is_done())
    assert port.receive() is None  # as a worker does between two turns
    world.Send([b"!", MPI.BYTE], 0, 5)
    under_way = list(told)
    while (come := port.receive()) is None:
        pass
    print(under_way, told[-1], bytes(come[1][0]).decode(), flush=True)
world.Barrier()
os._exit(0)
"""


def test_while_a_payload_is_under_way_whoever_looks_for_packets_hears_of_it() -> None:
    """A worker that has taken the packet may go to sleep before the payload has come, and no packet may follow."""
    mpiexec = Path(sys.executable).with_name("mpiexec")
    command = [mpiexec, "-n", "2", sys.executable, "-c", UNDER_WAY]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LONG_S, check=False)
    assert done.stdout == "[False] False payload!\n", done.stderr


KNOCKED = """
import os, select
from mpi4py import MPI
from actorstream.native.arena import Arena
from actorstream.transports.mpi.knocks import Knocks
from actorstream.transports.mpi.port import MpiPort

world = MPI.COMM_WORLD
knocks = Knocks.among(lambda data, _: world.allgather(data), world.rank, None, 10.0)
port, other = MpiPort(MPI, 1, Arena.create(1 << 20, 1), knocks), 1 - world.rank
knocks.greet([other])
while not knocks.all_come([other]):
    select.select([knocks.fd], [], [])
    knocks.take()
world.Barrier()
knocks.take()  # what was still on its way
world.Barrier()
if world.rank == 0:
    port.send(1, b"packet", [])
else:
    select.select([knocks.fd], [], [])
    knocked = knocks.take()
    while (come := port.receive()) is None:
        pass
    print(knocked, bytes(come[0]).decode(), flush=True)
world.Barrier()
os._exit(0)
"""


def test_a_rank_that_waits_for_knocks_alone_hears_of_a_packet() -> None:
    mpiexec = Path(sys.executable).with_name("mpiexec")
    command = [mpiexec, "-n", "2", sys.executable, "-c", KNOCKED]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LONG_S, check=False)
    assert done.stdout == "True packet\n", done.stderr
