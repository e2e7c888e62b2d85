"""Kernels on the threads of a pool, without the interpreter (include/pool.h). Runs them and puts them back in order; knows
no rows, and decides nothing: which operator comes first is said from outside."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from actorstream.native._core import ffi, lib
from actorstream.native.status import raise_status

SCHEMES = {"non-blocking": lib.AS_REORDER_NON_BLOCKING, "lock-based": lib.AS_REORDER_LOCK_BASED}
"""How the reordering buffer of an operator puts outputs in order."""
USER_CALL: int = int(ffi.cast("uintptr_t", ffi.addressof(lib, "as_user_job")))
"""The function of a job whose context is an `as_user_work`."""
EXPRESSION: int = int(ffi.cast("uintptr_t", ffi.addressof(lib, "as_expression_job")))
"""The function of a job whose context is an `as_expression_work`."""


def make_job(function: int, context: int) -> Any:
    """`as_pool_job *` of a C function and its context, by their addresses."""
    return ffi.new("as_pool_job *", (function, ffi.cast("void *", context), 0, 0, 0, 0))


class KernelStatistics(NamedTuple):
    """`jobs`: run by threads of the pool; `helped`: by the loop's; `turns`: times that a thread took an operator's jobs;
    `sleeps`: of threads; `rung`: times that the loop was told."""

    jobs: int
    helped: int
    turns: int
    sleeps: int
    rung: int


class KernelPool:
    """The jobs of a number of lanes, one for each operator, and the threads that run them.

    One thread, that of the event loop, submits and collects; any number of others work. A job is an `as_pool_job`, whose
    owner keeps it and what it refers to until its number has left.

    Args:
        lanes: how many; 1 to 4096.
        capacity: of each, a power of two from 2 to 2**16; one less than that may be under way.
        workers: threads that may call `work`, each with a number of its own.
        eventfd: non-blocking; it is written while the loop is parked.
        scheme: of the reordering buffers.
        start: the first serial number of each lane.
        spin_ns: how long a thread looks for a job before it sleeps.
    """

    __slots__ = ("_memory", "_pool", "lanes", "workers")

    def __init__(
        self,
        lanes: int,
        capacity: int,
        workers: int,
        eventfd: int,
        *,
        scheme: str = "non-blocking",
        start: int = 0,
        spin_ns: int = 0,
    ) -> None:
        size = lib.as_pool_size(max(lanes, 0), max(capacity, 0), max(workers, 0))
        raw = ffi.new("char[]", size + 64)
        self._memory = raw
        self._pool = ffi.cast("as_pool *", (int(ffi.cast("uintptr_t", raw)) + 63) // 64 * 64)
        self.lanes, self.workers = lanes, workers
        code = lib.as_pool_init(
            self._pool,
            max(lanes, 0),
            max(capacity, 0),
            max(workers, 0),
            SCHEMES[scheme],
            start,
            spin_ns,
            eventfd,
        )
        if code != lib.AS_OK:
            raise_status(
                code,
                f"kernel pool of {lanes} lanes (1 to 4096) with {capacity} places (a power of two, 2 to 2**16) "
                f"and {workers} workers (1 to 1024)",
            )

    # -- the loop's

    def submit(self, lane: int, job: Any) -> bool:
        """False: as many as fit are under way."""
        return bool(lib.as_pool_submit(self._pool, lane, job) == lib.AS_OK)

    def ready(self, lane: int) -> int:
        """The serial number that leaves next: what is below it is the loop's again."""
        return lib.as_pool_ready(self._pool, lane)  # type: ignore[no-any-return]

    def collected(self, lane: int, serial: int) -> None:
        """The loop has taken back all below `serial`, which makes room."""
        lib.as_pool_collected(self._pool, lane, serial)

    def rank(self, lanes: Sequence[int]) -> None:
        """The order in which threads look at the lanes: those named first, in their order."""
        for rank, lane in enumerate(lanes):
            lib.as_pool_rank(self._pool, rank, lane)

    def allot(self, lane: int, jobs: int) -> None:
        """How many of a lane's jobs a thread takes before it looks at the order again."""
        lib.as_pool_allot(self._pool, lane, jobs)

    def waiting(self) -> int:
        """Jobs that nobody has begun, about."""
        return lib.as_pool_waiting(self._pool)  # type: ignore[no-any-return]

    def help(self) -> bool:
        """Runs one job; whether there was one."""
        return bool(lib.as_pool_help(self._pool) == lib.AS_OK)

    @staticmethod
    def run(job: Any) -> None:
        """Runs a job that was not submitted, here and now."""
        lib.as_pool_run(job)

    def settle(self, lane: int) -> None:
        """Helps, and waits, until all jobs of a lane have left."""
        lib.as_pool_settle(self._pool, lane)

    def park(self) -> bool:
        """From now on the eventfd tells of what becomes ready. False: something is that was not collected."""
        return bool(lib.as_pool_park(self._pool) == lib.AS_OK)

    def unpark(self) -> None:
        """The loop looks by itself again."""
        lib.as_pool_unpark(self._pool)

    # -- a thread's

    def work(self, worker: int) -> None:
        """Runs jobs, and sleeps while there are none, until somebody recalls `worker`."""
        lib.as_pool_work(self._pool, worker)

    def recall(self, worker: int) -> None:
        """Has `work` of that number return; from any thread."""
        lib.as_pool_recall(self._pool, worker)

    def statistics(self) -> KernelStatistics:
        out = ffi.new("as_pool_statistics *")
        lib.as_pool_statistics_read(self._pool, out)
        return KernelStatistics(out.jobs, out.helped, out.turns, out.sleeps, out.rung)
