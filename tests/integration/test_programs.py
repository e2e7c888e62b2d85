"""Programs under synchronization plans: the sequential program's outputs, whatever plan, transport and cut."""

from __future__ import annotations

import random
from collections import Counter
from importlib import import_module
from typing import Any

import pytest

from actorstream.dgs.optimizer import OPTIMIZERS
from tests.integration.programs import (
    KeyedCounters,
    ValueBarrier,
    job_of,
    operation_streams,
    question,
    random_plan,
    run,
    sequential,
    value_streams,
)

WAYS = [("local", 1), ("shm", 1), ("shm", 2), ("shm", 4)]


def optimized(name: str, ask: Any) -> Any:
    module, _, function = OPTIMIZERS[name].partition(":")
    return getattr(import_module(module), function)(ask)


@pytest.mark.parametrize("optimizer", ["sequential", "balanced", "communication"])
@pytest.mark.parametrize(("transport", "workers"), WAYS)
def test_sums_between_barriers_are_those_of_the_sequential_program(
    transport: str, workers: int, optimizer: str
) -> None:
    streams = value_streams(random.Random(workers), 2, 3_000, 40)
    plan = optimized(optimizer, question(ValueBarrier(), streams, 2))
    job = job_of(ValueBarrier, streams, plan, transport=transport, workers=workers, batch_size=256)
    assert run(job) == sequential(ValueBarrier(), streams)  # all from one worker, so in its order


@pytest.mark.parametrize(("transport", "workers"), WAYS)
@pytest.mark.parametrize("seed", range(6))
def test_random_plans_give_the_outputs_of_the_sequential_program(
    transport: str, workers: int, seed: int
) -> None:
    check_random_plan(transport, workers, seed)


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "workers"), WAYS)
@pytest.mark.parametrize("seed", range(6, 100))
def test_many_more_random_plans_do(transport: str, workers: int, seed: int) -> None:
    check_random_plan(transport, workers, seed)


def check_random_plan(transport: str, workers: int, seed: int) -> None:
    """Counters with ties within and between streams; small hand-overs, and small budgets now and then."""
    chance = random.Random(seed)
    streams = operation_streams(chance, chance.choice((20, 400)))
    plan = random_plan(chance, question(KeyedCounters(), streams, 8))
    sizes = {"batch_size": chance.choice((1, 16, 1000)), "edge_bytes": chance.choice((5_000, 1 << 22))}
    job = job_of(KeyedCounters, streams, plan, transport=transport, workers=workers, **sizes)
    found, expected = run(job), sequential(KeyedCounters(), streams)
    assert Counter(found) == Counter(expected)
    if len(plan.workers) == 1:
        assert found == expected
