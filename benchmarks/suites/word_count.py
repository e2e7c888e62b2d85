"""`word-count`: the operators of apps/word_count on a book in memory, one (word, count) result a word."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import pyarrow as pa

from apps.word_count.events import Line
from benchmarks import environments
from benchmarks.dataflow import INTO, launch
from benchmarks.peers.word_lines import book_lines
from benchmarks.repeat import Repeat
from benchmarks.suite import Probe, Settings, Suite, probe

OPERATORS = {
    "per-event": ("apps.word_count.operators:Split", "apps.word_count.operators:Count"),
    "batch": ("apps.word_count.batch_operators:SplitBatch", "apps.word_count.batch_operators:CountBatch"),
    "native": (
        "apps.word_count.native_operators:SplitNative",
        "apps.word_count.native_operators:CountNative",
    ),
}


class Book(Repeat):
    """The lines of the book."""

    outputs: ClassVar = {"default": Line}

    def __init__(self, seconds: float, shards: int = 1, rate: float | None = None, lines: int = 512) -> None:
        super().__init__(seconds, shards, rate)
        self.lines = lines

    def make(self, shard: int, rows: int) -> list[dict[str, pa.Array]]:
        lines, step = book_lines(), min(rows, self.lines)
        return [{"line": pa.array(lines[at : at + step])} for at in range(0, len(lines), step)]


def topology(speed: str, seconds: float, workers: int, **source: object) -> dict[str, dict[str, Any]]:
    """lines -> split -> count, keyed by word -> meter; a replica of each in each worker."""
    split, count = OPERATORS[speed]
    return {
        "lines": {
            "type": "benchmarks.suites.word_count:Book",
            "seconds": seconds,
            "shards": workers,
            "replicas": workers,
            **source,
        },
        "split": {"type": split, "inputs": ["lines"], "replicas": workers},
        "count": {
            "type": count,
            "inputs": [{"from": "split", "route": "key", "key": "word"}],
            "replicas": workers,
        },
        "meter": {
            "type": "benchmarks.meter:Meter",
            "inputs": [{"from": "count.running", "route": "forward"}],
            "replicas": workers,
            "into": INTO,
        },
    }


def run(speed: str, workers: int, seconds: float, **deploy: Any) -> float:
    """Words a second."""
    actors = topology(speed, seconds, workers)
    return launch("word-count", actors, transport="shm", workers=workers, **deploy).rate()


def suite(settings: Settings) -> Suite:
    seconds = 1.0 if settings.quick else 2.0
    probes = [
        probe("per-event-1", "words/s", partial(run, "per-event", 1, seconds)),
        probe("per-event-2", "words/s", partial(run, "per-event", 2, seconds), against="per-event-1"),
        probe("batch-1", "words/s", partial(run, "batch", 1, seconds)),
        probe("batch-2", "words/s", partial(run, "batch", 2, seconds), against="batch-1"),
        probe("native-2", "words/s", partial(run, "native", 2, seconds)),
    ]
    return Suite("word-count", (*probes, *peers(settings)), notes=("the figure after the name: processes",))


def peers(settings: Settings) -> list[Probe]:
    """bytewax, in one process and in two."""
    if "bytewax" not in settings.peers:
        return []
    repeats = str(settings.scale(80, 30))

    def measured(processes: int) -> float:
        return float(environments.run("bytewax", "bytewax_word_count.py", repeats, str(processes))["value"])

    return [
        probe(
            f"bytewax-{number}",
            "words/s",
            partial(measured, number),
            against=f"per-event-{number}",
            peer="bytewax",
        )
        for number in (1, 2)
    ]
