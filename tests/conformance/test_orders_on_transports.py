"""Every order on every transport: what reaches the sinks is what a run of one row after the other gives. The transports are
those of this package and the example of docs/transports.md, so an order asks no more of a transport than that page promises."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.socket_plugin import PLACES, installed_socket_transports
from tests.covering import sampled
from tests.integration import test_random_topologies as unordered
from tests.integration import test_serial_topologies as serial
from tests.integration import test_timestamp_topologies as timestamp
from tests.integration.programs import (
    EchoedCounters,
    Echoes,
    job_of,
    operation_streams,
    question,
    random_plan,
    run,
    sequential,
    value_streams,
)
from tests.integration.test_dependent_outputs import between, by_key

MERGES = ["channel", "gate"]


@pytest.fixture(scope="module", autouse=True)
def socket_transport(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with installed_socket_transports(tmp_path_factory.mktemp("plugin")):
        yield


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Where a job runs."""
    return {"transport": request.param, "workers": PLACES[request.param]}


SEEDS = sampled("seed", range(4), quick=1)


@SEEDS
def test_rows_without_an_order_come_once(place: dict[str, Any], seed: int) -> None:
    dice = random.Random(f"none {seed}")
    topology, expected = unordered.random_topology(dice)
    result = topology.run(**unordered.random_deployment(dice) | place)
    assert {sink: Counter(tuple(row) for row in result[sink]) for sink in expected} == {
        sink: Counter(rows) for sink, rows in expected.items()
    }


@SEEDS
def test_rows_in_serial_order_come_in_the_order_of_the_source(place: dict[str, Any], seed: int) -> None:
    dice = random.Random(f"serial {seed}")
    topology, expected = serial.random_topology(dice)
    result = topology.run(**serial.random_deployment(dice) | place)
    assert {sink: [tuple(row) for row in result[sink]] for sink in expected} == expected


@pytest.mark.parametrize("merge", MERGES)
@sampled("seed", range(3), quick=1)
def test_rows_in_timestamp_order_come_by_time(place: dict[str, Any], merge: str, seed: int) -> None:
    dice = random.Random(f"timestamp {seed}")
    topology, expected = timestamp.random_topology(dice)
    result = topology.run(**timestamp.random_deployment(dice) | place | {"merge": merge})
    assert [tuple(row) for row in result["sink"]] == expected


@SEEDS
def test_outputs_of_programs_come_in_the_order_of_dependence(place: dict[str, Any], seed: int) -> None:
    chance = random.Random(seed)
    sizes = {"batch_size": (1, 7, 64, 4096)[seed % 4], "edge_bytes": (1, 4 << 20)[seed % 2]}
    streams = value_streams(chance, chance.randint(2, 4), 200, 20)
    plan = random_plan(chance, question(Echoes(), streams, 4))
    outputs = run(job_of(Echoes, streams, plan, **place, **sizes))
    assert between(outputs) == between(sequential(Echoes(), streams))


@sampled("seed", range(2), quick=1)
def test_nor_do_checkpoints_and_delays_change_their_order(
    place: dict[str, Any], seed: int, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {
        "batch_size": 5,
        "edge_bytes": 1,
        "testing": {"delay": "1ms", "seed": seed},
        "checkpoint": {"every": "5ms", "path": str(tmp_path / "kept")},
    }
    chance = random.Random(seed)
    streams = value_streams(chance, 3, 100, 10)
    plan = random_plan(chance, question(Echoes(), streams, 4))
    outputs = run(job_of(Echoes, streams, plan, **place, **settings))
    assert between(outputs) == between(sequential(Echoes(), streams))


@SEEDS
def test_outputs_of_keyed_programs_come_in_the_order_of_each_key(place: dict[str, Any], seed: int) -> None:
    chance = random.Random(seed)
    streams = operation_streams(chance, 200)
    plan = random_plan(chance, question(EchoedCounters(), streams, 4))
    outputs = run(job_of(EchoedCounters, streams, plan, **place))
    assert by_key(outputs) == by_key(sequential(EchoedCounters(), streams))
