from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from actorstream.errors import ConfigurationError
from actorstream.placement import PLACEMENTS, place
from actorstream.placement.base import find_placement, forward_groups
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Edge, Graph, GraphActor
from actorstream.topology.machine import Machine
from actorstream.topology.plan import LONGEST_CHAIN, plan_problems


def make_graph(replicas: dict[str, int], *edges: tuple[str, str, str]) -> Graph:
    """A graph of actors without classes; an edge is (producer, consumer, route)."""
    actors = {name: GraphActor(name, "t", object, "operator", {}, count) for name, count in replicas.items()}
    made = [
        Edge(number, producer, "default", consumer, 0, producer, route, ("k",) if route == "key" else ())
        for number, (producer, consumer, route) in enumerate(edges)
    ]
    return Graph("g", actors, made, root=Path())


PIPELINE = make_graph(
    {"read": 2, "clean": 2, "count": 3, "write": 1},
    ("read", "clean", "forward"),
    ("clean", "count", "key"),
    ("count", "write", "shuffle"),
)
MACHINES = [None, Machine.of_cores(1), Machine.of_cores(4, nodes=2)]


@pytest.mark.parametrize("name", sorted(PLACEMENTS))
@pytest.mark.parametrize("workers", [1, 2, 3, 8])
@pytest.mark.parametrize("machine", MACHINES)
def test_every_placement_puts_every_replica_on_a_worker_and_always_on_the_same(
    name: str, workers: int, machine: Machine | None
) -> None:
    deploy = DeploySpec(placement=name, workers=workers)
    plan = place(PIPELINE, deploy, machine, direct=lambda graph, edge: True)
    assert plan.counts() == {"read": 2, "clean": 2, "count": 3, "write": 1}
    assert plan_problems(plan, PIPELINE) == []
    assert [replica.id for replica in plan.replicas] == list(range(8))
    again = place(PIPELINE, deploy, machine, direct=lambda graph, edge: True)
    assert again.fingerprint == plan.fingerprint


def test_workers_get_the_cores_in_turn_with_their_nodes() -> None:
    graph = make_graph({"a": 6})
    plan = place(graph, DeploySpec(workers=6), Machine.of_cores(4, nodes=2))
    assert [(replica.worker, replica.core, replica.node) for replica in plan.replicas] == [
        (0, 0, 0),
        (1, 1, 0),
        (2, 2, 1),
        (3, 3, 1),
        (4, 0, 0),
        (5, 1, 0),
    ]


def test_without_a_machine_no_cores_are_named() -> None:
    assert {(each.core, each.node) for each in place(PIPELINE, DeploySpec()).replicas} == {(-1, -1)}


def test_a_plan_says_which_replicas_call_each_other_and_which_have_channels() -> None:
    plan = place(PIPELINE, DeploySpec(workers=2, edge_bytes=6000), direct=lambda graph, edge: True)
    names = [replica.name for replica in plan.replicas]
    assert [[names[each] for each in chain] for chain in plan.chains] == [
        ["read/0", "clean/0"],
        ["read/1", "clean/1"],
    ]
    assert [
        (names[each.producer], names[each.consumer], each.remote, each.budget) for each in plan.channels
    ] == [
        ("clean/0", "count/0", False, 3000),
        ("clean/0", "count/1", True, 3000),
        ("clean/0", "count/2", False, 3000),
        ("clean/1", "count/0", True, 3000),
        ("clean/1", "count/1", False, 3000),
        ("clean/1", "count/2", True, 3000),
        ("count/0", "write/0", False, 2000),
        ("count/1", "write/0", True, 2000),
        ("count/2", "write/0", False, 2000),
    ]


def test_without_pipelining_forward_neighbours_have_channels_of_their_own() -> None:
    plan = place(PIPELINE, DeploySpec(pipelining=False), direct=lambda graph, edge: True)
    names = [replica.name for replica in plan.replicas]
    forward = [(names[each.producer], names[each.consumer]) for each in plan.channels if each.edge == 0]
    assert plan.chains == []
    assert forward == [("read/0", "clean/0"), ("read/1", "clean/1")]


def test_neighbours_on_different_workers_never_call_each_other() -> None:
    plan = place(PIPELINE, DeploySpec(placement="round-robin", workers=3), direct=lambda graph, edge: True)
    assert plan.chains == []
    assert all(channel.remote for channel in plan.channels if channel.edge == 0)


def test_actors_that_forward_joins_are_one_group() -> None:
    graph = make_graph({"a": 1, "b": 1, "c": 1, "d": 1}, ("a", "d", "forward"), ("b", "c", "shuffle"))
    assert forward_groups(graph) == [["a", "d"], ["b"], ["c"]]


def test_an_unknown_placement_names_the_nearest() -> None:
    with pytest.raises(ConfigurationError, match="did you mean 'spread'"):
        find_placement("sprad")


def test_a_chain_of_calls_is_never_longer_than_the_stack_allows() -> None:
    names = [f"a{number}" for number in range(3 * LONGEST_CHAIN + 1)]
    graph = make_graph(dict.fromkeys(names, 2), *((up, down, "forward") for up, down in pairwise(names)))
    plan = place(graph, DeploySpec(), direct=lambda graph, edge: True)
    assert [len(chain) for chain in plan.chains] == [LONGEST_CHAIN] * 6
    joined = {
        (plan.replicas[each.producer].name, plan.replicas[each.consumer].name) for each in plan.channels
    }
    cuts = [LONGEST_CHAIN * number for number in (1, 2, 3)]
    assert joined == {(f"a{cut - 1}/{index}", f"a{cut}/{index}") for cut in cuts for index in (0, 1)}
    longer = msgspec.structs.replace(plan, chains=[[*plan.chains[0], *plan.chains[2]]])
    assert plan_problems(longer, graph) == [
        ("chains[0] has 64 replicas", "at most 32, as a plan made anew has")
    ]
