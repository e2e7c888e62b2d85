"""`latency`: one hop between processes, one event at a time, and a word count at half of its sustainable
rate."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic, monotonic_ns
from typing import ClassVar

import numpy as np

from actorstream import Actor, Batch, Event, Source
from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.meter import note
from benchmarks.suite import Case, Probe, Settings, Suite
from benchmarks.suites import word_count

EVENTS_PER_SECOND = 1000
WARM_UP = 200


class Ping(Event):
    """When it was emitted: monotonic ns."""

    sent: int


class Pings(Source):
    """One event a millisecond, so that the other side has nothing else to do; `rate` of its table paces
    it."""

    outputs: ClassVar = {"default": Ping}

    def __init__(self, seconds: float, rate: float) -> None:
        self.seconds, self.rate = seconds, rate
        self.ends = 0.0
        self.sent = 0

    def partitions(self) -> list[str]:
        return ["pings"]

    def open(self, partitions: list[str]) -> None:
        pass

    def read(self, max_rows: int) -> Batch | None:
        now = monotonic()
        if not self.ends:
            self.ends = now + self.seconds
        if now >= self.ends:
            return None
        self.sent += 1
        return Batch.of_events(Ping, [Ping(monotonic_ns())])

    def position(self) -> dict[str, int]:
        return {"pings": self.sent}


class Arrivals(Actor):
    """Notes how old each event is when its hook starts."""

    def __init__(self, into: Path) -> None:
        self.into = into
        self.ages: list[int] = []

    def on_event(self, event: Ping) -> None:
        self.ages.append(monotonic_ns() - event.sent)

    def on_end(self) -> None:
        found = np.percentile(self.ages[WARM_UP:], [50, 99]) / 1e3
        note(self, "arrivals", events=len(self.ages), p50=found[0], p99=found[1])


def hop(wait: str, seconds: float) -> Sequence[float]:
    """p50 and p99 in µs, from emit to the start of the hook."""
    here = "benchmarks.suites.latency"
    actors: Actors = {
        "pings": {"type": f"{here}:Pings", "seconds": seconds, "rate": EVENTS_PER_SECOND},
        "arrivals": {
            "type": f"{here}:Arrivals",
            "inputs": [{"from": "pings", "route": "shuffle"}],
            "into": INTO,
        },
    }
    found = launch("latency", actors, transport="shm", workers=2, placement="round-robin", wait=wait).of(
        "arrivals"
    )
    return found["p50"], found["p99"]


def half_load(seconds: float) -> Sequence[float]:
    """p99 in µs from source to sink at half of the rate (lines/s) that the same topology reaches unpaced."""
    unpaced = launch("unpaced", word_count.topology("per-event", seconds, 2), transport="shm", workers=2)
    lines = unpaced.report["events_in"]["split"] / seconds
    paced = word_count.topology("per-event", seconds, 2, rate=lines / 2)
    paced["meter"] = {
        "type": "null-sink",
        "inputs": ["count.running"],
        "replicas": 2,
    }  # a sink records latencies
    report = launch("half-load", paced, transport="shm", workers=2).report
    return (report["latency_ms"]["p99"] * 1e3,)


def suite(settings: Settings) -> Suite:
    seconds = 2.0 if settings.quick else 5.0
    probes = [
        Probe((Case(f"{name}-p50", "µs"), Case(f"{name}-p99", "µs")), partial(hop, wait, seconds))
        for name, wait in (("parked", "park"), ("spin", "spin"))
    ]
    probes.append(Probe((Case("word-count-half-load-p99", "µs"),), partial(half_load, seconds)))
    return Suite(
        "latency", tuple(probes), notes=("from emit to the start of the hook, one event a millisecond",)
    )
