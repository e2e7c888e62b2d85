"""Counters in shared memory: one row of 64-bit words a replica, written by its worker, read by everybody.

Writers add to their own row only, so no atomics are needed; a reader may see a row in the middle of a turn.
The live table, the report, RLAS and the dashboard read the same memory.
"""

from __future__ import annotations

import errno
import mmap
import os
import weakref
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Protocol

import numpy as np

from actorstream.errors import ResourceError

LATENCY_OCTAVES = 40
LATENCY_STEPS = 16


class Counter(IntEnum):
    """Columns of the table. Times are nanoseconds, sizes bytes, the rest rows or events."""

    EVENTS_IN = 0
    EVENTS_OUT = 1
    JUMBO_IN = 2
    JUMBO_OUT = 3
    EXECUTE_NS = 4
    TRANSFER_NS = 5
    WAIT_IN_NS = 6
    WAIT_OUT_NS = 7
    QUEUE_MAX_BYTES = 8
    STATE_BYTES = 9
    KEPT_BLOCKS = 10
    LATE = 11
    DEAD = 12
    BYTES_DONE = 13
    BYTES_TOTAL = 14
    RESTARTS = 15
    BARRIERS = 16
    ENDED = 17
    TURNS = 18
    """Turns that a schedule gave to the replica's actor in its process; the next three are of these too."""
    COST_PS = 19
    """Picoseconds a row."""
    SELECTIVITY_PPM = 20
    WORKLIST_MAX = 21
    PASSED = 22
    """Rows that a local pre-aggregation passed on as they were, since their keys hardly repeat."""
    TIE_BYTES = 23
    """The most that has left its channels to wait for tied rows of other inputs, in timestamp order; the next is of it."""
    SPILLED_BYTES = 24
    KERNEL_PS = 25
    """Of COST_PS what kernels take; POOLED_PS: of KERNEL_PS what the event loop has left to threads."""
    SENT_BYTES = 26
    """What the replicas of its unit have handed to other processes; a row by itself counts as the entry that carries it."""
    POOLED_PS = 27
    BATCH_P50 = 28
    """Rows that a source took at once, else those of the jumbo tuples that its unit sent; the next two are of these too."""
    BATCH_MIN = 29
    BATCH_MAX = 30
    AGE_NS = 31
    """How long ago the last row of each batch had entered when the head's hook began, all batches together; the next two are
    sums over batches, too."""
    QUEUED_NS = 32
    """How long after the beginning of the turn, or of its merge, a batch was taken."""
    GATHERED_NS = 33
    """How long rows waited in the unit's builders."""
    READS = 34
    """Batches that a source has read."""


HISTOGRAM_WORDS = LATENCY_OCTAVES * LATENCY_STEPS
COUNTER_WORDS = 64
ROW_WORDS = COUNTER_WORDS + 2 * HISTOGRAM_WORDS  # counters, then the latency and the processing histogram


def bucket_of(ns: int) -> int:
    """The histogram bucket of a duration: 16 steps an octave, at most 6.25% wide."""
    if ns < LATENCY_STEPS:
        return max(ns, 0)
    octave = ns.bit_length() - 5
    bucket = (octave + 1) * LATENCY_STEPS + ((ns >> octave) - LATENCY_STEPS)
    return min(bucket, HISTOGRAM_WORDS - 1)


def bucket_upper(bucket: int) -> int:
    """The largest duration (ns) that falls into `bucket`."""
    if bucket < LATENCY_STEPS:
        return bucket
    octave, step = divmod(bucket, LATENCY_STEPS)
    return ((LATENCY_STEPS + step + 1) << (octave - 1)) - 1


class Counters(Protocol):
    """What the report, the live table and everything else that reads counters know of them, wherever they are written."""

    def value(self, replica: int, counter: Counter) -> int:
        """One counter of one replica, as of now or of what was heard of it last."""

    def histogram(self, replica: int, *, processing: bool = False) -> np.ndarray:
        """Counts per bucket of one replica's latencies, shape (HISTOGRAM_WORDS,)."""

    def take(self, rows: Mapping[int, bytes]) -> None:
        """Replaces the rows of some replicas by what a worker has sent that writes elsewhere."""


class CounterTable:
    """The table of `rows` replicas in memory that several processes may share: forks of the one that made it, and those that
    are handed its descriptor. A worker elsewhere has a table of its own, and sends `changed` rows of it now and then."""

    def __init__(self, rows: int, fd: int | None = None, *, is_shared: bool = True) -> None:
        """`fd`: of a table that another process has made, which is this process's from now on; None: makes one.

        is_shared: whether the host of the run reads this memory; if not, workers send it their rows."""
        self.rows, self.is_shared = rows, is_shared
        size = max(rows, 1) * ROW_WORDS * 8
        self.fd = self._made(rows, size) if fd is None else fd
        weakref.finalize(self, os.close, self.fd)
        self._map = mmap.mmap(self.fd, size)
        self.words = np.frombuffer(self._map, np.int64).reshape(max(rows, 1), ROW_WORDS)
        self._sent: dict[int, bytes] = {}

    @staticmethod
    def _made(rows: int, size: int) -> int:
        fd = os.memfd_create("actorstream-counters", os.MFD_CLOEXEC)
        try:
            os.posix_fallocate(fd, 0, size)
        except OSError as error:
            os.close(fd)
            hint = (
                "raise RLIMIT_FSIZE (ulimit -f unlimited)"
                if error.errno == errno.EFBIG
                else "use fewer replicas"
            )
            raise ResourceError(
                f"counters of {rows} replicas need {size} bytes of shared memory: {error.strerror}; {hint}"
            ) from error
        return fd

    def row(self, replica: int) -> np.ndarray:
        """The words of one replica: counters at `Counter`, from COUNTER_WORDS on the latency histogram, then the processing."""
        return self.words[replica]

    def changed(self, replicas: Iterable[int]) -> dict[int, bytes]:
        """The rows of these replicas that are not as they were at the last call, for `take` of another table."""
        found = {each: self.words[each].tobytes() for each in replicas}
        fresh = {each: words for each, words in found.items() if self._sent.get(each) != words}
        self._sent |= fresh
        return fresh

    def take(self, rows: Mapping[int, bytes]) -> None:
        """Replaces the rows of some replicas by what a worker has sent that writes elsewhere."""
        for replica, words in rows.items():
            self.words[replica] = np.frombuffer(words, np.int64)

    def value(self, replica: int, counter: Counter) -> int:
        return int(self.words[replica, counter])

    def histogram(self, replica: int, *, processing: bool = False) -> np.ndarray:
        """Counts per bucket of one replica's latencies, shape (HISTOGRAM_WORDS,)."""
        start = COUNTER_WORDS + (HISTOGRAM_WORDS if processing else 0)
        return self.words[replica, start : start + HISTOGRAM_WORDS]


def quantiles(counts: np.ndarray, at: tuple[float, ...]) -> list[float]:
    """The durations (ns) at the given quantiles of a histogram, 0.0 where it is empty. `1.0` is the maximum."""
    total = int(counts.sum())
    if total == 0:
        return [0.0] * len(at)
    cumulative = np.cumsum(counts)
    return [
        float(bucket_upper(int(np.searchsorted(cumulative, max(1, int(np.ceil(q * total))))))) for q in at
    ]
