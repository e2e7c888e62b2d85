"""The MPI world of this process, and what is said if it is not the one that the plan needs."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from time import sleep
from typing import Any

from actorstream.errors import ConfigurationError
from actorstream.native.progress import ProbeThread

_RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")
"""Variables in which launchers say which rank a process is."""
_STARTED = (*_RANKS[:2], "PMIX_RANK", "SLURM_STEP_NUM_TASKS")
"""Variables that only a process has which was started as a rank. SLURM_PROCID is set in a batch script, too."""
_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "MV2_COMM_WORLD_SIZE")
"""Variables in which launchers say how many ranks they started."""
LOOK_S = 0.0005
"""Between two looks for a message: MPI has nothing to sleep on, and would take a core by itself."""


def started_ranks() -> int:
    """How many ranks the launcher says it started; 1 if nobody says anything."""
    return max((int(os.environ[name]) for name in _SIZES if os.environ.get(name, "").isdigit()), default=1)


def is_rank() -> bool:
    """Whether mpiexec or srun has started this process."""
    return any(os.environ.get(name, "").isdigit() for name in _STARTED)


def is_first_rank() -> bool:
    """Whether this process speaks for all that the launcher has started, where it says who is who."""
    said = (os.environ.get(name, "") for name in (*_RANKS[:2], "PMIX_RANK", _RANKS[2]))
    return next((each for each in said if each.isdigit()), "0") == "0"


def alone(started: int) -> ConfigurationError:
    """Each of the processes that a launcher has started is in a world of its own."""
    return ConfigurationError(
        f"transport 'mpi': {started} ranks were started, but each is alone in a world of its own: the launcher's process "
        "management does not fit this MPI; use the mpiexec that belongs to it, or srun --mpi=pmi2 (srun --mpi=list shows "
        "what there is)"
    )


def check_rank(worker: int) -> None:
    """ConfigurationError: the launcher says that this process, or the one that it was forked from, is another rank. To
    be called before MPI starts, since two processes cannot be one rank."""
    for name in _RANKS:
        said = os.environ.get(name, "")
        if said.isdigit() and int(said) == worker:
            return  # the variables after it are those of a batch script in which mpiexec was called
        if said.isdigit():
            raise ConfigurationError(
                f"transport 'mpi': worker {worker} in a process of rank {said} ({name}): a rank is one worker, "
                "and cannot be forked from another"
            )


def load() -> Any:
    """The module `mpi4py.MPI`; importing it starts MPI. ConfigurationError: there is no MPI that works."""
    if "SLURM_STEP_NUM_TASKS" in os.environ and "PMI_FD" in os.environ:
        # Over UCX, mpich 5.0.2 publishes some 4 KiB of its memory as its address. In values as long as SLURM allows, a request
        # is longer than the 1,024 bytes that SLURM's plugin reads at a time, and the start fails. Over libfabric it is short.
        os.environ.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ConfigurationError(
            f"transport 'mpi': MPI does not start: {error}; load the cluster's MPI module, or pip install 'actorstream[mpi]'"
        ) from error
    return MPI


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Signals that ask this process to end do so at once. MPI waits in C for the other ranks where it starts: Python would hear
    of a signal only once they have come, and one that has heard of its own never comes. Only the main thread can say so."""
    if current_thread() is not main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def progress_of(mpi: Any, tag: int) -> ProbeThread | None:
    """What looks for messages of this tag while the loop thread is busy; None: MPI lets only one thread call it, or hides its
    functions."""
    if mpi.Query_thread() < mpi.THREAD_MULTIPLE:
        return None
    try:
        found = ctypes.cast(ctypes.CDLL(mpi.__file__).MPI_Iprobe, ctypes.c_void_p).value
        comm = int(mpi._handleof(mpi.COMM_WORLD))
    except (AttributeError, OSError):
        return None
    return ProbeThread(found or 0, int(mpi.ANY_SOURCE), tag, comm)


_here: list[int] = []


def ranks_here(mpi: Any) -> int:
    """Ranks on this host. All ranks of the world ask together, the first time."""
    if not _here:
        shared = mpi.COMM_WORLD.Split_type(mpi.COMM_TYPE_SHARED)
        _here.append(int(shared.Get_size()))
        shared.Free()
    return _here[0]


def finalize(mpi: Any) -> None:
    """Ends MPI, after the last acknowledgements, which nobody has waited for, were taken in: MPICH fails to end while a message
    is unread, and its launcher then kills the other ranks. All ranks of the world call it together."""
    world, status = mpi.COMM_WORLD, mpi.Status()
    all_here, looks = world.Ibarrier(), 2
    while looks:
        if all_here.Test():
            looks -= 1
        while (message := world.Improbe(mpi.ANY_SOURCE, mpi.ANY_TAG, status)) is not None:
            message.Recv([bytearray(status.Get_count(mpi.BYTE)), mpi.BYTE])
        sleep(LOOK_S)
    mpi.Finalize()


def check_size(size: int, workers: int, started: int) -> None:
    """ConfigurationError: a world of `size` ranks cannot run a plan of `workers`, of whom `started` were started."""
    if size >= workers:
        return
    if size == 1 and started > 1:
        raise alone(started)
    raise ConfigurationError(
        f"transport 'mpi': the plan has {workers} workers, MPI started {size} rank{'s' * (size > 1)}; start as many with "
        f"mpiexec -n {workers}"
    )
