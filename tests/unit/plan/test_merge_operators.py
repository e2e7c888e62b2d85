"""Operator-layer determinism: merge-sort operators where channels would merge, and nowhere else."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from actorstream.plan.compile import compile_job
from actorstream.plan.merge_operators import MergeSort, merged_by_operators
from actorstream.topology.builder import Topology
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import PassTicks, Ticks

OPERATORS = DeploySpec(merge="operator")
SHARED = DeploySpec(merge="shared")


def graph(*, replicas: int, order: str = "timestamp", both: Any = PassTicks) -> Graph:
    topology = Topology("merging")
    first = (
        topology.source(Ticks, name="first", who=1)
        .shuffle()
        .through(PassTicks, name="one", replicas=replicas)
    )
    second = topology.source(Ticks, name="second", who=2)
    joined = first.to_one().ordered(order).through(both, second.to_one().ordered(order), name="both")
    joined.into(Collect, name="sink")
    return compile_job(topology.spec(), DeploySpec()).graph


def merges(found: Graph) -> list[str]:
    return [actor.name for actor in found.actors.values() if actor.cls is MergeSort]


@pytest.mark.parametrize(
    ("given", "deploy"),
    [
        (graph(replicas=2), DeploySpec()),
        (graph(replicas=2, order="none"), OPERATORS),
        (graph(replicas=1), OPERATORS),
        (graph(replicas=2), SHARED),
    ],
    ids=["not asked for", "no order", "one channel an input", "nobody to share with"],
)
def test_where_nothing_is_to_be_merged_by_an_operator_the_graph_stays(
    given: Graph, deploy: DeploySpec
) -> None:
    assert merges(merged_by_operators(given, deploy)) == []


def test_an_input_of_several_replicas_gets_an_operator_of_its_own() -> None:
    found = merged_by_operators(graph(replicas=2), OPERATORS)
    assert merges(found) == ["both.merge"]
    assert [(edge.producer, edge.route, edge.order) for edge in found.actors["both"].inputs] == [
        ("both.merge", "forward", "timestamp"),
        ("second", "global", "timestamp"),
    ]
    assert [edge.index for edge in found.edges] == list(range(len(found.edges)))


def test_inputs_of_one_type_of_an_actor_that_does_not_tell_them_apart_get_one_together() -> None:
    found = merged_by_operators(graph(replicas=2, both="union"), OPERATORS)
    assert merges(found) == ["both.merge"]
    assert [edge.producer for edge in found.actors["both.merge"].inputs] == ["one", "second"]
    assert [edge.producer for edge in found.actors["both"].inputs] == ["both.merge"]


@pytest.mark.parametrize("route", ["broadcast", "shuffle"])
def test_rows_that_are_broadcast_are_merged_once_for_all_replicas_where_that_is_asked_for(route: str) -> None:
    topology = Topology("sharing")
    source = topology.source(Ticks, name="rows", parts=3, replicas=3)
    given = getattr(source, route)().ordered("timestamp").through(PassTicks, name="readers", replicas=4)
    given.into(Collect, name="sink")
    found = merged_by_operators(compile_job(topology.spec(), DeploySpec()).graph, SHARED)
    if route == "shuffle":
        assert merges(found) == []
        return
    assert merges(found) == ["readers.merge"]
    assert found.actors["readers.merge"].replicas == 1
    assert [(edge.producer, edge.route) for edge in found.actors["readers"].inputs] == [
        ("readers.merge", "broadcast")
    ]


class Pausing(Ticks):
    idle_timeout: ClassVar = timedelta(seconds=1)


@pytest.mark.parametrize("deploy", [OPERATORS, SHARED], ids=["operator", "shared"])
def test_behind_a_source_that_may_be_idle_channels_merge_for_they_know_what_is_late(
    deploy: DeploySpec,
) -> None:
    topology = Topology("idle")
    source = topology.source(Pausing, name="rows", parts=3, replicas=3)
    given = source.broadcast().ordered("timestamp").through(PassTicks, name="readers", replicas=4)
    given.into(Collect, name="sink")
    assert merges(merged_by_operators(compile_job(topology.spec(), DeploySpec()).graph, deploy)) == []


def test_inputs_of_which_only_one_is_broadcast_are_not_merged_together() -> None:
    topology = Topology("sharing")
    first, second = (topology.source(Ticks, name=name, parts=2, replicas=2) for name in ("first", "second"))
    both = first.broadcast().through("union", second.shuffle(), name="both", replicas=2)
    both.to_one().ordered("timestamp").into(Collect, name="sink")
    found = merged_by_operators(compile_job(topology.spec(), DeploySpec()).graph, SHARED)
    assert merges(found) == ["both.merge"]
    assert [edge.producer for edge in found.actors["both.merge"].inputs] == ["first"]
    assert [edge.producer for edge in found.actors["both"].inputs] == ["both.merge", "second"]
