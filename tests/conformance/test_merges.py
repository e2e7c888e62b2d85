"""What every way of merging input in timestamp order must give: the sequence of a run of one row after the other. One suite
for channels, ScaleGates and merge-sort operators, in one process with and without a pool and in several."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from itertools import product
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.source import Source
from actorstream.events.batch import Batch
from actorstream.launch.run import run_job
from actorstream.plan.job import Job
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Pass
from tests.integration.test_idle_sources import TellsAtRow, Told, pipe
from tests.integration.test_recovery_hooks import job_of
from tests.integration.test_scalegates import SHARES, read, shared
from tests.integration.test_timestamp_topologies import each, in_rank_order
from tests.integration.timestamp_parts import (
    KeepKey,
    PassTicks,
    PooledRunning,
    Row,
    Running,
    Tick,
    Ticks,
    rows_of,
)

MERGES = ["channel", "gate"]
PLACES: dict[str, dict[str, Any]] = {
    "local": {"transport": "local", "workers": 1},
    "pool": {"transport": "local", "workers": 1, "schedule": "ct", "threads": 2},
    "shm": {"transport": "shm", "workers": 2},
}
SIZES: list[dict[str, Any]] = [
    {"batch_size": 1, "edge_bytes": 1},
    {"batch_size": 7, "edge_bytes": 1024},
    {"batch_size": 4096},
]
"""Jumbo tuples of one row in rings of one slot, small ones, large ones."""
CASES: dict[str, list[dict[str, int]]] = {
    "ties": [{"count": 40, "span": 3}, {"count": 40, "span": 3}],
    "one time": [{"count": 30, "span": 1}, {"count": 30, "span": 1}],
    "hardly a tie": [{"count": 150, "span": 4000}],
    "an empty source": [{"count": 0}, {"count": 60, "span": 30}],
    "nothing": [{"count": 0}],
    "a source that ends early": [{"count": 3, "span": 2}, {"count": 120, "span": 90}],
}
PARTS = 2
"""Partitions and replicas of each source."""
REPLICAS = {"all": 2, "each": 3, "one": 1}
"""Of who reads, by who shares what is merged."""
IN_MEMORY = ["local", "pool"]
WAYS = pytest.mark.parametrize(("merge", "place"), [*product(MERGES, PLACES)])
SHARED = pytest.mark.parametrize("share", SHARES)


def by_model(rows: list[Row], share: str) -> list[Row]:
    """What the sink gets behind readers of these rows in their order."""
    found = each(Running())(rows)
    return [row for row in found for _ in range(REPLICAS[share] if share == "all" else 1)]


def collected(job: Job, merge: str, place: str) -> list[Row]:
    """What the sink collects, where in one process all to which rows are broadcast share a gate if that is asked for."""
    if place in IN_MEMORY and merge != "channel":
        assert shared(job) == job.gates.keys()
    return [tuple(row) for row in run_job(job).collected["sink"]]


def into_readers(topology: Topology, streams: list[Any], share: str, place: str) -> Any:
    """Streams that are read in order by replicas of an actor that depends on the order."""
    first, *others = [read(stream, share) for stream in streams]
    kind = PooledRunning if place == "pool" else Running
    readers = first.through(kind, *others, name="reader", replicas=REPLICAS[share])
    return readers.to_one().ordered("timestamp")


def merged(case: str, merge: str, place: str, share: str, size: dict[str, Any]) -> None:
    topology = Topology("merged")
    streams, given = [], []
    for who, keys in enumerate(CASES[case]):
        keys = {**keys, "who": who, "parts": PARTS}
        streams.append(topology.source(Ticks, name=f"source{who}", replicas=PARTS, **keys))
        given.append(rows_of(**keys))
    into_readers(topology, streams, share, place).into(Collect, name="sink")
    job = job_of(topology, merge=merge, **PLACES[place], **size)
    assert collected(job, merge, place) == by_model(in_rank_order(*given), share)


SOME = [
    pytest.param(merge, place, case, SIZES[(number + way) % len(SIZES)], share)
    for way, (merge, place, share) in enumerate(product(MERGES, PLACES, SHARES))
    for number, case in enumerate(CASES)
    if (place in IN_MEMORY and (number + way) % 3 == 0) or case == "ties"
]
"""Ties, and a third of the other cases of each way in one process; all are under `slow`."""
ALL = [*product(MERGES, PLACES, CASES, SIZES, SHARES)]


@pytest.mark.parametrize(("merge", "place", "case", "size", "share"), SOME)
def test_the_sequence_is_that_of_one_row_after_the_other(
    merge: str, place: str, case: str, size: dict[str, Any], share: str
) -> None:
    merged(case, merge, place, share, size)


@pytest.mark.slow
@pytest.mark.parametrize(("merge", "place", "case", "size", "share"), ALL)
def test_the_sequence_is_that_of_one_row_after_the_other_in_jumbo_tuples_of_every_size(
    merge: str, place: str, case: str, size: dict[str, Any], share: str
) -> None:
    merged(case, merge, place, share, size)


@SHARED
@WAYS
def test_a_diamond_whose_rings_have_one_slot_runs_to_the_end(merge: str, place: str, share: str) -> None:
    """One branch drops everything, and more rows are tied than a ring holds."""
    topology = Topology("diamond")
    source = topology.source(Ticks, name="source", who=1, count=80, span=5)
    dropped = source.through(KeepKey, name="dropped")
    passed = source.through(PassTicks, name="passed")
    into_readers(topology, [dropped, passed], share, place).into(Collect, name="sink")
    tiny = {"edge_bytes": 1, "batch_size": 4, "pipelining": False}
    job = job_of(topology, merge=merge, **PLACES[place], **tiny)
    assert collected(job, merge, place) == by_model(rows_of(1, 80, 1, 5), share)


LAST = 60
"""Time of the last row of a source that is silent before."""


class Promises(Source):
    """A row at time 0; then none until it is told, but it says that the next one is of time `LAST`."""

    outputs: ClassVar[dict[str, Any]] = {"default": Tick}

    def __init__(self, hears: int) -> None:
        self.hears, self.done = hears, 0

    async def read(self, max_rows: int) -> Batch | None:
        if self.done == 2:
            return None
        if self.done:
            loop, told = asyncio.get_running_loop(), asyncio.Event()
            loop.add_reader(self.hears, told.set)
            try:
                await told.wait()
            finally:
                loop.remove_reader(self.hears)
        self.row, self.done = self.done, self.done + 1
        values = {"t": LAST * self.row, "who": 9, "part": 0, "n": self.row, "key": self.row}
        return Batch.of_columns(Tick, {name: [value] for name, value in values.items()})

    def lower_bound(self, now_ns: int) -> int | None:
        return LAST if self.done else None


class Tells(Actor):
    """Writes to a pipe when it sees a row of some time; hands on what it gets."""

    outputs: ClassVar[dict[str, Any]] = {"default": Tick}

    def __init__(self, told: int, time: int) -> None:
        self.told, self.time = told, time

    def on_batch(self, batch: Batch) -> Batch:
        if self.time in batch["t"].tolist():
            os.write(self.told, b"x")
        return batch


@SHARED
@WAYS
def test_nobody_waits_for_a_silent_source_that_promises(merge: str, place: str, share: str) -> None:
    """It goes on only when the last row of the other one has come out."""
    busy = rows_of(1, 50, 1, 40)
    silent = [(0, 9, 0, 0, 0), (LAST, 9, 0, 1, 1)]
    with pipe() as (hears, told):
        topology = Topology("promised")
        streams = [
            topology.source(Ticks, name="busy", who=1, count=50, span=40),
            topology.source(Promises, name="silent", hears=hears),
        ]
        out = into_readers(topology, streams, share, place)
        told_at = out.through(Tells, name="tells", told=told, time=busy[-1][0])
        told_at.ordered("timestamp").into(Collect, name="sink")
        job = job_of(topology, merge=merge, heartbeat_every="2ms", batch_size=16, **PLACES[place])
        assert collected(job, merge, place) == by_model(in_rank_order(busy, silent), share)


@pytest.mark.parametrize("between", [False, True])
@WAYS
def test_an_idle_source_holds_nobody_up_and_its_old_rows_are_late(
    merge: str, place: str, between: bool
) -> None:
    """The silent source goes on when the row of time 25 has come through without it: that is below nothing then. Its timeout
    is longer than a busy machine may keep it from its first row."""
    with pipe() as (hears, told):
        topology = Topology("idle")
        busy = topology.source(Told, name="busy", hears=-1, first=[1, 12, 25, 40], then=[])
        silent = topology.source(
            Told,
            name="silent",
            hears=hears,
            first=[2],
            then=[3, 50],
            idle_timeout=timedelta(milliseconds=100),
        )
        if between:
            silent = silent.through(Pass, name="between")
        both = busy.ordered("timestamp").through(Pass, silent.ordered("timestamp"), name="both")
        both.through(TellsAtRow, name="tells", told=told, value=25).into(Collect, name="sink")
        both.late.into(Collect, name="late")
        run = topology.run(merge=merge, batch_size=16, **PLACES[place])
    assert [row[0] for row in run.collected["sink"]] == [1, 2, 12, 25, 40, 50]
    assert [row[0] for row in run.collected["late"]] == [3]
