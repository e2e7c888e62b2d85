"""How far memory nodes are from cores: latency and bandwidth, measured by threads that are bound to cores. Decides nothing."""

from __future__ import annotations

import contextlib
import mmap
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorstream.native._core import ffi, lib

HANDED, HAND_OVERS = 4 << 20, 30
"""Bytes that are handed over, as many as wait between two workers unless `edge_bytes` says so, and how often. No core's own cache
holds them: where it does, the figure varies by a factor of six with what the cache has kept."""
ROUNDS = 15
"""Of a latency: what disturbs one round does not disturb all."""


class NodeMemory:
    """Private memory for measurements, taken from one node where the system lets us.

    Attributes:
        refused: why it could not be bound; "": it is.
    """

    def __init__(self, nbytes: int, node: int, line: int = 64) -> None:
        """`nbytes`: more than the caches hold. `line`: bytes of a cache line."""
        self.nbytes = nbytes
        self._map = mmap.mmap(-1, nbytes)
        with contextlib.suppress(OSError):  # so that few of the misses are those of the table of pages
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self._base = ffi.from_buffer("uint8_t[]", self._map)
        number = lib.as_node_bind(self.address, nbytes, node)
        self.refused = os.strerror(number) if number else ""
        lib.as_node_weave(self._base, nbytes // line, line)

    @property
    def address(self) -> int:
        return int(ffi.cast("uintptr_t", self._base))

    def latency_ns(self, cpu: int, steps: int) -> float:
        """Nanoseconds until core `cpu` has a cache line of this memory that no cache has; the least of several rounds."""
        return min(_on(cpu, lambda: int(lib.as_node_chase(self._base, steps))) for _ in range(ROUNDS)) / steps

    def bandwidth(self, cpus: Sequence[int]) -> float:
        """Bytes a second that these cores read together, each a part of its own; the most of several rounds."""
        share = self.nbytes // len(cpus) // 64 * 64

        def read(number: int) -> int:
            return int(lib.as_node_stream(self._base + number * share, share))

        return max(_at_once(cpus, read, share) for _ in range(ROUNDS))


def can_bind(cpus: Sequence[int]) -> bool:
    """Whether the system lets threads of this process run on each of these cores. A cpuset is a limit to that, and the affinity
    mask of the process is none."""
    bound: list[int] = []

    def run() -> None:
        with contextlib.suppress(OSError):
            for cpu in cpus:
                os.sched_setaffinity(threading.get_native_id(), {cpu})
                bound.append(cpu)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return len(bound) == len(cpus)


def core_ns(writer: int, reader: int, line: int = 64) -> float:
    """Nanoseconds more that core `reader` takes to read a cache line that core `writer` has written than one that it wrote
    itself."""
    made, taken = np.ones(HANDED // 8), np.zeros(HANDED // 8)

    def write() -> int:
        np.copyto(taken, made)
        return 0

    def read() -> int:
        begun = time.thread_time_ns()
        taken.sum()
        return time.thread_time_ns() - begun

    def of_core(core: int) -> float:
        return float(np.median([_on(core, write) + _on(reader, read) for _ in range(HAND_OVERS)]))

    return max(0.0, (of_core(writer) - of_core(reader)) / (HANDED // line))


def _at_once(cpus: Sequence[int], read: Any, share: int) -> float:
    """The sum of the rates at which threads on `cpus` read `share` bytes each, all at the same time."""
    rates: list[float] = []
    start = threading.Barrier(len(cpus))

    def run(number: int, cpu: int) -> None:
        os.sched_setaffinity(threading.get_native_id(), {cpu})
        start.wait()
        rates.append(share / max(read(number), 1) * 1e9)

    threads = [threading.Thread(target=run, args=each) for each in enumerate(cpus)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(rates)


def _on(cpu: int, work: Any) -> int:
    """What `work` returns in a thread that is bound to a core."""
    found: list[int] = []

    def run() -> None:
        os.sched_setaffinity(threading.get_native_id(), {cpu})
        found.append(work())

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]
