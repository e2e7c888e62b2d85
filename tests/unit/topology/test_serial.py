"""Serial order through the graph: who numbers, what is implied, what rows carry, what cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from actorstream.actors.contract import Contract
from actorstream.errors import ConfigurationError
from actorstream.topology.available import Available
from actorstream.topology.builder import Topology
from actorstream.topology.graph import Graph
from actorstream.topology.registry import TypeRegistry
from actorstream.topology.serial import call_order, serial_plan
from actorstream.topology.validate import build_graph
from tests.integration.parts import Collect, Double, DoubleBatch, Expand, Numbers, Pass
from tests.integration.serial_parts import CountByGroup, Fires, Parted


def graph_of(topology: Topology) -> Graph:
    available = Available.installed(orders=("none", "serial", "timestamp"))
    return build_graph(topology.spec(), TypeRegistry({}), available=available)


def orders(graph: Graph) -> dict[str, str]:
    return {f"{edge.source} -> {edge.consumer}": edge.how for edge in graph.edges}


def problem_of(topology: Topology) -> str:
    with pytest.raises(ConfigurationError) as raised:
        graph_of(topology)
    return str(raised.value)


def carried(graph: Graph) -> dict[str, tuple[str, ...]]:
    return {name: each.columns for name, each in serial_plan(graph).producers.items()}


class TestWhoNumbers:
    def test_a_source_behind_which_everything_is_parallel(self) -> None:
        topology = Topology("t")
        rows = topology.source(Numbers, name="rows").through(Double, name="work", replicas=3)
        rows.ordered("serial").into(Collect, name="out")
        plan = serial_plan(graph_of(topology))
        assert set(plan.edges.values()) == {"rows"}
        assert plan.producers["rows"].numbers
        assert not plan.producers["work"].numbers

    def test_the_last_actor_with_one_replica_that_all_rows_pass(self) -> None:
        topology = Topology("t")
        rows = topology.source(Numbers, name="rows").through(Pass, name="parse")
        rows.through(Double, name="work", replicas=3).ordered("serial").into(Collect, name="out")
        plan = serial_plan(graph_of(topology))
        assert set(plan.edges.values()) == {"parse"}

    def test_a_single_actor_between_two_parallel_stages_numbers_anew_and_takes_serial_input(self) -> None:
        topology = Topology("t")
        first = topology.source(Numbers, name="rows").through(Double, name="a", replicas=3)
        second = first.through(Pass, name="middle").through(Double, name="b", replicas=2)
        second.ordered("serial").into(Collect, name="out")
        graph = graph_of(topology)
        assert orders(graph) == {
            "rows -> a": "shuffle, serial (implied)",
            "a -> middle": "shuffle, serial (implied)",
            "middle -> b": "shuffle, serial (implied)",
            "b -> out": "shuffle, serial",
        }
        numbering = {name for name, each in serial_plan(graph).producers.items() if each.numbers}
        assert numbering == {"rows", "middle"}

    def test_an_actor_that_only_some_rows_pass_does_not(self) -> None:
        topology = Topology("t")
        rows = topology.source(Numbers, name="rows")
        left = rows.through(Double, name="a", replicas=2).through(Pass, name="single")
        left = left.through(Double, name="b", replicas=2)
        right = rows.through(Double, name="c", replicas=2)
        left.ordered("serial").through(Pass, right.ordered("serial"), name="both").into(Collect, name="out")
        left.ordered("serial").into(Collect, name="side")
        assert set(serial_plan(graph_of(topology)).edges.values()) == {"rows"}

    def test_nobody_where_nobody_asks(self) -> None:
        topology = Topology("t")
        topology.source(Numbers).through(Double, replicas=3).into(Collect)
        graph = graph_of(topology)
        assert not serial_plan(graph).edges
        assert {edge.order for edge in graph.edges} == {"none"}


class TestWhatRowsCarry:
    def test_nothing_where_each_number_stays_with_one_replica(self) -> None:
        topology = Topology("t")
        rows = topology.source(Numbers, name="rows").through(Expand, name="a", replicas=3)
        rows.through(Double, name="b", replicas=3).ordered("serial").into(Collect, name="out")
        assert set(carried(graph_of(topology)).values()) == {()}

    def test_a_position_from_where_a_route_spreads_a_number(self) -> None:
        topology = Topology("t")
        rows = topology.source(Numbers, name="rows").through(Expand, name="a", replicas=3)
        counts = rows.by("group").through(CountByGroup, name="b", replicas=2)
        counts.ordered("serial").into(Collect, name="out")
        assert carried(graph_of(topology)) == {"rows": (), "a": ("_position",), "b": ("_position",)}

    def test_an_ordinal_of_an_actor_whose_rows_are_spread_again(self) -> None:
        topology = Topology("t")
        rows = topology.source(Numbers, name="rows").by("group").through(Expand, name="a", replicas=3)
        counts = rows.by("value").through(CountByGroup, name="b", replicas=2)
        counts.ordered("serial").into(Collect, name="out")
        found = carried(graph_of(topology))
        assert found["rows"] == ("_position",)
        assert found["a"] == found["b"] == ("_position", "_ordinal1")

    def test_a_position_where_replicas_fire_at_heartbeats(self) -> None:
        topology = Topology("t")
        topology.source(Numbers, name="rows").through(Fires, name="a", replicas=2).ordered("serial").into(
            Collect, name="out"
        )
        assert carried(graph_of(topology))["a"] == ("_position",)

    def test_the_numbers_of_a_source_pass_an_actor_whose_two_outputs_meet_again(self) -> None:
        topology = Topology("t")
        parted = topology.source(Numbers, name="rows").through(Parted, name="parted")
        even = parted["even"].through(Double, name="a", replicas=2)
        odd = parted["odd"].through(Double, name="b", replicas=2)
        even.ordered("serial").through(Pass, odd.ordered("serial"), name="both").into(Collect, name="out")
        plan = serial_plan(graph_of(topology))
        assert plan.producers["parted"].point == "rows"
        assert plan.merging == {"both"}


class TestWhatIsFiredFirst:
    def test_actors_are_in_the_order_in_which_they_call_each_other(self) -> None:
        """Whatever the order in which they are written."""
        topology = Topology("t")
        rows = topology.source(Numbers, name="rows")
        first = rows.through(Pass, name="first")
        flat = rows.through(Pass, name="flat")
        deep = first.through(Pass, name="deep")
        deep.ordered("serial").through(Pass, flat.ordered("serial"), name="both").into(Collect, name="out")
        graph = graph_of(topology)
        assert call_order(graph.actors) == ["rows", "first", "deep", "flat", "both", "out"]
        ranks = {name: each.rank for name, each in serial_plan(graph).producers.items()}
        assert sorted(ranks, key=ranks.__getitem__) == ["rows", "first", "deep", "flat"]

    def test_outputs_are_called_one_after_the_other(self) -> None:
        topology = Topology("t")
        parted = topology.source(Numbers, name="rows").through(Parted, name="parted")
        odd = parted["odd"].through(Pass, name="odd")
        parted["even"].through(Pass, odd, name="both").into(Collect, name="out")
        parted["even"].through(Pass, name="even").into(Collect, name="end")
        graph = graph_of(topology)
        assert call_order(graph.actors) == ["rows", "parted", "even", "end", "odd", "both", "out"]


def several_sources() -> Topology:
    topology = Topology("t")
    first, second = topology.source(Numbers, name="first"), topology.source(Numbers, name="second")
    first.ordered("serial").through(Pass, second.ordered("serial"), name="both", replicas=2).into(Collect)
    return topology


def several_replicas() -> Topology:
    topology = Topology("t")
    topology.source(Numbers, name="rows", parts=2, replicas=2).ordered("serial").into(Collect, name="out")
    return topology


def mixed() -> Topology:
    topology = Topology("t")
    rows = topology.source(Numbers, name="rows")
    other = topology.source(Numbers, name="other")
    rows.ordered("serial").through(Pass, other.ordered("timestamp"), name="both").into(Collect)
    return topology


def united_in_parallel() -> Topology:
    topology = Topology("t")
    rows = topology.source(Numbers, name="rows")
    left, right = rows.through(Double, name="l", replicas=2), rows.through(Double, name="r", replicas=2)
    both = left.by("group").through(Pass, right.by("group"), name="both", replicas=2)
    both.ordered("serial").into(Collect, name="out")
    return topology


class Summing(DoubleBatch):
    """Rows that descend from no single row."""

    contract = Contract(drops_lineage=True)


def sums_in_parallel() -> Topology:
    topology = Topology("t")
    rows = topology.source(Numbers, name="rows").by("group").through(Summing, name="sums", replicas=2)
    rows.ordered("serial").into(Collect, name="out")
    return topology


@pytest.mark.parametrize(
    ("topology", "says"),
    [
        (several_sources, ["several sources (first, second)", 'order = "timestamp"', "replicas = 1"]),
        (several_replicas, ["'rows' has 2 replicas", "replicas = 1 for 'rows'"]),
        (mixed, ["serial and timestamp order, which do not mix", 'order = "none"']),
        (united_in_parallel, ["'both', on the way, has 2 inputs and 2 replicas", "replicas = 1"]),
        (sums_in_parallel, ["'sums'", "descends from no single row", "replicas = 1 for 'sums'"]),
    ],
)
def test_what_cannot_be_serial_is_refused_with_what_could_be(
    topology: Callable[[], Topology], says: list[Any]
) -> None:
    message = problem_of(topology())
    assert all(each in message for each in says), message
    assert "problems:" not in message, "one mistake is one problem"
