"""`ipc`: a Python actor emits jumbo tuples of five int64 columns, another process's `on_batch` takes them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any, ClassVar

import numpy as np

from actorstream import Batch, Event
from benchmarks import job, machine
from benchmarks.dataflow import INTO, launch
from benchmarks.repeat import Repeat
from benchmarks.suite import Curve, Settings, Suite, probe

ROWS = 4096
SIZES = (1, 64, 4096, 32768)


class Row(Event):
    """Five int64 columns."""

    a: int
    b: int
    c: int
    d: int
    e: int


class Filling(Repeat):
    """Writes every jumbo tuple in place: row i of number n holds n + i in all columns."""

    outputs: ClassVar = {"default": Row}

    def __init__(self, seconds: float, rows: int = ROWS) -> None:
        super().__init__(seconds)
        self.rows = rows
        self.ramp = np.arange(rows)
        self.filled: Batch | None = None

    def make(self, shard: int, rows: int) -> list[dict[str, np.ndarray]]:
        return []

    def read(self, max_rows: int) -> Batch | None:
        now = monotonic()
        if not self.ends:
            self.ends = now + self.seconds
        if now >= self.ends:
            return None
        batch = self.allocate(Row, self.rows)
        add, ramp, number = np.add, self.ramp, self.read_batches
        for column in batch.arrays():
            add(ramp, number, column)
        self.read_batches = number + 1
        return batch


class Referring(Filling):
    """Fills one jumbo tuple and emits it again and again: only references move."""

    def read(self, max_rows: int) -> Batch | None:
        if self.filled is None:
            self.filled = super().read(max_rows)
        return self.filled if monotonic() < self.ends else None


def topology(source: type[Filling], seconds: float, rows: int, add: str = "") -> dict[str, dict[str, Any]]:
    """A source and a meter; placement "round-robin" puts each into a process of its own."""
    return {
        "rows": {"type": f"benchmarks.suites.ipc:{source.__name__}", "seconds": seconds, "rows": rows},
        "meter": {
            "type": "benchmarks.meter:Meter",
            "inputs": [{"from": "rows", "route": "shuffle"}],
            "into": INTO,
            "add": add,
        },
    }


def run(source: type[Filling], seconds: float, rows: int = ROWS, add: str = "") -> tuple[float, float]:
    """Tuples a second, and jumbo tuples as they were emitted (small ones may travel together)."""
    ran = launch(
        "ipc",
        topology(source, seconds, rows, add),
        transport="shm",
        workers=2,
        placement="round-robin",
        batch_size=max(rows, ROWS),
    )
    rate = ran.rate()
    return rate, rate / rows


def suite(settings: Settings) -> Suite:
    seconds = 2.0 if not settings.quick else 1.0
    by_size: dict[int, float] = {}

    def reference() -> float:
        for rows in SIZES:
            by_size[rows] = run(Referring, seconds / 2, rows)[1]
        return min(by_size.values())

    def curves() -> Sequence[Curve]:
        points = tuple((float(rows), rate) for rows, rate in by_size.items())
        return [Curve("by reference", "rows in a jumbo tuple", "jumbo tuples/s", points)]

    def c_ring(*, sums: bool) -> float:
        return float(job.call("benchmarks.loops.ring:ring", rows=ROWS, seconds=seconds, sum_column=sums))

    return Suite(
        "ipc",
        (
            probe("c-ring", "tuples/s", partial(c_ring, sums=False)),
            probe("c-ring-sum", "tuples/s", partial(c_ring, sums=True), against="c-ring"),
            probe("hand-over-filled", "tuples/s", lambda: run(Filling, seconds)[0], against="c-ring"),
            probe("numpy-sum", "tuples/s", lambda: run(Filling, seconds, add="c")[0], against="c-ring-sum"),
            probe("hand-over-reference", "jumbo tuples/s", reference),
        ),
        notes=(
            lambda: f"cache-line round trip: {machine.round_trip()}",
            f"filled, sum and c-ring: {ROWS} rows of 5 int64 columns in each jumbo tuple, written in place",
            "c-ring-sum: the ring's consumer sums a column too, as that of numpy-sum; the column then comes from the other "
            "core's cache, and goes back to it when it is written again",
            f"by reference: the least of jumbo tuples of {', '.join(map(str, SIZES))} rows",
        ),
        curves=curves,
    )
