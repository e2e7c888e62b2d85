"""ScaleGates in a process, one for all replicas of an actor or one for each: the sequence that a merge of each gives."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import WorkerDiedError
from actorstream.events.saved import saved_rows
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.metrics.counters import Counter
from actorstream.plan.job import Job
from actorstream.runtime.timestamp.merge import TimestampMerge
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers
from tests.integration.test_recovery_hooks import ENDLESS, barriers_then_drain, job_of, run_with, states
from tests.integration.test_tied_rows import MANY, Keeps, Many, Waits, counted, expected
from tests.integration.test_timestamp_topologies import each, in_rank_order, random_scheduling
from tests.integration.timestamp_parts import (
    PooledRunning,
    PooledTicks,
    Row,
    Running,
    Ticks,
    rows_of,
)

POOL = {"schedule": "ct", "threads": 2}
SHARES = ["all", "each", "one"]
"""Who reads a gate: all replicas of an actor, each one of its own, or the only one there is."""


def read(stream: Any, share: str, key: str = "key") -> Any:
    ways = {"all": stream.broadcast, "each": lambda: stream.by(key), "one": stream.to_one}
    return ways[share]().ordered("timestamp")


def shared(job: Job) -> set[str]:
    """Actors whose replicas share a gate."""
    return {name for name, why in job.gates.items() if not why}


def sequence(topology: Topology, deployment: dict[str, Any]) -> list[Row]:
    """What the sink collects, where those to which rows are broadcast share a gate."""
    job = job_of(topology, **deployment)
    assert shared(job) == job.gates.keys()
    return [tuple(row) for row in run_job(job).collected["sink"]]


def random_readers(dice: random.Random) -> tuple[Topology, list[Row]]:
    """Two to four channels into each of some replicas, whose rows meet again; and what the sink must collect."""
    topology = Topology("read")
    streams, given = [], []
    share = dice.choice(SHARES)
    sources = dice.randint(1, 3)
    alike = dice.randint(1 if sources > 1 else 2, 2)  # that rows of all inputs of one replica carry the same
    for who in range(sources):
        keys = {"count": dice.choice([0, 1, 30, 200]), "span": dice.choice([1, 20, 400])}
        parts = alike if share == "one" else 2 if who == 0 else 1
        source = topology.source(Ticks, name=f"source{who}", who=who, parts=parts, replicas=parts, **keys)
        streams.append(read(source, share))
        given.append(rows_of(who, parts=parts, **keys))
    replicas = 1 if share == "one" else dice.randint(2, 4)
    kind = dice.choice([Running, PooledRunning, PooledTicks])
    first, *others = streams
    merged = first.through(kind, *others, name="merged", replicas=replicas)
    rows = in_rank_order(*given)
    rows = rows if kind is PooledTicks else each(Running())(rows)
    if share == "all":
        rows = [row for row in rows for _ in range(replicas)]
    if dice.random() < 0.5:
        merged = merged.by("key").through(PooledRunning, name="after", replicas=2)
        rows = each(Running())(rows)
    merged.to_one().ordered("timestamp").into(Collect, name="sink")
    return topology, rows


def random_deployment(dice: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"workers": dice.randint(1, 3), "transport": "local", "merge": "gate"}
    found["batch_size"] = dice.choice([1, 3, 64, 4096])
    found["edge_bytes"] = dice.choice([1, 1024, 4 << 20])
    return found | random_scheduling(dice, pools=0.7)


@pytest.mark.parametrize("seed", range(15))
def test_random_readers_get_the_sequence_of_the_model(seed: int) -> None:
    dice = random.Random(seed)
    topology, rows = random_readers(dice)
    deployment = random_deployment(dice)
    assert sequence(topology, deployment) == rows, deployment


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1120))
def test_many_random_readers_get_the_sequence_of_the_model(seed: int) -> None:
    dice = random.Random(seed)
    topology, rows = random_readers(dice)
    deployment = random_deployment(dice)
    assert sequence(topology, deployment) == rows, deployment


def kept(job: Job, state: Any) -> list[Row]:
    """Rows that waited at a barrier before a replica of the sink."""
    sink = job.graph.actors["sink"]
    rows: list[Row] = []
    for _, _, waiting in (state["unit"] or {"lanes": []})["lanes"]:
        for saved in waiting:
            batch = saved_rows(sink.input_schemas[0], saved)
            rows += zip(batch["value"].tolist(), batch["group"].tolist())
    return rows


BARRIERS = [{"merge": "gate"}, {"merge": "gate", "edge_bytes": 1, **POOL}, {"merge": "gate", **POOL}]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("deployment", BARRIERS, ids=str)
def test_a_barrier_finds_every_replica_behind_the_rows_before_it(
    deployment: dict[str, Any], share: str
) -> None:
    """The sources are at different times when it comes: rows before it wait for rows behind it. What has been read lies in
    the replicas or waits before them; all of whom share a gate have and wait for the same."""
    topology = Topology("barriers")
    fast = topology.source(Numbers, name="fast", count=ENDLESS, rate=9_000)
    slow = topology.source(Numbers, name="slow", count=ENDLESS, rate=2_000)
    replicas = 1 if share == "one" else 3
    slower = read(slow, share, "group")
    read(fast, share, "group").into(Keeps, slower, name="sink", replicas=replicas)
    job = job_of(topology, **deployment)
    assert shared(job) == ({"sink"} if share == "all" else set())
    result, launcher = run_with(job, barriers_then_drain(3))
    for barrier in (1, 2, 3):
        found = states(launcher, barrier)
        first, *others = found["sink"]
        if share == "all":
            assert all((other["state"], other["unit"]) == (first["state"], first["unit"]) for other in others)
            found["sink"] = [first]
        before = [(value, value % 101) for name in ("fast", "slow") for value in range(read_of(found[name]))]
        came = [tuple(row) for each in found["sink"] for row in each["state"]]
        assert sorted(came + [row for each in found["sink"] for row in kept(job, each)]) == sorted(before)
    values = [row[0] for row in result.collected["sink"]]
    assert descents(values) < replicas
    if share == "all":
        one = values[: len(values) // 3]
        assert values == one * 3
    assert set(values) == set(range(len(set(values))))


def read_of(sources: list[Any]) -> int:
    """Rows before the position of a source with one partition."""
    (position,) = sources[0]["positions"].values()
    return int(position)


def descents(values: list[Any]) -> int:
    """How often a value is below the one before it: once between replicas at most, for each has them in order."""
    return sum(b < a for a, b in pairwise(values))


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def tied_topology(hears: int, later: int, share: str) -> Topology:
    topology = Topology("tied")
    first = topology.source(Waits, name="first", hears=hears)
    second = topology.source(Many, name="second", later=later)
    replicas = 1 if share == "one" else 2
    read(first, share, "n").into(Keeps, read(second, share, "n"), name="sink", replicas=replicas)
    return topology


KILLED = [("gate", "gate", {}), ("gate", "gate", POOL), ("gate", "channel", {}), ("channel", "gate", {})]


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize(("merge", "then", "deployment"), KILLED, ids=str)
def test_rows_that_wait_for_a_tie_are_spilled_and_are_in_a_checkpoint(
    merge: str,
    then: str,
    deployment: dict[str, Any],
    share: str,
    pipe: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run that is killed and one that goes on from its checkpoint, who may merge in the other way, are the sequence."""
    monkeypatch.setattr(TimestampMerge, "most_tied", 50_000)
    keys = {"batch_size": 128, "checkpoint": {"path": str(tmp_path / "state"), "every": "10ms"}, **deployment}
    job = job_of(tied_topology(pipe[0], 100, share), merge=merge, **keys)
    assert shared(job) == ({"sink"} if (merge, share) == ("gate", "all") else set())

    def control(launcher: Launcher, _: object) -> Callable[[], None]:
        spilled: list[int] = []
        second = next(each.id for each in launcher.job.plan.replicas if each.actor == "second")

        def tick() -> None:
            assert launcher.checkpoints is not None
            sent = launcher.job.counters.value(second, Counter.EVENTS_OUT)
            if sent >= MANY and counted(launcher, Counter.SPILLED_BYTES):
                spilled.append(launcher.checkpoints.made)
            if spilled and launcher.checkpoints.made > spilled[0] + 1:
                launcher.workers[0].kill()

        return tick

    with pytest.raises(WorkerDiedError):
        run_job(job, on_start=control)
    again = job_of(tied_topology(pipe[0], 100, share), merge=then, **keys)
    restore_job(again)
    assert again.restored is not None
    if merge != "channel":  # channels of several replicas need not have kept the same
        assert shared(again) == ({"sink"} if (then, share) == ("gate", "all") else set())
    os.write(pipe[1], b"x")
    rows = [tuple(row) for row in run_job(again).collected["sink"]]
    if share == "each":
        assert descents(rows) <= 1
        assert sorted(rows) == sorted(expected(100))
    else:
        assert rows == expected(100) * (2 if share == "all" else 1)
