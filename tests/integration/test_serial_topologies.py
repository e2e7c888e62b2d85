"""Serial order: random topologies under random deployments give the sequence of a run one row after the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
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
    Number,
    Numbers,
    Pass,
)
from tests.integration.serial_parts import (
    Chain,
    CountByGroup,
    Fires,
    Forgets,
    Made,
    Parted,
    Some,
    SomeBatch,
)

Rows = list[tuple[int, int]]


def sequential(actor: Actor) -> Callable[[Rows], Rows]:
    """What an actor's own event hook makes of rows one after the other."""

    def run(rows: Rows) -> Rows:
        made: Rows = []
        for value, group in rows:
            found = actor.on_event(Number(value, group))  # type: ignore[attr-defined]
            made.extend(
                (each.value, each.group) for each in ([found] if isinstance(found, Number) else found)
            )
        return made

    return run


def repeated(rows: Rows) -> Rows:
    return [row for row in rows for _ in range(row[0] % 3)]


OPERATORS: list[tuple[type[Actor], dict[str, Any], Callable[[], Callable[[Rows], Rows]]]] = [
    (Double, {}, lambda: sequential(Double())),
    (DoubleBatch, {}, lambda: sequential(Double())),
    (DoubleAsync, {}, lambda: sequential(Double())),
    (Pass, {}, lambda: list),
    (Drop, {}, lambda: lambda rows: []),
    (Expand, {"times": 3}, lambda: sequential(Expand(3))),
    (Expand, {"times": 50}, lambda: sequential(Expand(50))),
    (Some, {}, lambda: sequential(Some())),
    (SomeBatch, {}, lambda: repeated),
    (Made, {}, lambda: lambda rows: [(value + 1, group) for value, group in rows]),
    (CountByGroup, {}, lambda: sequential(CountByGroup())),
    (CountByGroup, {}, lambda: sequential(CountByGroup())),
]
MOST_ROWS = 6000


@dataclass
class Node:
    stream: Stream
    replicas: int
    rows: Rows


def routed(node: Node, replicas: int, dice: random.Random, by_group: bool) -> Stream:
    if by_group:
        return node.stream.by("group")
    ways = ["shuffle", "shuffle", "by", "to_one", "ranges"]
    if node.replicas == replicas:
        ways += ["forward"] * 3
    way = dice.choice(ways)
    if way == "by":
        return node.stream.by("value")
    if way == "ranges":
        return node.stream.ranges("value", [10, 100, 1000])
    return getattr(node.stream, way)()  # type: ignore[no-any-return]


def random_topology(dice: random.Random) -> tuple[Topology, dict[str, Rows]]:
    """A tree of up to eight operators from one source, and what each of its sinks must collect, in this order."""
    topology = Topology("random-serial")
    count = dice.choice([0, 1, 10, 300, 300])
    source = topology.source(dice.choice([Numbers, Numbers, Ints, Live]), name="source", count=count)
    nodes = [Node(source, 1, [(value, value % 101) for value in range(count)])]
    for number in range(dice.randint(1, 7)):
        operator, keys, model = dice.choice(OPERATORS)
        node = dice.choice(nodes[-2:])
        if len(node.rows) * keys.get("times", 1) > MOST_ROWS:
            continue
        replicas = dice.randint(1, 4)
        stream = routed(node, replicas, dice, operator is CountByGroup)
        made = stream.through(operator, name=f"op{number}", replicas=replicas, **keys)
        nodes.append(Node(made, replicas, model()(node.rows)))
    expected = {}
    for number, node in enumerate(
        dict.fromkeys(map(id, [nodes[-1], *dice.sample(nodes, min(2, len(nodes)))]))
    ):
        chosen = next(each for each in nodes if id(each) == node)
        stream = chosen.stream.ordered("serial").to_one()
        stream.through(Chain, name=f"chain{number}").into(Collect, name=f"sink{number}")
        expected[f"sink{number}"] = sequential(Chain())(chosen.rows)
    return topology, expected


def random_deployment(dice: random.Random) -> dict[str, Any]:
    deploy: dict[str, Any] = {
        "transport": dice.choice(["local", "shm"]),
        "workers": dice.choice([1, 2, 3, 5]),
        "batch_size": dice.choice([1, 7, 64, 4096]),
        "edge_bytes": dice.choice([1, 512, 4 << 20]),
        "reorder_window": dice.choice([1, 3, 1024]),
        "pipelining": dice.random() < 0.7,
        "placement": dice.choice(["spread", "round-robin", "first-fit"]),
    }
    if dice.random() < 0.5:
        deploy["testing"] = {"delay": "300us", "seed": dice.randint(0, 1000)}
    return deploy


def check(seed: int) -> None:
    dice = random.Random(seed)
    topology, expected = random_topology(dice)
    deploy = random_deployment(dice)
    result = topology.run(**deploy)
    for sink, rows in expected.items():
        assert list(result[sink]) == rows, f"{sink} under {deploy}"


FIRST_NUMBER_CUT = 108
"""One source row becomes 50 rows in eight pieces, while other lanes have not promised anything yet."""


@pytest.mark.parametrize("seed", [*range(12), FIRST_NUMBER_CUT])
def test_a_random_topology_gives_the_sequence_of_its_model(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 400))
def test_three_hundred_random_topologies_give_the_sequence_of_their_models(seed: int) -> None:
    check(seed)


def results(build: Callable[[], Topology], *deploys: dict[str, Any]) -> list[Rows]:
    return [list(build().run(**deploy)["sink"]) for deploy in deploys]


MANY = [
    {"transport": "local", "workers": 1},
    {"transport": "shm", "workers": 2, "batch_size": 7, "reorder_window": 1},
    {"transport": "local", "workers": 3, "batch_size": 64, "testing": {"delay": "500us", "seed": 4}},
    {"transport": "shm", "workers": 3, "batch_size": 16, "testing": {"delay": "500us", "seed": 5}},
]


def test_a_united_stream_has_for_each_row_what_came_of_it_by_rank_of_the_input() -> None:
    """Of row 3, for example, first what one branch made of it, then what the other one did."""

    def build() -> Topology:
        topology = Topology("diamond")
        rows = topology.source(Numbers, count=200)
        left = rows.by("group").through(Some, replicas=3, name="left")
        right = rows.through(DoubleBatch, replicas=2, name="right")
        left.ordered("serial").through(Chain, right.ordered("serial"), name="chain").into(
            Collect, name="sink"
        )
        return topology

    united = []
    for value in range(200):
        united += [(value * 10 + copy, (value + copy) % 7) for copy in range(value % 4)]
        united.append((value * 2, value % 101))
    assert results(build, *MANY) == [sequential(Chain())(united)] * len(MANY)


def test_two_outputs_of_one_actor_come_together_again_in_their_order() -> None:
    def build() -> Topology:
        topology = Topology("parted")
        parted = topology.source(Numbers, count=300).through(Parted, replicas=2)
        even = parted["even"].shuffle().through(Double, replicas=3)
        odd = parted["odd"].by("group").through(Double, replicas=2)
        even.ordered("serial").through(Chain, odd.ordered("serial")).into(Collect, name="sink")
        return topology

    rows = [(value * 2, value % 101) for value in range(300)]
    assert results(build, *MANY) == [sequential(Chain())(rows)] * len(MANY)


def test_a_side_input_may_stand_beside_a_serial_one() -> None:
    class Both(Chain):
        def on_aside(self, event: Number) -> None:
            """Takes it, and says nothing."""

    def build() -> Topology:
        topology = Topology("aside")
        main = topology.source(Numbers, count=300).through(Some, replicas=3)
        side = topology.source(Ints, count=50, name="aside")
        main.ordered("serial").through(Both, side).into(Collect, name="sink")
        return topology

    rows = sequential(Chain())(sequential(Some())([(value, value % 101) for value in range(300)]))
    assert results(build, *MANY) == [rows] * len(MANY)


def test_what_replicas_emit_at_the_end_comes_last_and_replica_after_replica() -> None:
    def build() -> Topology:
        topology = Topology("ends")
        counts = (
            topology.source(Numbers, count=300).by("group").through(CountByGroup, replicas=3, totals=True)
        )
        again = counts.by("value").through(Double, replicas=2)
        again.ordered("serial").into(Collect, name="sink")
        return topology

    found = results(build, *MANY)
    assert found == [found[0]] * len(MANY)
    ends = found[0][300:]
    assert len(ends) == 101
    assert all(value < 0 for value, _ in ends)


def test_what_a_heartbeat_fires_comes_in_the_order_of_its_times() -> None:
    def build() -> Topology:
        topology = Topology("fires")
        fired = topology.source(Numbers, count=300).by("group").through(Fires, replicas=3)
        fired.ordered("serial").into(Collect, name="sink")
        return topology

    found = results(build, *MANY)
    assert found == [found[0]] * len(MANY)
    values = [value for value, _ in found[0]]
    assert values == sorted(values)
    assert sum(count for _, count in found[0]) == 300


class FiresBelow(Fires):
    """The same with negative counts."""

    def on_heartbeat(self, frontier: int) -> Iterator[Number]:
        return (Number(each.value, -each.group) for each in super().on_heartbeat(frontier))


def test_what_two_branches_fire_at_one_heartbeat_comes_in_the_order_in_which_they_are_called() -> None:
    """The deeper one is called first, and written last."""

    def build() -> Topology:
        topology = Topology("branches")
        rows = topology.source(Numbers, count=100_000)
        passed = rows.through(Pass)
        flat = rows.through(Fires)
        deep = passed.through(FiresBelow)
        united = deep.shuffle().ordered("serial").through(Pass, flat.shuffle().ordered("serial"))
        united.into(Collect, name="sink")
        return topology

    called = {"transport": "shm", "workers": 2, "placement": "first-fit"}
    deploys = [called, {**called, "testing": {"delay": "500us", "seed": 1}}, {**called, "pipelining": False}]
    found = [
        [
            row for row in rows if row[0] < 80_000
        ]  # what the last heartbeats fire, at the end, is another matter
        for rows in results(build, *deploys)
    ]
    assert found == [found[0]] * len(deploys)
    assert len(found[0]) == 16_000
    assert found[0][0] == (9, -10)


def test_the_rows_of_several_sources_are_serial_behind_an_actor_that_unites_them() -> None:
    topology = Topology("united")
    first, second = topology.source(Numbers, count=100), topology.source(Ints, count=100)
    united = first.through(Pass, second, name="united")
    united.through(Some, replicas=3).ordered("serial").into(Collect, name="sink")
    united.into(Collect, name="seen")
    result = topology.run(transport="shm", workers=3, batch_size=8)
    assert list(result["sink"]) == sequential(Some())(list(result["seen"]))


def test_a_batch_hook_that_drops_its_rows_lineage_is_told_so() -> None:
    from actorstream.errors import OperatorError

    topology = Topology("forgets")
    rows = topology.source(Numbers, count=100).by("group").through(Forgets, replicas=2)
    rows.ordered("serial").into(Collect, name="sink")
    with pytest.raises(OperatorError, match=r"carry no _position.*Batch\.of\(\.\.\., origin=rows\)"):
        topology.run(transport="local", workers=2)
