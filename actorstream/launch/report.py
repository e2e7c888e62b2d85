"""Reads a run's counters: samples over time for throughput and progress, and the report at the end. Writes none."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.launch.latency_parts import latency_parts
from actorstream.metrics.counters import Counter, Counters, quantiles

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.native.keepalive import ClockOffset
    from actorstream.plan.job import Job

MIN_STEADY_S = 2.0
PSS_EVERY_S = 0.25
PSS_SHARE = 0.002
"""How much of the time may go into looking at memory: a look takes milliseconds a gigabyte, from a worker's core."""
PSS_FREE_S = 0.03
"""Seconds of looking that are free while memory grows, whatever their share: a run of two seconds has a peak, too."""
PSS_GROWTH = 0.05
"""Memory has grown if the processes have more resident pages than at the last look, by this part of the peak so far. Counting
pages takes microseconds. Memory that is only no longer shared is no more pages: the looks that PSS_SHARE allows find it."""
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MOST_SAMPLES = 1 << 14
"""A run keeps at most so many samples: all of its first quarter of an hour, then every other one, and so on."""


class Sampler:
    """Samples what the sources have sent, against time.

    Args:
        job: what runs. started: monotonic seconds at which the command started.
        memory: whether to sample the memory of the processes too (a look costs about 10 ms of a core).
    """

    def __init__(self, job: Job, started: float, *, memory: bool = False) -> None:
        self.job, self.started, self.memory = job, started, memory
        self.times: list[float] = []
        self.events: list[int] = []
        self._kept = 0
        """How many of these stay; the one behind them is replaced by the next look."""
        self._every, self._looks = 1, 0
        """One of so many looks stays, and how many there were."""
        self.peak_pss = 0
        self.pids: list[int] = []
        self._next_pss = self._looking_s = 0.0
        """When resident pages are counted next, and the seconds of processor that the looks at memory have taken."""
        self._resident = 0
        """Pages of all processes at the last look; 0 until the second, so that there is one: right after the fork, workers
        still share most of their pages."""
        names = {replica.id: replica.actor for replica in job.plan.replicas}
        self.sources = [number for number, name in names.items() if job.role(name) == "source"]

    def sample(self) -> None:
        """One look at the counters."""
        now = monotonic()
        del self.times[self._kept :], self.events[self._kept :]
        self.times.append(now)
        self.events.append(self.source_events())
        self._looks += 1
        if self._looks % self._every == 0:
            self._kept = len(self.times)
        if self._kept == MOST_SAMPLES:
            del self.times[::2], self.events[::2]
            self._kept, self._every = len(self.times), 2 * self._every
        if self.memory and now >= self._next_pss:
            self._next_pss = now + PSS_EVERY_S
            self._look_at_memory(now)

    def _look_at_memory(self, now: float) -> None:
        pids = [*self.pids, os.getpid()]
        resident = sum(map(resident_pages, pids))
        growth = (resident - self._resident) * PAGE_BYTES
        if may_look(now - self.started, self._looking_s, grown=growth > PSS_GROWTH * self.peak_pss):
            self._resident = resident if self.peak_pss else 0
            begun = thread_time()  # not the clock: on a busy machine a look waits for a core
            self.peak_pss = max(self.peak_pss, sum(map(pss_bytes, pids)))
            self._looking_s += thread_time() - begun

    def source_events(self) -> int:
        table = self.job.counters
        return sum(table.value(number, Counter.EVENTS_OUT) for number in self.sources)

    def progress(self) -> tuple[int, int]:
        """Bytes of input done and in all; (0, 0) where a source does not know."""
        table = self.job.counters
        done = sum(table.value(number, Counter.BYTES_DONE) for number in self.sources)
        total = sum(table.value(number, Counter.BYTES_TOTAL) for number in self.sources)
        return done, total

    def throughput(self) -> tuple[float, bool]:
        """Events/s over the 20th to 80th percentile of source events; the whole run, and False, if under 2 s."""
        times, events = np.array(self.times), np.array(self.events, dtype=float)
        if len(times) < 2 or events[-1] == 0:
            return 0.0, False
        first = int(np.argmax(events > 0))
        last = int(np.argmax(events >= events[-1]))
        begin, end = times[max(first - 1, 0)], times[last]
        if end - begin < MIN_STEADY_S:
            return float(events[-1] / max(end - begin, 1e-9)), False
        low, high = 0.2 * events[-1], 0.8 * events[-1]
        from_s, to_s = (
            np.interp(low, events[: last + 1], times[: last + 1]),
            np.interp(high, events[: last + 1], times[: last + 1]),
        )
        return float((high - low) / max(to_s - from_s, 1e-9)), True


def may_look(elapsed: float, spent: float, *, grown: bool) -> bool:
    """Whether memory is looked at, `elapsed` seconds after the start of a run that has spent so many seconds on looking."""
    return spent <= elapsed * PSS_SHARE + (PSS_FREE_S if grown else 0.0)


def resident_pages(pid: int) -> int:
    """Pages of a process that are in memory, those that it shares included; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def pss_bytes(pid: int) -> int:
    """Proportional set size of a process; 0 if it is gone."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError):
        pass
    return 0


def build_report(job: Job, sampler: Sampler, *, elapsed_s: float, cpu_s: float) -> dict[str, Any]:
    """The report of a run, with the fields of docs/topology.md. Durations of `latency_ms` in milliseconds."""
    table = job.counters
    throughput, steady = sampler.throughput()
    by_actor: dict[str, list[int]] = defaultdict(list)
    for replica in job.plan.replicas:
        by_actor[replica.actor].append(replica.id)

    def total(counter: Counter) -> dict[str, int]:
        return {name: sum(table.value(each, counter) for each in ids) for name, ids in by_actor.items()}

    def schedule(number: int) -> dict[str, Any]:
        return _schedule_row(table, number) if job.deploy.schedule != "none" else {}

    sinks = [each for name, ids in by_actor.items() if job.role(name) == "sink" for each in ids]
    return {
        "topology": job.graph.name,
        "plan": job.plan.fingerprint,
        "transport": job.deploy.transport,
        "workers": job.deploy.workers,
        "elapsed_s": round(elapsed_s, 6),
        "cpu_s": round(cpu_s, 6),
        "peak_pss_mb": round(sampler.peak_pss / 2**20, 1),
        "events_in": total(Counter.EVENTS_IN),
        "events_out": total(Counter.EVENTS_OUT),
        "throughput_eps": round(throughput, 1),
        "steady": steady,
        "latency_ms": _latency(table, sinks, processing=False),
        "processing_ms": _latency(table, sinks, processing=True),
        "latency_parts_ms": latency_parts(job),
        "late": sum(total(Counter.LATE).values()),
        "dead": sum(total(Counter.DEAD).values()),
        "restarts": sum(total(Counter.RESTARTS).values()),
        "checkpoints": 0,
        "actors": {
            name: [_replica_row(table, index, each) | schedule(each) for index, each in enumerate(ids)]
            for name, ids in by_actor.items()
        },
    }


def clock_rows(clocks: Mapping[int, ClockOffset]) -> list[dict[str, float]]:
    """How far each other worker's clock is ahead of worker 0's, and within which bound that is known, in milliseconds."""
    return [
        {"worker": worker, "ahead_ms": round(each.ahead / 1e6, 6), "error_ms": round(each.error / 1e6, 6)}
        for worker, each in sorted(clocks.items())
    ]


def _latency(table: Counters, sinks: list[int], *, processing: bool) -> dict[str, float]:
    counts = sum((table.histogram(each, processing=processing) for each in sinks), np.zeros(1, np.int64))
    values = quantiles(np.atleast_1d(counts), (0.5, 0.9, 0.99, 0.999, 1.0))
    return {name: round(value / 1e6, 6) for name, value in zip(("p50", "p90", "p99", "p999", "max"), values)}


def _replica_row(table: Counters, index: int, number: int) -> dict[str, Any]:
    def seconds(counter: Counter) -> float:
        return round(table.value(number, counter) / 1e9, 6)

    passed, sent = table.value(number, Counter.PASSED), table.value(number, Counter.SENT_BYTES)
    return {
        "replica": index,
        **({"passed": passed} if passed else {}),
        **({"sent_bytes": sent} if sent else {}),
        **_tied_row(table, number),
        **_batch_rows(table, number),
        "in": table.value(number, Counter.EVENTS_IN),
        "out": table.value(number, Counter.EVENTS_OUT),
        "execute_s": seconds(Counter.EXECUTE_NS),
        "transfer_s": seconds(Counter.TRANSFER_NS),
        "wait_in_s": seconds(Counter.WAIT_IN_NS),
        "wait_out_s": seconds(Counter.WAIT_OUT_NS),
        "queue_max_bytes": table.value(number, Counter.QUEUE_MAX_BYTES),
        "state_bytes": table.value(number, Counter.STATE_BYTES),
        "kept_blocks": table.value(number, Counter.KEPT_BLOCKS),
    }


def _tied_row(table: Counters, number: int) -> dict[str, int]:
    """Bytes that have waited for tied rows beside the budget, the most at once; and how many of them in files."""
    tied, spilled = table.value(number, Counter.TIE_BYTES), table.value(number, Counter.SPILLED_BYTES)
    return {"tie_bytes": tied, **({"spilled_bytes": spilled} if spilled else {})} if tied else {}


def _batch_rows(table: Counters, number: int) -> dict[str, Any]:
    """How many rows a source took at once, or the jumbo tuples had that another unit sent."""
    names = {"p50": Counter.BATCH_P50, "min": Counter.BATCH_MIN, "max": Counter.BATCH_MAX}
    found = {name: table.value(number, counter) for name, counter in names.items()}
    return {"batch_rows": found} if found["max"] else {}


def _schedule_row(table: Counters, number: int) -> dict[str, Any]:
    """What the scheduler has measured of the replica's actor in its process."""
    return {
        "turns": table.value(number, Counter.TURNS),
        "cost_ns": round(table.value(number, Counter.COST_PS) / 1e3, 3),
        "kernel_ns": round(table.value(number, Counter.KERNEL_PS) / 1e3, 3),
        "pooled_ns": round(table.value(number, Counter.POOLED_PS) / 1e3, 3),
        "selectivity": round(table.value(number, Counter.SELECTIVITY_PPM) / 1e6, 6),
        "worklist_max": table.value(number, Counter.WORKLIST_MAX),
    }
