"""Timestamp order: whole topologies give one sequence, whatever the workers, batches, transports and interleavings."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from actorstream.scheduling import SCHEDULES
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import (
    Awaits,
    Copies,
    KeepKey,
    PassTicks,
    PooledRunning,
    PooledTicks,
    Row,
    Running,
    Tick,
    Ticks,
    rows_of,
)

DEPLOYMENTS: list[dict[str, Any]] = [
    {"workers": 1, "transport": "local"},
    {"workers": 2, "transport": "shm", "batch_size": 7},
    {"workers": 4, "transport": "shm", "edge_bytes": 4096},
    {"workers": 2, "transport": "shm", "batch_size": 16},
    {"workers": 2, "transport": "shm", "batch_size": 64, "testing": {"delay": "2ms", "seed": 3}},
    {"workers": 1, "transport": "local", "batch_size": 16, "schedule": "ct", "threads": 2},
]


def rows(topology: Topology, deployment: dict[str, Any], sink: str = "sink") -> list[Row]:
    return [tuple(row) for row in topology.run(**deployment).collected[sink]]


def in_rank_order(*inputs: list[Row]) -> list[Row]:
    """The rows of sequences in timestamp order: those of one time by input, then as they are."""
    ranked = [
        (row[0], rank, number, row) for rank, each in enumerate(inputs) for number, row in enumerate(each)
    ]
    return [row for *_, row in sorted(ranked)]


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=str)
@pytest.mark.parametrize("replicas", [1, 3])
def test_sorted_sources_become_one_sequence_by_time_rank_origin_and_position(
    deployment: dict[str, Any], replicas: int
) -> None:
    topology = Topology("merged")
    first = topology.source(Ticks, name="first", who=1, count=600, parts=3, span=90)
    second = topology.source(Ticks, name="second", who=2, count=900, span=90)
    passed = first.shuffle().through(PassTicks, name="pass", replicas=replicas)
    passed.ordered("timestamp").into(Collect, second.ordered("timestamp"), name="sink")
    expected = in_rank_order(rows_of(1, 600, 3, 90), rows_of(2, 900, 1, 90))
    assert rows(topology, deployment) == expected


@pytest.mark.parametrize("deployment", DEPLOYMENTS, ids=str)
@pytest.mark.parametrize(
    ("operator", "copied"),
    [("union", False), ("union", True), (Awaits, True)],
    ids=["union", "union-of-unlike-lineage", "map-async"],
)
def test_tied_rows_of_two_inputs_stay_in_rank_order_behind_several_replicas(
    operator: Any, copied: bool, deployment: dict[str, Any]
) -> None:
    topology = Topology("ranked")
    first = topology.source(Ticks, name="first", who=2, count=700, span=40).shuffle()
    second = topology.source(Ticks, name="second", who=1, count=300, span=40).shuffle()
    expected = rows_of(1, 300, 1, 40)
    if copied:  # its rows have one ordinal more
        second = second.through(Copies, name="copied", replicas=2).by("key")
        expected = each(Copies())(expected)
    united = first.through(operator, second, name="united", replicas=3)
    united.to_one().ordered("timestamp").into(Collect, name="sink")
    assert rows(topology, deployment) == in_rank_order(rows_of(2, 700, 1, 40), expected)


# -- random topologies against a model that runs one row after the other

Model = Callable[[list[Row]], list[Row]]


def each(actor: Any) -> Model:
    """What an actor's event hook makes of rows one after the other."""

    def run(given: list[Row]) -> list[Row]:
        made: list[Row] = []
        for row in given:
            found = actor.on_event(Tick(*row))
            made.extend(
                (one.t, one.who, one.part, one.n, one.key)
                for one in ([found] if isinstance(found, Tick) else found)
            )
        return made

    return run


OPERATORS: list[tuple[Any, dict[str, Any], str, Callable[[], Model]]] = [
    (PassTicks, {}, "any", lambda: list),
    (KeepKey, {"key": 3}, "any", lambda: lambda given: [row for row in given if row[4] == 3]),
    (KeepKey, {}, "any", lambda: lambda given: []),
    (Copies, {"most": 3}, "any", lambda: each(Copies(3))),
    ("union", {}, "any", lambda: list),
    (Awaits, {"ordered": False, "max_in_flight": 16}, "any", lambda: list),
    (Running, {}, "by", lambda: each(Running())),
    (PooledTicks, {}, "any", lambda: list),
    (PooledRunning, {}, "by", lambda: each(Running())),
]


@dataclass
class Node:
    stream: Any
    replicas: int
    rows: list[Row]


def routed(node: Node, replicas: int, how: str, dice: random.Random) -> Any:
    if how == "by":
        return node.stream.by("key")
    ways = ["shuffle", "by", "to_one", "ranges"] + ["forward"] * 3 * (node.replicas == replicas)
    way = dice.choice(ways)
    if way == "by":
        return node.stream.by("n")
    if way == "ranges":
        return node.stream.ranges("key", [1, 3, 5])
    return getattr(node.stream, way)()


def random_topology(dice: random.Random) -> tuple[Topology, list[Row]]:
    """One to three sources, up to six operators of which some unite several, and what the sink must collect."""
    topology = Topology("random-timestamp")
    nodes: list[Node] = []
    for who in range(dice.randint(1, 3)):
        keys = {
            "count": dice.choice([0, 1, 30, 200]),
            "parts": dice.randint(1, 3),
            "span": dice.choice([1, 20, 400]),
        }
        replicas = dice.randint(1, keys["parts"])
        source = topology.source(Ticks, name=f"source{who}", who=who, replicas=replicas, **keys)
        nodes.append(Node(source, replicas, rows_of(who, **keys)))
    for number in range(dice.randint(1, 6)):
        operator, keys, how, model = dice.choice(OPERATORS)
        inputs = dice.sample(nodes[-3:], dice.randint(1, min(2, len(nodes[-3:]))))
        replicas = dice.randint(1, 3)
        first, *others = [routed(node, replicas, how, dice) for node in inputs]
        made = first.through(operator, *others, name=f"op{number}", replicas=replicas, **keys)
        nodes.append(Node(made, replicas, model()(in_rank_order(*(node.rows for node in inputs)))))
        if len(nodes[-1].rows) > 3000:
            break
    last = nodes[-1:] if dice.random() < 0.5 else [nodes[-1], *dice.sample(nodes[:-1], 1)]
    first, *others = [node.stream.to_one().ordered("timestamp") for node in last]
    first.into(Collect, *others, name="sink")
    return topology, in_rank_order(*(node.rows for node in last))


def random_deployment(dice: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"workers": dice.randint(1, 4), "transport": dice.choice(["local", "shm", "shm"])}
    found["batch_size"] = dice.choice([1, 3, 64, 4096])
    found["edge_bytes"] = dice.choice([1024, 65536, 4 << 20])
    found["pipelining"] = dice.random() < 0.5
    found["merge"] = dice.choice(["channel", "gate"])
    return found | random_scheduling(dice, pools=0.5)


def random_scheduling(dice: random.Random, pools: float) -> dict[str, Any]:
    """A schedule with that probability, and delays now and then."""
    found: dict[str, Any] = {}
    if dice.random() < pools:
        found |= {"schedule": dice.choice(list(SCHEDULES)), "threads": dice.randint(0, 3)}
    if dice.random() < 0.4:
        found["testing"] = {"delay": "1ms", "seed": dice.randint(0, 99)}
    return found


@pytest.mark.parametrize("seed", range(12))
def test_random_topologies_give_the_sequence_of_the_model(seed: int) -> None:
    dice = random.Random(seed)
    topology, expected = random_topology(dice)
    deployment = random_deployment(dice)
    assert rows(topology, deployment) == expected, deployment


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_many_random_topologies_give_the_sequence_of_the_model(seed: int) -> None:
    dice = random.Random(seed)
    topology, expected = random_topology(dice)
    for deployment in (random_deployment(dice), random_deployment(dice)):
        assert rows(topology, deployment) == expected, deployment
