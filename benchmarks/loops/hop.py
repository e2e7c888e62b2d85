"""The floors of `latency`: one hop between two processes on this machine, with no engine.

In C (csrc/hop.c), parked in epoll or spinning on a word; and a reader on a bare uvloop, as any asyncio program has it.
"""

from __future__ import annotations

import asyncio
import mmap
import os
import signal
import time
from time import monotonic_ns

import numpy as np

from benchmarks.job import JobError

_SENT, _SEEN, _AGES = 0, 16, 32
"""Words of the shared memory: when the last event was sent, how many were seen, the age of each."""


def percentiles(wait: str, gap_ns: int, count: int, warm_up: int) -> tuple[float, float]:
    """p50 and p99 in µs of the ages of `count` events after `warm_up` others."""
    ages = hop(wait, gap_ns, count + warm_up)[warm_up:]
    found = np.percentile(ages, [50, 99]) / 1e3
    return float(found[0]), float(found[1])


def hop(wait: str, gap_ns: int, count: int) -> np.ndarray:
    """The age in ns of each event when the other process saw it; each was sent `gap_ns` after the last was seen.

    `wait`: "park", "spin" or "uvloop". The sender sleeps in between, but spins where the receiver does. JobError: the
    other process failed. Forks: for a process of its own.
    """
    return through_uvloop(gap_ns, count) if wait == "uvloop" else through_c(wait == "spin", gap_ns, count)


def through_c(spinning: bool, gap_ns: int, count: int) -> np.ndarray:
    from benchmarks.compiled import compiled

    module = compiled("hop")
    ages = np.zeros(count, np.int64)
    if module.lib.hop_ages(spinning, count, gap_ns, module.ffi.from_buffer("int64_t[]", ages)):
        raise JobError("the other process of the hop could not be made, or failed")
    return ages


def through_uvloop(gap_ns: int, count: int) -> np.ndarray:
    memory = mmap.mmap(-1, (_AGES + count) * 8)
    words = memoryview(memory).cast("q")
    bell = os.eventfd(0, os.EFD_NONBLOCK)
    child = os.fork()
    if child == 0:
        try:
            receive(words, bell, count)
            os._exit(0)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
    try:
        for number in range(count):
            while words[_SEEN] < number:
                if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                    raise JobError("the other process of the hop failed")
            time.sleep(gap_ns / 1e9)
            words[_SENT] = monotonic_ns()
            os.eventfd_write(bell, 1)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        _, status = os.waitpid(child, 0)
        os.close(bell)
    if status:
        raise JobError("the other process of the hop failed")
    return np.frombuffer(memory, np.int64)[_AGES:].copy()


def receive(words: memoryview, bell: int, count: int) -> None:
    import uvloop

    async def main() -> None:
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        seen = 0

        def arrived() -> None:
            nonlocal seen
            words[_AGES + seen] = monotonic_ns() - words[_SENT]
            os.eventfd_read(bell)
            seen += 1
            words[_SEEN] = seen
            if seen == count:
                done.set_result(None)

        loop.add_reader(bell, arrived)
        await done

    uvloop.run(main())
