"""What a topology says itself about time and chance."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Actor, Contract, Event, Topology
from actorstream.errors import ConfigurationError
from actorstream.topology.graph import Graph
from actorstream.topology.stream import Stream
from actorstream.verify.built import BuiltTarget
from actorstream.verify.deployments import Deployment
from actorstream.verify.hints import check_ends, order_hints, time_hints


class Row(Event):
    value: int


class Last(Actor):
    def on_event(self, event: Row) -> Row:
        return event


class Free(Last):
    contract = Contract(stateless=True)


def checked(topology: Topology) -> Graph:
    return BuiltTarget(topology).graph(Deployment(0, {}))


def source(**keys: Any) -> tuple[Topology, Stream]:
    topology = Topology("t")
    return topology, topology.source("generator-source", name="rows", schema={"value": "int"}, **keys)


def test_rates_timeouts_and_timely_updates_depend_on_the_clock() -> None:
    topology, rows = source(count=9, rate=5.0, idle_timeout="1s", event_time="value")
    rows.through(
        "aggregate",
        name="sums",
        aggregates={"n": "count()"},
        key=[],
        emit="updates",
        every="1s",
        window={"type": "tumbling", "size": "1s"},
    ).into("null-sink", name="out")
    assert [hint.split()[0] for hint in time_hints(checked(topology))] == ["rows", "rows", "sums"]
    topology, rows = source(count=9)
    rows.into("null-sink", name="out")
    assert time_hints(checked(topology)) == []


@pytest.mark.parametrize(
    ("order", "operator", "keys", "hinted"),
    [
        ("none", Last, {}, True),
        ("serial", Last, {}, False),
        ("none", Free, {}, False),
        ("none", "filter", {"where": "value > 1"}, False),
        ("none", "reduce", {"aggregate": {"n": "last(value)"}}, True),
        ("none", "aggregate", {"aggregates": {"n": "first(value)"}, "key": []}, True),
        ("none", "aggregate", {"aggregates": {"n": "sum(value)"}, "key": []}, False),
    ],
)
def test_an_operator_that_may_mind_the_order_of_several_replicas_rows_is_named(
    order: str, operator: Any, keys: dict[str, Any], hinted: bool
) -> None:
    topology, rows = source(count=9)
    several = rows.through(Free, name="several", replicas=2).ordered(order)
    several.through(operator, name="it", **keys).into("null-sink", name="out")
    found = order_hints(checked(topology))
    assert [hint.startswith("it takes rows of several (×2)") for hint in found] == [True] * hinted


def test_an_operator_behind_a_single_channel_minds_nothing() -> None:
    topology, rows = source(count=9)
    rows.through(Last).through(Last).into("null-sink", name="out")
    assert order_hints(checked(topology)) == []


def test_a_source_without_end_is_a_problem() -> None:
    topology, rows = source()
    rows.into("null-sink", name="out")
    with pytest.raises(ConfigurationError, match=r"actors\.rows: has no end.*actors\.rows\.count=100000"):
        check_ends(checked(topology))
    topology, rows = source(count=1)
    rows.into("null-sink", name="out")
    check_ends(checked(topology))
