"""Measures what a batch costs a worker in which a union brings two streams together, and one whose operators have one input each.
The worker's units take turns without an event loop, and no channel leads to another process."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any, ClassVar

import numpy as np

from actorstream.connectors.source import Source
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.plan.compile import compile_job
from actorstream.runtime.build import build_units
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_deploy
from benchmarks.loops.batch_cost import ROUNDS, microseconds

SHAPES = ("line", "union", "branches")


class Reading(Event):
    number: int
    share: float


class Again(Source):
    """Reads the same batch again and again."""

    outputs: ClassVar[dict[str, Any]] = {"default": Reading}

    def __init__(self, rows: int, **keys: Any) -> None:
        super().__init__(**keys)
        values = np.arange(rows)
        self.batch = Batch.of_columns(Reading, {"number": values % 20, "share": (values % 7) * 1.0})

    def read(self, max_rows: int) -> Batch:
        return self.batch


def worker_of(shape: str, rows: int) -> Worker:
    """A worker that no loop runs. line: source, filter, filter, map, aggregate. union: two such sources, each with a filter,
    and a union before the rest. branches: one source with two filters and the same union."""
    topology = Topology(shape)
    streams = [
        topology.source(Again, name=f"source{number}", rows=rows)
        for number in range(2 if shape == "union" else 1)
    ]
    if shape == "branches":
        streams *= 2
    branches = [
        stream.through("filter", name=f"some{number}", where=f"number % 2 == {number}")
        for number, stream in enumerate(streams)
    ]
    first, *others = branches
    stream = first.through("union", *others, name="both") if others else first
    stream = stream.through("filter", name="less", where="number < 15")
    stream = stream.through("map", name="more", set={"share": "share * 2.0"})
    aggregates = {"rows": "count()", "share": "sum(share)"}
    stream.through("aggregate", name="total", key="number", aggregates=aggregates).collect()
    deploy = load_deploy(None, [f"deploy.batch_size={rows}"], transport="local", workers=1)
    worker = Worker(compile_job(topology.spec(), deploy), 0, None, None)
    worker.units = build_units(worker)
    for replica in worker.replicas():
        replica.actor.on_start()
    return worker


def costs(rows: int, batches: int) -> list[float]:
    """Microseconds for a batch of `rows` rows that a source gives: of each of SHAPES in turns of many batches, then in turns
    of one. The medians of rounds in which each comes in turn."""
    many = [_turns(worker_of(shape, rows), rows, batches) for shape in SHAPES]
    lone = [worker_of(shape, rows) for shape in SHAPES]
    for worker in lone:
        worker.turn_ns = 0
    ways = [*many, *(_turns(worker, rows, batches // 4) for worker in lone)]
    for way in ways:
        way()
    found: list[list[float]] = [[] for _ in ways]
    for _ in range(ROUNDS):
        for way, values in zip(ways, found):
            values.append(microseconds(way))
    return [median(values) for values in found]


def _turns(worker: Worker, rows: int, batches: int) -> Callable[[], float]:
    sources = [unit for unit in worker.units if isinstance(unit, SourceUnit)]

    def made() -> float:
        return sum(unit.head.events_out for unit in sources) / rows

    def run() -> float:
        before = made()
        while made() - before < batches:
            for unit in worker.units:
                unit.step()
        return made() - before

    return run
