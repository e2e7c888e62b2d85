"""Timestamp order through a graph: what is implied, what is refused, and what rows carry."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.source import Source
from actorstream.errors import ConfigurationError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.plan.compile import compile_job
from actorstream.topology.builder import Topology
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from actorstream.topology.timestamp import PARTITIONS, timestamp_plan
from tests.integration.parts import Collect
from tests.integration.timestamp_parts import Copies, PassTicks, Ticks


class Timeless(Event):
    value: int


class Timelesses(Source):
    outputs: ClassVar[dict[str, Any]] = {"default": Timeless}

    def read(self, max_rows: int) -> Batch | None:
        return None


class Seconds(Timelesses):
    """Event times in another unit."""

    outputs: ClassVar[dict[str, Any]] = {}

    def __init__(self) -> None:
        self.event_time, self.time_unit = "value", "s"

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Any]) -> dict[str, Any]:
        from actorstream.events.schema import Schema

        return {"default": Schema.of(Timeless).with_event_time("value", "s")}


class Both(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Timeless}

    def on_batch(self, batch: Batch) -> None:
        pass


def graph_of(topology: Topology) -> Graph:
    return compile_job(topology.spec(), DeploySpec()).graph


def timeless() -> Topology:
    topology = Topology("timeless")
    return topology.source(Timelesses, name="rows").ordered("timestamp").into(Collect, name="sink")


def late() -> Topology:
    topology = Topology("late")
    return topology.source(Ticks, name="rows").late.ordered("timestamp").into(Collect, name="sink")


def units() -> Topology:
    topology = Topology("units")
    first = topology.source(Ticks, name="rows").ordered("timestamp")
    second = topology.source(Seconds, name="seconds").ordered("timestamp")
    return first.through(Both, second, name="both").into(Collect, name="sink")


def serial_on_the_way() -> Topology:
    topology = Topology("serial")
    passed = topology.source(Ticks, name="rows").ordered("serial").through(PassTicks, name="passed")
    return passed.ordered("timestamp").into(Collect, name="sink")


def serial_beside() -> Topology:
    topology = Topology("beside")
    rows = topology.source(Ticks, name="rows")
    rows.ordered("serial").into(Collect, name="other")
    return rows.ordered("timestamp").into(Collect, name="sink")


def join(*, both: bool, late: bool = False) -> Topology:
    topology = Topology("join")
    left, right = (topology.source(Ticks, name=name) for name in ("left", "right"))
    other = right.late if late else right.ordered("timestamp") if both else right
    keys = {"on": "key", "window": {"type": "tumbling", "size": 10}}
    return left.ordered("timestamp").through("join", other, name="joined", **keys).into(Collect, name="sink")


def beside() -> Topology:
    return join(both=False)


def late_beside() -> Topology:
    return join(both=False, late=True)


@pytest.mark.parametrize(
    ("make", "parts"),
    [
        (timeless, ["actors.sink.inputs[0].order", "'rows'", "no event time", 'event_time = "FIELD"']),
        (late, ["'rows.late'", "do not ascend", 'order = "none"']),
        (units, ["different units", "'rows' in ms", "'seconds' in s", "one time_unit"]),
        (serial_beside, ["'rows' has consumers in serial order too", "one of the two orders"]),
        (beside, ["actors.joined.inputs[1].order", "rows of 'right' would be late", "at 'right' too"]),
        (late_beside, ["'right.late' would be late", "a consumer of their own"]),
        (serial_on_the_way, ["'passed', on the way to 'sink', has input in serial order", "timestamp"]),
    ],
)
def test_what_has_no_sequence_by_time_is_refused_with_the_next_step(
    make: Callable[[], Topology], parts: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        graph_of(make())
    for part in parts:
        assert part in str(caught.value)


def test_an_output_whose_name_begins_as_that_of_late_rows_does_is_taken_in_that_order() -> None:
    topology = Topology("latest")
    cases = {"latest": "t > 10", "latency": "n > 3"}
    divided = topology.source(Ticks, name="rows").through("split", name="divided", cases=cases)
    for output in cases:
        divided[output].ordered("timestamp").into(Collect, name=f"sink-{output}")
    assert {edge.order for edge in graph_of(topology).edges} == {"timestamp"}


def test_input_without_order_beside_the_sequence_is_for_actors_that_do_not_go_by_event_time() -> None:
    topology = Topology("both")
    first, second = (topology.source(Ticks, name=name) for name in ("first", "second"))
    first.ordered("timestamp").through(Both, second, name="both").into(Collect, name="sink")
    for made in (topology, join(both=True)):
        assert "timestamp" in {edge.order for edge in graph_of(made).edges}


def test_everything_on_the_way_is_in_that_order_too_and_nothing_beside_it() -> None:
    topology = Topology("implied")
    source = topology.source(Ticks, name="rows")
    passed = source.shuffle().through(PassTicks, name="passed", replicas=2)
    passed.to_one().ordered("timestamp").into(Collect, name="sink")
    passed.to_one().into(Collect, name="other")
    edges = {edge.consumer: (edge.order, edge.implied) for edge in graph_of(topology).edges}
    assert edges == {"passed": ("timestamp", True), "sink": ("timestamp", False), "other": ("none", False)}


def test_rows_carry_what_tells_ties_apart_only_where_several_replicas_send_them() -> None:
    topology = Topology("carried")
    first, second = (topology.source(Ticks, name=name) for name in ("first", "second"))
    copies = first.shuffle().through(Copies, second.shuffle(), name="copies", replicas=2)
    passed = copies.by("n").through(PassTicks, name="passed", replicas=2)
    one = passed.to_one().through(PassTicks, name="one")
    one.ordered("timestamp").into(Collect, name="sink")
    plan = timestamp_plan(graph_of(topology)).producers
    places = ("_origin", "_position")
    assert plan["first"].columns == plan["second"].columns == places
    assert plan["copies"].columns == plan["passed"].columns == (*places, "_ordinal0")
    assert plan["copies"].offsets == (0, PARTITIONS)
    assert plan["one"].columns == ()
    assert plan["one"].places


def test_the_order_costs_a_graph_that_does_not_ask_for_it_nothing() -> None:
    topology = Topology("none")
    topology.source(Ticks, name="rows").into(Collect, name="sink")
    plan = timestamp_plan(graph_of(topology))
    assert (plan.edges, plan.producers) == (frozenset(), {})


def test_more_actors_that_spread_rows_than_there_are_tie_columns_are_refused() -> None:
    topology = Topology("deep")
    stream = topology.source(Ticks, name="rows")
    for number in range(8):
        stream = stream.by("n").through(Copies, name=f"copies{number}", replicas=2)
    stream.to_one().ordered("timestamp").into(Collect, name="sink")
    with pytest.raises(ConfigurationError, match="replicas = 1 for one of them"):
        graph_of(topology)
