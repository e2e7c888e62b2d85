"""`dgs-latency`: how long a synchronization takes on two workers (DGS paper, appendix D.1, Figure 10), by values and
heartbeats for each barrier. `dgs` has the figures past two workers, simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.dataflow import Actors, launch
from benchmarks.suite import Case, Probe, Settings, Suite

OFFERED = 100_000
ROWS_AT_ONCE = 10
"""A paced source sends every millisecond, or so many rows: here every 200 µs, since a barrier waits for the next rows of
every stream."""
RATIOS = (100, 1_000, 10_000)
"""Values of a stream for each barrier."""
SYNCHRONIZED = 500
"""Barriers a second where there are no values: each finds its workers asleep, or spinning."""
HEARTBEATS = (1, 10, 100)
"""Of the barriers' stream, for each barrier, at the greatest of these ratios."""


def suite(settings: Settings) -> Suite:
    seconds = 1.5 if settings.quick else 4.0
    probes = []
    for wait in ("park", "spin"):
        for name, run in (("barrier", latency), ("synchronization", synchronization)):
            cases = (Case(f"{name}-{wait}-p50", "µs"), Case(f"{name}-{wait}-p99", "µs"))
            probes.append(Probe(cases, partial(run, seconds, wait=wait)))
    for ratio in RATIOS:
        run = partial(first_of(latency), seconds, ratio=ratio)
        probes.append(Probe((Case(f"ratio-{ratio}-p50", "µs"),), run))
    for beats in HEARTBEATS:
        case = Case(f"heartbeats-{beats}-p50", "µs")
        probes.append(Probe((case,), partial(first_of(latency), seconds, ratio=RATIOS[-1], beats=beats)))
    return Suite(
        "dgs-latency",
        tuple(probes),
        (
            f"barrier: from a barrier to its sum with {OFFERED:,} events/s offered on 2 workers, 50 barriers/s; ratio, "
            "heartbeats: values a stream for a barrier, heartbeats of the barriers for each (D.1); values come ten "
            "at a time, every 200 µs in each stream; synchronization: the same tree with no values to wait for, "
            f"{SYNCHRONIZED} barriers/s",
        ),
    )


def latency(seconds: float, *, ratio: int = 1_000, beats: int = 0, wait: str = "park") -> tuple[float, float]:
    """p50 and p99 in µs from a barrier's emission to its sum at the sink, two streams in two processes.

    `beats`: heartbeats of the barriers' stream for each barrier; 0: a millisecond apart."""
    barriers = OFFERED / 2 / ratio
    every = 1e6 / barriers / beats if beats else 1_000
    return live(barriers, seconds, int(OFFERED * seconds), every, wait)


def synchronization(seconds: float, *, wait: str = "park") -> tuple[float, float]:
    """The same where the streams of values have ended: request, states, join, sum, and nothing to wait for."""
    return live(SYNCHRONIZED, seconds, 2, 1_000, wait)


def live(barriers: float, seconds: float, values: int, every: float, wait: str) -> tuple[float, float]:
    """p50 and p99 in µs; so many barriers a second, values in all, and µs between two heartbeats."""
    inputs = [{"from": name, "order": "dependency"} for name in ("barriers", "values")]
    actors: Actors = {
        "barriers": {
            "type": "benchmarks.live:LiveBarriers",
            "rate": barriers,
            "count": max(4, int(barriers * seconds)),
        },
        "values": {
            "type": "benchmarks.live:LiveValues",
            "rate": float(OFFERED),
            "count": values,
            "shards": 2,
            "replicas": 2,
        },
        "sum": {"type": "apps.value_barrier.program:ValueBarrier", "inputs": inputs},
        # one beside each worker of the plan, called directly, as in the apps
        "sums": {
            "type": "null-sink",
            "replicas": "auto",
            "inputs": [{"from": "sum", "route": "forward"}],
        },
    }
    ran = launch(
        "sum-live",
        actors,
        transport="shm",
        workers=2,
        wait=wait,
        batch_size=ROWS_AT_ONCE,
        heartbeat_every=f"{every:.0f}us",
    )
    found: Mapping[str, float] = ran.report["latency_ms"]
    return found["p50"] * 1e3, found["p99"] * 1e3


def first_of(run: Callable[..., Sequence[float]]) -> Callable[..., tuple[float]]:
    """Only the first value of a run."""

    def first(*arguments: Any, **options: Any) -> tuple[float]:
        return (run(*arguments, **options)[0],)

    return first
