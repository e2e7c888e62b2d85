"""Outputs of dependent events come in their order, whichever workers of the plan put them out and however full the channels
to their consumer are."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from actorstream.events.event import Event
from tests.integration.programs import (
    Echoes,
    job_of,
    question,
    random_plan,
    run,
    sequential,
    value_streams,
)


def between(outputs: list[Event]) -> list[tuple[Any, Counter[Event]]]:
    """The outputs of the values before each barrier, which are independent of each other, and that of the barrier."""
    found, values = [], Counter[Event]()
    for output in outputs:
        if output.count < 0:  # type: ignore[attr-defined]
            values[output] += 1
        else:
            found.append((output, values))
            values = Counter()
    return [*found, (None, values)]


def check(seed: int, transport: str, workers: int, rows: int, **deploy: Any) -> None:
    chance = random.Random(seed)
    streams = value_streams(chance, chance.randint(2, 4), rows, rows // 10)
    plan = random_plan(chance, question(Echoes(), streams, 4))
    job = job_of(Echoes, streams, plan, transport=transport, workers=workers, **deploy)
    assert between(run(job)) == between(sequential(Echoes(), streams))


@pytest.mark.parametrize("edge_bytes", [1, 4 << 20])
@pytest.mark.parametrize("batch_size", [1, 7, 4096])
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2), ("shm", 3)])
def test_an_output_never_comes_before_one_of_an_event_that_it_depends_on(
    transport: str, workers: int, batch_size: int, edge_bytes: int
) -> None:
    seed = batch_size + workers
    check(seed, transport, workers, 300, batch_size=batch_size, edge_bytes=edge_bytes)


@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 3)])
@pytest.mark.parametrize("seed", range(3))
def test_nor_with_delays_and_checkpoints(seed: int, transport: str, workers: int, tmp_path: Any) -> None:
    testing = {"delay": "1ms", "seed": seed}
    checkpoint = {"every": "5ms", "path": str(tmp_path / "kept")}
    check(seed, transport, workers, 200, batch_size=5, edge_bytes=1, testing=testing, checkpoint=checkpoint)


@pytest.mark.slow
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2), ("shm", 4)])
@pytest.mark.parametrize("seed", range(60))
def test_nor_in_many_more_runs(seed: int, transport: str, workers: int) -> None:
    chance = random.Random(seed)
    deploy: dict[str, Any] = {
        "batch_size": chance.choice([1, 3, 64, 4096]),
        "edge_bytes": chance.choice([1, 1000, 4 << 20]),
    }
    if chance.random() < 0.5:
        deploy["testing"] = {"delay": "1ms", "seed": seed}
    check(seed, transport, workers, chance.choice([40, 400, 2000]), **deploy)
