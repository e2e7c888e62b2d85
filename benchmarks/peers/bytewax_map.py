"""bytewax: an in-process map over integers, batches from memory. Prints {"value": events a second}."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

BATCH = 4096
marks: dict[str, float] = {}


class Numbers(StatelessSourcePartition[int]):
    def __init__(self, batches: int) -> None:
        self.left = batches
        self.batch = list(range(BATCH))

    def next_batch(self) -> Iterable[int]:
        if self.left == 0:
            raise StopIteration
        self.left -= 1
        return self.batch


class Source(DynamicSource[int]):
    def __init__(self, batches: int) -> None:
        self.batches = batches

    def build(self, step_id: str, worker_index: int, worker_count: int) -> Numbers:
        return Numbers(self.batches)


class Count(StatelessSinkPartition[int]):
    """Counts from its second batch on, so that start-up is not measured."""

    def __init__(self) -> None:
        self.rows = 0

    def write_batch(self, items: list[int]) -> None:
        now = time.monotonic()
        if "begun" in marks:
            self.rows += len(items)
        else:
            marks["begun"] = now
        marks["ended"] = now
        marks["rows"] = self.rows


class Sink(DynamicSink[int]):
    def build(self, step_id: str, worker_index: int, worker_count: int) -> Count:
        return Count()


def main(rows: int) -> None:
    flow = Dataflow("map")
    numbers = op.input("numbers", flow, Source(rows // BATCH))
    op.output("count", op.map("add", numbers, lambda number: number + 1), Sink())
    run_main(flow)
    print(json.dumps({"value": marks["rows"] / (marks["ended"] - marks["begun"])}))


if __name__ == "__main__":
    main(int(sys.argv[1]))
