"""Rows that all replicas of an actor get in timestamp order, by one ScaleGate: the sequence that a merge of each gives."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actorstream.errors import WorkerDiedError
from actorstream.launch.launcher import Launcher
from actorstream.launch.resume import restore_job
from actorstream.launch.run import run_job
from actorstream.metrics.counters import Counter
from actorstream.runtime.timestamp.gate_input import GateInput
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers
from tests.integration.test_recovery_hooks import ENDLESS, barriers_then_drain, job_of, run_with, states
from tests.integration.test_tied_rows import MANY, Keeps, Many, Waits, counted, expected
from tests.integration.test_timestamp_topologies import each, in_rank_order, random_scheduling
from tests.integration.timestamp_parts import (
    KeepKey,
    PassTicks,
    PooledRunning,
    PooledTicks,
    Row,
    Running,
    Ticks,
    rows_of,
)

POOL = {"schedule": "ct", "threads": 2}


def sequence(topology: Topology, deployment: dict[str, Any]) -> list[Row]:
    """What the sink collects, where one gate does for all replicas."""
    job = job_of(topology, **deployment)
    assert "" in job.gates.values()
    return [tuple(row) for row in run_job(job).collected["sink"]]


def random_broadcast(dice: random.Random) -> tuple[Topology, list[Row]]:
    """Two to four channels that are broadcast to some replicas, whose rows meet again; and what the sink must collect."""
    topology = Topology("broadcast")
    streams, given = [], []
    for who in range(dice.randint(1, 3)):
        keys = {"count": dice.choice([0, 1, 30, 200]), "span": dice.choice([1, 20, 400])}
        parts = 2 if who == 0 else 1
        source = topology.source(Ticks, name=f"source{who}", who=who, parts=parts, replicas=parts, **keys)
        streams.append(source.broadcast().ordered("timestamp"))
        given.append(rows_of(who, parts=parts, **keys))
    replicas = dice.randint(2, 4)
    kind = dice.choice([Running, PooledRunning, PooledTicks])
    first, *others = streams
    merged = first.through(kind, *others, name="merged", replicas=replicas)
    rows = in_rank_order(*given)
    rows = rows if kind is PooledTicks else each(Running())(rows)
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


@pytest.mark.parametrize("seed", range(10))
def test_random_broadcasts_give_the_sequence_of_the_model(seed: int) -> None:
    dice = random.Random(seed)
    topology, rows = random_broadcast(dice)
    deployment = random_deployment(dice)
    assert sequence(topology, deployment) == rows, deployment


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_many_random_broadcasts_give_the_sequence_of_the_model(seed: int) -> None:
    dice = random.Random(seed)
    topology, rows = random_broadcast(dice)
    deployment = random_deployment(dice)
    assert sequence(topology, deployment) == rows, deployment


@pytest.mark.parametrize("deployment", [{}, POOL, {"testing": {"delay": "1ms", "seed": 2}}], ids=str)
def test_diamonds_with_rings_of_one_jumbo_tuple_run_to_the_end(deployment: dict[str, Any]) -> None:
    """One branch drops everything; both, and the replicas that read them, meet again."""
    topology = Topology("diamond")
    source = topology.source(Ticks, name="source", who=1, count=200, span=9)
    dropped = source.through(KeepKey, name="dropped")
    passed = source.through(PassTicks, name="passed")
    merged = dropped.broadcast().ordered("timestamp")
    merged = merged.through(PooledTicks, passed.broadcast().ordered("timestamp"), name="merged", replicas=2)
    merged.to_one().ordered("timestamp").into(Collect, name="sink")
    tiny = {"workers": 1, "transport": "local", "merge": "gate", "edge_bytes": 1, "batch_size": 4}
    assert sequence(topology, {**tiny, **deployment}) == [
        row for row in rows_of(1, 200, 1, 9) for _ in range(2)
    ]


@pytest.mark.parametrize("deployment", [{"merge": "gate"}, {"edge_bytes": 1, **POOL}, POOL], ids=str)
def test_a_barrier_finds_every_replica_behind_the_same_row(deployment: dict[str, Any]) -> None:
    """The sources are at different times when it comes: rows before it wait for rows behind it."""
    topology = Topology("broadcast-barriers")
    fast = topology.source(Numbers, name="fast", count=ENDLESS, rate=9_000)
    slow = topology.source(Numbers, name="slow", count=ENDLESS, rate=2_000)
    read = fast.broadcast().ordered("timestamp")
    read.into(Keeps, slow.broadcast().ordered("timestamp"), name="sink", replicas=3)
    job = job_of(topology, **deployment)
    assert job.gates == {"sink": ""}
    result, launcher = run_with(job, barriers_then_drain(3))
    for barrier in (1, 2, 3):
        first, *others = states(launcher, barrier)["sink"]
        assert all((other["state"], other["unit"]) == (first["state"], first["unit"]) for other in others)
    values = [row[0] for row in result.collected["sink"]]
    one = values[: len(values) // 3]
    assert values == one * 3
    assert one == sorted(one)
    assert sorted(set(one)) == list(range(one[-1] + 1))


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for end in ends:
        os.close(end)


def tied_topology(hears: int, later: int) -> Topology:
    topology = Topology("tied")
    first = topology.source(Waits, name="first", hears=hears)
    second = topology.source(Many, name="second", later=later)
    read = first.broadcast().ordered("timestamp")
    read.into(Keeps, second.broadcast().ordered("timestamp"), name="sink", replicas=2)
    return topology


@pytest.mark.parametrize("deployment", [{"merge": "gate"}, {"batch_size": 256, **POOL}], ids=str)
def test_rows_that_wait_for_a_tie_are_spilled_and_are_in_a_checkpoint(
    deployment: dict[str, Any], pipe: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GateInput, "most_tied", 50_000)
    deployment = {**deployment, "checkpoint": {"path": str(tmp_path / "state"), "every": "10ms"}}
    job = job_of(tied_topology(pipe[0], 100), **deployment)
    assert job.gates == {"sink": ""}

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
    again = job_of(tied_topology(pipe[0], 100), **deployment)
    restore_job(again)
    assert again.restored is not None
    assert again.gates == {"sink": ""}
    os.write(pipe[1], b"x")
    found = run_job(again)
    assert [tuple(row) for row in found.collected["sink"]] == expected(100) * 2
