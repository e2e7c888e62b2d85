"""Outputs of dependent events come in their order, whichever workers of the plan put them out and however full the channels
to their consumer are."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, ClassVar

import pytest

from actorstream import Actor, Topology
from actorstream.events.event import Event
from tests.covering import covering
from tests.integration.programs import (
    Barrier,
    EchoedCounters,
    Echoes,
    EndedCounters,
    Sum,
    Value,
    job_of,
    operation_streams,
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


def by_key(outputs: list[Event]) -> dict[int, list[tuple[Any, Counter[Event]]]]:
    """The same of each key's reads and increments; keys are independent of each other."""
    return {key: between([each for each in outputs if each.key == key]) for key in range(3)}  # type: ignore[attr-defined]


def check(seed: int, transport: str, workers: int, rows: int, **deploy: Any) -> None:
    chance = random.Random(seed)
    streams = value_streams(chance, chance.randint(2, 4), rows, rows // 10)
    plan = random_plan(chance, question(Echoes(), streams, 4))
    job = job_of(Echoes, streams, plan, transport=transport, workers=workers, **deploy)
    assert between(run(job)) == between(sequential(Echoes(), streams))


@covering(
    {
        "transport, workers": [("local", 1), ("shm", 2), ("shm", 3)],
        "batch_size": [1, 7, 4096],
        "edge_bytes": [1, 4 << 20],
    }
)
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


def check_keys(cls: type[EchoedCounters], seed: int, **deploy: Any) -> None:
    chance = random.Random(seed)
    streams = operation_streams(chance, 300)
    plan = random_plan(chance, question(cls(), streams, 4))
    outputs, expected = run(job_of(cls, streams, plan, **deploy)), sequential(cls(), streams)
    assert by_key(outputs) == by_key(expected)
    ends = [each for each in expected if each.number < 0]  # type: ignore[attr-defined]
    assert outputs[len(outputs) - len(ends) :] == ends


@covering(
    {
        "cls": [EchoedCounters, EndedCounters],
        "transport, workers": [("local", 1), ("shm", 3)],
        "seed": range(4),
    }
)
def test_nor_where_keys_are_independent_and_the_end_comes_last(
    cls: type[EchoedCounters], seed: int, transport: str, workers: int
) -> None:
    deploy = {"batch_size": (1, 7, 64, 4096)[seed], "edge_bytes": (1, 4 << 20)[seed % 2]}
    check_keys(cls, seed, transport=transport, workers=workers, **deploy)


class Beside(Actor):
    """Lets through what comes from the program."""

    outputs: ClassVar[dict[str, Any]] = {"default": Sum}

    def on_rows(self, event: Value) -> None:
        return None

    def on_program(self, event: Sum) -> Sum:
        return event


@pytest.mark.parametrize("order", ["timestamp", "serial"])
def test_nor_beside_an_input_in_another_order(order: str) -> None:
    streams = value_streams(random.Random(1), 2, 2000, 100)
    topology = Topology("beside")
    for name, event in (("barriers", Barrier), ("values", Value)):
        items = {f"{number:03}": list(events) for number, events in enumerate(streams[name])}
        topology.actor(name, "memory-source", items=items, event=event, replicas=len(items))
    topology.actor("program", Echoes, [{"from": name, "order": "dependency"} for name in streams])
    rows = [Value(time, 0) for time in range(1000)]
    topology.actor("rows", "memory-source", items=rows, event=Value)
    topology.actor("beside", Beside, [{"from": "rows", "order": order}, {"from": "program"}])
    topology.actor("out", "memory-sink", ["beside"])
    found = topology.run(transport="shm", workers=2, batch_size=50)["out"]
    assert between(list(found)) == between(sequential(Echoes(), streams))


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


@pytest.mark.slow
@pytest.mark.parametrize("cls", [EchoedCounters, EndedCounters])
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2), ("shm", 4)])
@pytest.mark.parametrize("seed", range(100, 140))
def test_nor_by_key_in_many_more(cls: type[EchoedCounters], seed: int, transport: str, workers: int) -> None:
    chance = random.Random(seed)
    deploy: dict[str, Any] = {
        "batch_size": chance.choice([1, 3, 64]),
        "edge_bytes": chance.choice([1, 4 << 20]),
    }
    if chance.random() < 0.5:
        deploy["testing"] = {"delay": "1ms", "seed": seed}
    check_keys(cls, seed, transport=transport, workers=workers, **deploy)
