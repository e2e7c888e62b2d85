"""A local stage stands before each aggregate that allows one. The rows beside the results of an aggregate in two steps
come from both of them, whatever their replicas."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Batch, Event, Topology
from actorstream.plan.preaggregate import pre_aggregated
from actorstream.topology.deploy import DeploySpec


class Row(Event):
    __event_time__ = "ts"
    ts: int
    key: int


class Named(Event):
    key: int
    name: str


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


def two_windows() -> Topology:
    made = Topology()
    window = {"type": "tumbling", "size": 10}
    for name, number in (("views", 3), ("clicks", 1)):
        rows = made.source(PARTS, name=name, replicas=number)
        windows = f"{name}_windows"
        counts = {"n": "count()"}
        stream = rows.through("aggregate", name=windows, key="key", window=window, aggregates=counts)
        stream.collect(name=f"{name}_out")
    return made


def test_each_input_of_an_actor_has_its_own_schema_where_late_rows_come_before_it():
    made = two_windows()
    names = made.source([Named(1, "one")], name="names")
    made["views_windows"].late.through("static-join", name="join", table=names.source, on="key").collect()
    graph = pre_aggregated(made.graph(), DeploySpec())
    join = graph.actors["join"]
    assert [edge.source for edge in join.inputs] == [
        "views_windows.late",
        "views_windows.local.late",
        "names",
    ]
    assert join.input_schemas == [graph.schema(edge) for edge in join.inputs]


def test_late_rows_of_two_aggregates_reach_one_sink():
    made = two_windows()
    made.actor("late", "memory-sink", ["views_windows.late", "clicks_windows.late"])
    found = made.run()["late"]
    assert sorted((row.ts, row.key) for row in found) == sorted(
        (ts, key) for ts in (7, 8) for key in range(3) for _ in range(2)
    )


def test_late_rows_are_the_left_input_of_a_join_with_another_stream():
    made = two_windows()
    names = made.source([Named(1, "one")], name="names")
    joined = made["views_windows"].late.through("static-join", table=names.source, on="key").collect()
    made.run()
    assert sorted((row.ts, row.name) for row in joined) == [(7, "one"), (8, "one")]


def by_time(batch: Batch, replicas: int) -> Any:
    """A route by a field that partial results do not have."""
    return batch["ts"] % replicas


def test_no_local_stage_stands_between_a_route_function_and_its_rows():
    made = Topology()
    rows = made.source([Row(5, 0), Row(7, 1), Row(100, 0)], name="rows").routed(f"{__name__}:by_time")
    window = {"type": "tumbling", "size": 10}
    counts = {"n": "count()"}
    stream = rows.through("aggregate", key="key", window=window, aggregates=counts, replicas=2)
    out = stream.collect()
    graph = made.graph()
    assert pre_aggregated(graph, DeploySpec()) is graph
    made.run()
    assert sum(row.n for row in out) == 3
