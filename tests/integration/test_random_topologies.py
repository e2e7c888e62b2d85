"""Random topologies under random deployments give the rows of a run one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from actorstream.actors.actor import Actor
from actorstream.topology.builder import Topology
from actorstream.topology.stream import Stream
from tests.integration.parts import (
    Collect,
    Double,
    DoubleAsync,
    DoubleBatch,
    Drop,
    Expand,
    Ints,
    Live,
    Numbers,
    Pass,
)

Rows = Counter[tuple[int, int]]
RUNS = 20


def doubled(rows: Rows) -> Rows:
    return Counter({(value * 2, group): count for (value, group), count in rows.items()})


def expanded(rows: Rows) -> Rows:
    made: Rows = Counter()
    for (value, group), count in rows.items():
        for each in range(3):
            made[value * 3 + each, group] += count
    return made


OPERATORS: list[tuple[type[Actor], dict[str, Any], Callable[[Rows], Rows]]] = [
    (Double, {}, doubled),
    (DoubleBatch, {}, doubled),
    (DoubleAsync, {}, doubled),
    (Pass, {}, lambda rows: rows),
    (Drop, {}, lambda rows: Counter()),
    (Expand, {"times": 3}, expanded),
]


@dataclass
class Node:
    """A stream of a random topology: how many replicas make it, and what it must hold."""

    stream: Stream
    replicas: int
    rows: Rows


def routed(node: Node, replicas: int, dice: random.Random) -> tuple[Stream, int]:
    """A way to read a stream, and how often each row comes by it."""
    ways = ["shuffle", "by", "broadcast", "to_one", "ranges"]
    if node.replicas == replicas:
        ways += ["forward"] * 3
    way = dice.choice(ways)
    if way == "by":
        return node.stream.by("group"), 1
    if way == "ranges":
        return node.stream.ranges("value", [10, 100, 1000]), 1
    return getattr(node.stream, way)(), replicas if way == "broadcast" else 1


def random_topology(dice: random.Random) -> tuple[Topology, dict[str, Rows]]:
    """A topology of up to ten operators, and what each of its sinks must collect."""
    topology = Topology("random")
    nodes: list[Node] = []
    for number in range(dice.randint(1, 3)):
        kind = dice.choice([Numbers, Numbers, Ints, Live])
        count = dice.choice([0, 1, 10, 500])
        parts, replicas = (dice.randint(1, 4), dice.randint(1, 3)) if kind is Numbers else (1, 1)
        keys = {"parts": parts} if kind is Numbers else {}
        stream = topology.source(kind, name=f"source{number}", count=count, replicas=replicas, **keys)
        nodes.append(Node(stream, replicas, Counter((value, value % 101) for value in range(count))))
    for number in range(dice.randint(1, 7)):
        operator, keys, model = dice.choice(OPERATORS)
        replicas = dice.randint(1, 3)
        read = dice.sample(nodes, min(len(nodes), dice.choice([1, 1, 1, 2])))
        streams, rows = [], Counter()
        for node in read:
            stream, times = routed(node, replicas, dice)
            streams.append(stream.named(f"in{len(streams)}"))
            rows += Counter({row: count * times for row, count in node.rows.items()})
        made = streams[0].through(operator, *streams[1:], name=f"op{number}", replicas=replicas, **keys)
        nodes.append(Node(made, replicas, model(rows)))
    expected = {}
    for number, node in enumerate(dice.sample(nodes, min(len(nodes), 3))):
        node.stream.to_one().into(Collect, name=f"sink{number}")
        expected[f"sink{number}"] = node.rows
    return topology, expected


def random_deployment(dice: random.Random) -> dict[str, Any]:
    deploy: dict[str, Any] = {
        "transport": dice.choice(["local", "shm"]),
        "workers": dice.choice([1, 2, 3, 5]),
        "batch_size": dice.choice([1, 7, 64, 4096]),
        "edge_bytes": dice.choice([1, 4096, 4 << 20]),
        "pipelining": dice.random() < 0.7,
        "placement": dice.choice(["spread", "round-robin", "first-fit"]),
    }
    if dice.random() < 0.5:
        deploy["testing"] = {"delay": "1ms", "seed": dice.randint(0, 1000)}
    return deploy


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_random_topology_gives_the_rows_of_its_model(seed: int) -> None:
    dice = random.Random(seed)
    topology, expected = random_topology(dice)
    deploy = random_deployment(dice)
    result = topology.run(**deploy)
    for sink, rows in expected.items():
        assert Counter(result[sink]) == rows, f"{sink} under {deploy}"
