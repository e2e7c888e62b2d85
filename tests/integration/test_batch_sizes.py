"""No result depends on how many rows sources and builders take at once: not where they find it, nor where it is drawn anew for
every batch."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from actorstream.topology.builder import Topology
from tests.integration import test_serial_topologies as serial
from tests.integration import test_timestamp_topologies as timestamp
from tests.integration.parts import Collect, Double, Expand, Numbers
from tests.integration.programs import (
    KeyedCounters,
    job_of,
    operation_streams,
    question,
    random_plan,
    run,
    sequential,
)

DRAWN: dict[str, Any] = {"batch_size": "auto", "testing": {"seed": 1}}
FOUND: dict[str, Any] = {"batch_size": "auto"}
PROCESSES: dict[str, Any] = {"transport": "shm", "workers": 2}


POOLS: list[dict[str, Any]] = [{}, {"schedule": "lp", "threads": 1}]


def drawn(seed: int) -> dict[str, Any]:
    """A deployment whose batches have drawn sizes; every third has processes."""
    found = {**DRAWN, "testing": {"seed": seed}, "edge_bytes": (1, 4096, 4 << 20)[seed % 3]}
    return found | (PROCESSES if not seed % 3 else {"transport": "local", "workers": 1 + seed % 3})


@pytest.mark.parametrize("seed", range(5))
def test_serial_order_is_that_of_the_model(seed: int) -> None:
    topology, expected = serial.random_topology(random.Random(seed))
    result = topology.run(**drawn(seed))
    for sink, rows in expected.items():
        assert list(result[sink]) == rows


@pytest.mark.parametrize("seed", range(4))
def test_timestamp_order_is_that_of_the_model(seed: int) -> None:
    topology, expected = timestamp.random_topology(random.Random(seed))
    assert list(timestamp.rows(topology, drawn(seed) | POOLS[seed % 2])) == expected


@pytest.mark.parametrize("seed", range(3))
def test_a_program_gives_the_outputs_of_the_sequential_one(seed: int) -> None:
    chance = random.Random(seed)
    streams = operation_streams(chance, 400)
    plan = random_plan(chance, question(KeyedCounters(), streams, 8))
    job = job_of(KeyedCounters, streams, plan, **drawn(seed))
    assert Counter(run(job)) == Counter(sequential(KeyedCounters(), streams))


def windows(order: str = "none", count: int = 40_000) -> Topology:
    """The rows of a source and the windows over them, in one sink."""
    topology = Topology("windows")
    numbers = topology.source(Numbers, name="numbers", count=count)
    window = {"type": "tumbling", "size": 1000}
    found = numbers.through(
        "aggregate", key=["group"], window=window, aggregates={"value": "max(value)"}, name="windows"
    )
    made = found.through("map", select=["value", "group"], name="made")
    numbers.ordered(order).into(Collect, made.ordered(order), name="sink")
    return topology


@pytest.mark.parametrize("deploy", [DRAWN, FOUND, {**FOUND, **PROCESSES}, {"batch_size": 999}])
def test_windows_fire_behind_the_same_rows_of_a_serial_sequence(deploy: dict[str, Any]) -> None:
    expected = list(windows("serial").run(batch_size=4096)["sink"])
    assert list(windows("serial").run(**deploy)["sink"]) == expected
    assert expected.index((999, 999 % 101), 1001) > 1001


@pytest.mark.parametrize("deploy", [FOUND, {**FOUND, **PROCESSES}, {**DRAWN, **PROCESSES}])
def test_batches_of_found_sizes_lose_no_row(deploy: dict[str, Any]) -> None:
    def build() -> Topology:
        topology = Topology("keyed")
        rows = topology.source(Numbers, count=30_000, parts=2, replicas=2).through(Expand, times=2)
        rows.by("group").through(Double, replicas=2).into(Collect, name="sink")
        return topology

    result = build().run(**deploy)
    assert sorted(result["sink"]) == sorted(build().run(batch_size=64)["sink"])
    (source, *_) = (result.report["actors"][name] for name in result.report["actors"])
    for replica in source:
        rows = replica["batch_rows"]
        assert 1 <= rows["min"] <= rows["p50"] <= rows["max"] <= 262_144
