"""The kernels of a pool as Python sees them."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import pytest
from actorstream.native._core import ffi

from actorstream.native.pool import KernelPool

FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class Job:
    """A job that runs Python."""

    def __init__(self, what: Callable[[], int]) -> None:
        self._function = FUNCTION(lambda context: what())
        address = ctypes.cast(self._function, ctypes.c_void_p).value
        self.raw: Any = ffi.new("as_pool_job *", (address, ffi.NULL, -1, 0, 0, 0))


def test_jobs_are_run_and_leave_in_order(eventfd: int) -> None:
    pool = KernelPool(1, 4, 1, eventfd, start=2**64 - 1)
    jobs = [Job(lambda number=number: number) for number in range(3)]  # type: ignore[misc]
    assert all(pool.submit(0, job.raw) for job in jobs)
    assert (pool.ready(0), pool.waiting()) == (2**64 - 1, 3)
    assert pool.help()
    assert (pool.ready(0), pool.waiting()) == (0, 2)
    assert pool.help()
    assert pool.help()
    assert not pool.help()
    assert [job.raw.outcome for job in jobs] == [0, 1, 2]
    assert all(job.raw.worker == 1 for job in jobs)
    assert pool.statistics().helped == 3


def test_a_lane_has_one_less_under_way_than_places_until_they_are_collected(eventfd: int) -> None:
    pool = KernelPool(1, 4, 1, eventfd)
    jobs = [Job(lambda: 0) for _ in range(4)]
    assert [pool.submit(0, job.raw) for job in jobs] == [True, True, True, False]
    pool.settle(0)
    assert not pool.submit(0, jobs[3].raw)
    pool.collected(0, pool.ready(0))
    assert pool.submit(0, jobs[3].raw)


def test_lanes_are_looked_at_in_the_order_that_was_said(eventfd: int) -> None:
    pool = KernelPool(3, 4, 1, eventfd)
    ran: list[int] = []
    jobs = [Job(lambda lane=lane: ran.append(lane) or 0) for lane in range(3)]  # type: ignore[misc, func-returns-value]
    for lane, job in enumerate(jobs):
        pool.submit(lane, job.raw)
    pool.rank([1, 2])
    assert [pool.help() for _ in range(4)] == [True, True, True, False]
    assert ran == [1, 2, 0]


def test_a_thread_works_until_it_is_recalled_and_the_loop_is_told_while_it_is_parked(eventfd: int) -> None:
    import select

    pool = KernelPool(1, 4, 1, eventfd)
    thread = threading.Thread(target=pool.work, args=(0,), daemon=True)
    thread.start()
    assert pool.park()
    job = Job(lambda: 7)
    pool.submit(0, job.raw)
    assert select.select([eventfd], [], [], 60)[0] == [eventfd]
    assert not pool.park()
    pool.collected(0, pool.ready(0))
    assert job.raw.outcome == 7
    pool.recall(0)
    thread.join(60)
    assert not thread.is_alive()
    pool.recall(0)
    pool.work(0)  # returns at once: it was recalled before


@pytest.mark.parametrize("wrong", [(0, 4, 1), (1, 3, 1), (1, 1, 1), (1, 4, 0), (5000, 4, 1)])
def test_what_does_not_fit_is_refused(eventfd: int, wrong: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="kernel pool of"):
        KernelPool(*wrong, eventfd)
