"""A Python operator that gets events at a share of the rate that it sustains, for the suite `latency`; and a busy neighbour."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic_ns
from typing import Any, ClassVar

import numpy as np

from actorstream import Actor, Batch, Event, Source
from benchmarks import job
from benchmarks.dataflow import INTO, launch
from benchmarks.meter import note

WORK_NS = 100_000
"""What the operator does with each event takes so long; it sustains ten thousand a second."""
WARM_UP_S = 0.5
"""Events of so many seconds do not count, since what comes late while a run begins makes the next ones late too."""


class Sent(Event):
    """When it was emitted: monotonic ns."""

    sent: int


class SentEvents(Source):
    """Events at `rate` a second, for `seconds`."""

    outputs: ClassVar = {"default": Sent}

    def __init__(self, rate: float, seconds: float) -> None:
        self.rate, self.left, self.read_rows = rate, int(rate * seconds), 0

    def partitions(self) -> list[str]:
        return ["events"]

    def open(self, partitions: list[str]) -> None:
        pass

    def read(self, max_rows: int) -> Batch | Sent | None:
        rows = min(max_rows, self.left)
        self.left -= rows
        self.read_rows += rows
        if rows == 1:
            return Sent(monotonic_ns())
        return Batch.of({"sent": np.full(rows, monotonic_ns())}, event=Sent) if rows else None

    def position(self) -> dict[str, int]:
        return {"events": self.read_rows}


class Working(Actor):
    """Notes how old each event is when its hook starts, and works on it for `WORK_NS`."""

    def __init__(self, into: Path, warm_up: int) -> None:
        self.into, self.warm_up = into, warm_up
        self.ages: list[int] = []

    def on_event(self, event: Sent) -> None:
        began = monotonic_ns()
        self.ages.append(began - event.sent)
        while monotonic_ns() < began + WORK_NS:
            pass

    def on_end(self) -> None:
        found = np.percentile(self.ages[self.warm_up :], [50, 99]) / 1e3
        note(self, "ages", p50=found[0], p99=found[1])


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """A process beside what is measured that never rests, or none."""
    if not busy:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def ages(share: float, busy: bool, seconds: float) -> Sequence[float]:
    """p50 and p99 in µs of how old events are when their hook starts, at a share of the sustainable rate."""
    here, rate = "benchmarks.loaded", share * 1e9 / WORK_NS
    actors: dict[str, dict[str, Any]] = {
        "events": {"type": f"{here}:SentEvents", "rate": rate, "seconds": seconds + WARM_UP_S},
        "working": {
            "type": f"{here}:Working",
            "inputs": [{"from": "events", "route": "shuffle"}],
            "into": INTO,
            "warm_up": int(rate * WARM_UP_S),
        },
    }
    with neighbour(busy):
        found = launch("loaded", actors, transport="shm", workers=2, placement="round-robin").of("ages")
    return found["p50"], found["p99"]


def floor(share: float, busy: bool, seconds: float) -> Sequence[float]:
    """The same of two processes in C."""
    with neighbour(busy):
        found: Sequence[float] = job.call(
            "benchmarks.loops.paced:percentiles",
            rate=share * 1e9 / WORK_NS,
            seconds=seconds + WARM_UP_S,
            warm_up=WARM_UP_S,
            work_ns=WORK_NS,
        )
    return found
