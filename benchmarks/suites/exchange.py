"""`exchange`: every row goes to the consumer that its key belongs to, across processes."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from actorstream import Event
from benchmarks.dataflow import INTO, Actors, launch
from benchmarks.repeat import Repeat
from benchmarks.suite import Settings, Suite, probe

BATCHES = 64


class Row(Event):
    """A key of high cardinality and four values."""

    key: int
    a: int
    b: int
    c: int
    d: int


class Rows(Repeat):
    """Batches whose keys hardly repeat."""

    outputs: ClassVar = {"default": Row}

    def make(self, shard: int, rows: int) -> list[dict[str, np.ndarray]]:
        random = np.random.default_rng(shard)
        numbers = np.arange(rows)
        return [
            {
                "key": random.integers(0, 2**62, rows),
                "a": numbers,
                "b": numbers + 1,
                "c": numbers,
                "d": numbers,
            }
            for _ in range(BATCHES)
        ]


def keyed(seconds: float) -> float:
    """Tuples a second from two producers to two consumers, one of each in each of two processes."""
    actors: Actors = {
        "rows": {"type": "benchmarks.suites.exchange:Rows", "seconds": seconds, "shards": 2, "replicas": 2},
        "meter": {
            "type": "benchmarks.meter:Meter",
            "inputs": [{"from": "rows", "route": "key", "key": "key"}],
            "replicas": 2,
            "into": INTO,
        },
    }
    return launch("exchange", actors, transport="shm", workers=2).rate()


def suite(settings: Settings) -> Suite:
    seconds = 1.0 if settings.quick else 3.0
    return Suite("exchange", (probe("keyed-2to2", "tuples/s", lambda: keyed(seconds)),))
