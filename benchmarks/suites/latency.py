"""`latency`: one hop between processes, one event at a time or at a share of an operator's rate, beside the same with no
engine, and a word count at half of its sustainable rate."""

from __future__ import annotations

import mmap
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from time import monotonic_ns
from typing import ClassVar

import numpy as np

from actorstream import Actor, Event, Source
from actorstream.launch.sustainable import RateSearch
from benchmarks import job, loaded
from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.job import JobError
from benchmarks.meter import note
from benchmarks.suite import Case, Probe, Settings, Suite
from benchmarks.suites import word_count

EVENTS_PER_SECOND = 1000
WARM_UP = 200
LEAST_EVENTS = 200
"""Events behind the first ones that a percentile needs."""
TRIAL_SECONDS = 2.0
HELD_MS = 20.0
REST_NS = 20_000
"""How long the consumer has for the end of its turn, before the next event is sent."""
FLOOR_EVENTS = 800


class Ping(Event):
    """When it was emitted: monotonic ns."""

    sent: int


def received(into: Path) -> memoryview:
    """A word in shared memory: how many events the other side has seen. Shape (1,), int64."""
    with (into.parent / "received").open("a+b") as file:
        file.truncate(8)
        return memoryview(mmap.mmap(file.fileno(), 8)).cast("q")


class Pings(Source):
    """One event at a time: as soon as the other side has seen the last one, or, with a `rate` in its table, one a
    millisecond, so that everything has gone cold meanwhile."""

    outputs: ClassVar = {"default": Ping}

    def __init__(self, into: Path, seconds: float, rate: float | None = None) -> None:
        self.seconds, self.rate = seconds, rate
        self.received = received(into)
        self.ends = 0
        self.sent = 0

    def partitions(self) -> list[str]:
        return ["pings"]

    def open(self, partitions: list[str]) -> None:
        pass

    def read(self, max_rows: int) -> Ping | None:
        now = monotonic_ns()
        if not self.ends:
            self.ends = now + int(self.seconds * 1e9)
        while self.received[0] < self.sent and now < self.ends:
            now = monotonic_ns()
        seen = now
        while now < seen + REST_NS:
            now = monotonic_ns()
        if now >= self.ends:
            return None
        self.sent += 1
        return Ping(monotonic_ns())

    def position(self) -> dict[str, int]:
        return {"pings": self.sent}


class Arrivals(Actor):
    """Notes how old each event is when its hook starts."""

    def __init__(self, into: Path) -> None:
        self.into = into
        self.received = received(into)
        self.ages: list[int] = []

    def on_event(self, event: Ping) -> None:
        self.ages.append(monotonic_ns() - event.sent)
        self.received[0] = len(self.ages)

    def on_end(self) -> None:
        found = np.percentile(self.ages[WARM_UP:] or [0], [50, 99]) / 1e3
        note(self, "arrivals", events=len(self.ages), p50=found[0], p99=found[1])


def hop(wait: str, seconds: float, rate: float | None = None) -> Sequence[float]:
    """p50 and p99 in µs, from emit to the start of the hook."""
    here = "benchmarks.suites.latency"
    pings = {"type": f"{here}:Pings", "into": INTO, "seconds": seconds}
    actors: Actors = {
        "pings": pings if rate is None else {**pings, "rate": rate},
        "arrivals": {
            "type": f"{here}:Arrivals",
            "inputs": [{"from": "pings", "route": "shuffle"}],
            "into": INTO,
        },
    }
    found = launch("latency", actors, transport="shm", workers=2, placement="round-robin", wait=wait).of(
        "arrivals"
    )
    if found["events"] < WARM_UP + LEAST_EVENTS:
        raise JobError(
            f"only {found['events']} events passed in {seconds:g} s, and {WARM_UP + LEAST_EVENTS} are needed; the machine is "
            "too busy for runs of this length: try again, or without --quick"
        )
    return found["p50"], found["p99"]


def at_rate(lines: float, seconds: float) -> Mapping[str, float]:
    """The latencies in ms, from source to sink, of a word count that gets so many lines a second."""
    paced = word_count.topology("per-event", seconds, 2, rate=lines)
    paced["meter"] = {
        "type": "null-sink",
        "inputs": ["count.running"],
        "replicas": 2,
    }  # a sink records latencies
    found: Mapping[str, float] = launch("half-load", paced, transport="shm", workers=2).report["latency_ms"]
    return found


@cache
def sustainable(seconds: float) -> float:
    """The greatest rate (lines/s) that the word count sustains (AIR section 5.2), near enough: with a backlog that grew
    through a trial, a tenth of its rows would be late. Unpaced it takes more, in larger batches and without bound on latency."""
    unpaced = launch("unpaced", word_count.topology("per-event", seconds, 2), transport="shm", workers=2)
    search = RateSearch(unpaced.report["throughput_eps"] / 2, precision=0.15, factor=1.4, most=6)
    while (rate := search.next_rate()) is not None:
        search.record(rate, at_rate(rate, seconds)["p90"] < HELD_MS)
    if search.best is None:
        raise JobError("the word count sustains no rate that was tried; is the machine busy?")
    return search.best


def half_load(seconds: float) -> Sequence[float]:
    """p99 in µs from source to sink at half of the sustainable rate."""
    return (at_rate(sustainable(TRIAL_SECONDS) / 2, seconds)["p99"] * 1e3,)


PACES = (
    ("parked", "park", EVENTS_PER_SECOND),
    ("spin", "spin", None),
    ("spin-paced", "spin", EVENTS_PER_SECOND),
)


LOADS = (
    ("load-10", 0.1, False),
    ("load-10-busy", 0.1, True),
    ("load-50", 0.5, False),
    ("load-50-busy", 0.5, True),
)
"""Name, share of the sustainable rate, whether a neighbour is busy."""


def floor(wait: str, rate: float | None) -> Sequence[float]:
    """The same p50 and p99 in µs with no engine, at the same pace (benchmarks/loops/hop.py)."""
    gap = REST_NS if rate is None else int(1e9 / rate)
    found: Sequence[float] = job.call(
        "benchmarks.loops.hop:percentiles", wait=wait, gap_ns=gap, count=FLOOR_EVENTS, warm_up=WARM_UP
    )
    return found


def cases(name: str, against: str | None = None) -> tuple[Case, Case]:
    p50, p99 = (Case(f"{name}-{part}", "µs", against and f"{against}-{part}") for part in ("p50", "p99"))
    return p50, p99


def suite(settings: Settings) -> Suite:
    seconds = 2.0 if settings.quick else 5.0
    probes: list[Probe] = []
    for name, wait, rate in PACES:
        probes.append(Probe(cases(name, f"floor-{name}"), partial(hop, wait, seconds, rate)))
        probes.append(Probe(cases(f"floor-{name}"), partial(floor, wait, rate)))
    probes.append(Probe(cases("floor-uvloop"), partial(floor, "uvloop", EVENTS_PER_SECOND)))
    for name, share, busy in LOADS:
        probes.append(Probe(cases(name, f"floor-{name}"), partial(loaded.ages, share, busy, seconds)))
        probes.append(Probe(cases(f"floor-{name}"), partial(loaded.floor, share, busy, seconds)))
    probes.append(Probe((Case("word-count-half-load-p99", "µs"),), partial(half_load, seconds)))
    return Suite(
        "latency",
        tuple(probes),
        notes=(
            "from emit to the start of the hook, one event at a time: the next as soon as the last was seen (spin), "
            "or one a millisecond (parked, spin-paced)",
            "floor-...: two processes with no engine: C in epoll or spinning on a cache line, and a reader on a bare "
            "uvloop",
            "load-10, load-50: events at a tenth and at half of the rate that a Python operator sustains, which works on each "
            "for 0.1 ms; busy: beside a process that never rests; floor: the same in C",
        ),
    )
