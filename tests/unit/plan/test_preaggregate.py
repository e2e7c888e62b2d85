"""A local stage stands before each aggregate that allows one. The rows beside the results of an aggregate in two steps
come from both of them, whatever their replicas."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Event, Topology
from actorstream.plan.preaggregate import pre_aggregated
from actorstream.topology.deploy import DeploySpec


class Row(Event):
    __event_time__ = "ts"
    ts: int
    key: int


PARTS = {str(part): [Row(time, part) for time in (5, 100, 7, 120, 8)] for part in range(3)}


@pytest.mark.parametrize("two_steps", [True, False])
@pytest.mark.parametrize("replicas", [1, 2])
def test_late_rows_reach_a_sink_and_an_aggregate_however_many_replicas_either_step_has(replicas, two_steps):
    topology = Topology()
    rows = topology.source(PARTS, name="rows", replicas=3)
    window = {"type": "tumbling", "size": 10}
    made = rows.through("aggregate", aggregates={"n": "count()"}, key="key", window=window, replicas=replicas)
    late = made.late.collect()
    counted = made.late.through("aggregate", name="counted", aggregates={"n": "count()"}, key="ts").collect()
    out = made.collect()
    topology.run(pre_aggregation=two_steps)
    assert sorted((row.ts, row.key) for row in late) == [(ts, key) for ts in (7, 8) for key in range(3)]
    assert sorted((row.ts, row.n) for row in counted) == [(7, 3), (8, 3)]
    assert sum(row.n for row in out) == 9


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
