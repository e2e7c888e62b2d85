"""A local stage stands before each aggregate that allows one, and hands on what it cannot take."""

from __future__ import annotations

from typing import Any

from actorstream import Event, Topology
from actorstream.runtime.preaggregate import pre_aggregated
from actorstream.topology.deploy import DeploySpec


class Row(Event):
    __event_time__ = "ts"
    ts: int
    key: int


def topology(text: str = "count()") -> Topology:
    made = Topology()
    counts = made.source([Row(1, 2)], name="rows").through(
        "aggregate", name="counts", key="key", window={"type": "tumbling", "size": 10}, aggregates={"n": text}
    )
    counts.collect(name="out")
    counts.late.collect(name="late")
    counts.dead.collect(name="dead")
    return made


def edges(graph: Any) -> list[tuple[str, str, str]]:
    return sorted((edge.producer, edge.output, edge.consumer) for edge in graph.edges)


def test_a_local_stage_stands_before_the_aggregate_and_has_its_late_rows_and_dead_letters():
    graph = pre_aggregated(topology().graph(), DeploySpec())
    assert edges(graph) == [
        ("counts", "dead", "dead"),
        ("counts", "default", "out"),
        ("counts", "late", "late"),
        ("counts.local", "dead", "dead"),
        ("counts.local", "default", "counts"),
        ("counts.local", "late", "late"),
        ("rows", "default", "counts.local"),
    ]


def test_the_graph_stays_as_it_is_where_no_aggregate_allows_it_or_a_deployment_forbids_it():
    for graph, deploy in (
        (topology("count_distinct(ts)").graph(), DeploySpec()),
        (topology().graph(), DeploySpec(pre_aggregation=False)),
    ):
        assert pre_aggregated(graph, deploy) is graph
