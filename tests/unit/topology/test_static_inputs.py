"""Static inputs: which keys become edges, and which sources would wait for themselves."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from actorstream import Actor, Event, Source, Topology
from actorstream.errors import ConfigurationError


class Row(Event):
    key: int


class Rows(Source):
    def __init__(self, repeat: int = 1) -> None:
        super().__init__(repeat=repeat)

    def events(self) -> Iterator[Row]:
        yield Row(1)


class Join(Actor):
    def __init__(self, table: str = "", other: str = "") -> None:
        self.table, self.other = table, other

    @classmethod
    def static_inputs(cls, keys):
        return {key: keys[key] for key in ("table", "other") if key in keys}

    def on_event(self, event: Row) -> Row:
        return event


def problems(topology: Topology) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        topology.graph()
    return [f"{problem.where}: {problem.message}" for problem in raised.value.problems]


def test_a_key_that_names_a_source_becomes_a_broadcast_edge_behind_the_others():
    topology = Topology()
    topology.source(Rows, name="table")
    stream = topology.source(Rows, name="stream")
    stream.through(Join, table=topology["table"], name="join", replicas=2).collect()
    join = topology.graph().actors["join"]
    edges = [(edge.producer, edge.route, edge.static, edge.name) for edge in join.inputs]
    assert edges == [
        ("stream", "shuffle", False, "stream"),
        ("table", "broadcast", True, "table:table"),
    ]
    assert join.keys["table"] == "table" and len(join.input_schemas) == 2


def test_a_key_that_names_no_actor_adds_nothing():
    topology = Topology()
    topology.source(Rows, name="stream").through(Join, table="table.csv", name="join").collect()
    assert [edge.name for edge in topology.graph().actors["join"].inputs] == ["stream"]


def test_a_table_comes_before_the_join_in_topological_order_wherever_it_is_written():
    topology = Topology()
    topology.source(Rows, name="stream").through(Join, table="late", name="join").collect()
    topology.source(Rows, name="late")
    names = list(topology.graph().actors)
    assert names.index("late") < names.index("join")


def test_an_operator_is_no_table():
    topology = Topology()
    stream = topology.source(Rows, name="stream")
    stream.through(Join, name="first")
    stream.through(Join, table="first", name="join").collect()
    assert problems(topology) == [
        "actors.join.table: 'first' is no source, so it cannot be read whole before the first event"
    ]


def test_a_source_without_end_is_no_table():
    topology = Topology()
    topology.source(Rows, name="table", repeat=0)
    topology.source(Rows, name="stream").through(Join, table="table", name="join").collect()
    assert problems(topology) == [
        "actors.join.table: 'table' has repeat = 0 and never ends, but is read whole before the first event"
    ]


def test_a_table_that_feeds_the_stream_itself_is_refused_also_through_other_actors():
    topology = Topology()
    source = topology.source(Rows, name="source")
    source.through(Join, name="between").through(Join, table="source", name="join").collect()
    assert problems(topology) == [
        "actors.join.table: 'source' also feeds the stream that waits until 'source' has been read whole"
    ]


def test_sources_that_are_each_others_tables_are_refused():
    topology = Topology()
    one, two = topology.source(Rows, name="one"), topology.source(Rows, name="two")
    one.through(Join, table="two", name="first").collect()
    two.through(Join, table="one", name="second").collect()
    found = problems(topology)
    assert len(found) == 1
    assert "the sources wait for each other to be read whole: " in found[0]


def test_one_source_may_be_the_table_of_several_actors_and_one_actor_may_have_several_tables():
    topology = Topology()
    topology.source(Rows, name="table")
    topology.source(Rows, name="other")
    stream = topology.source(Rows, name="stream").through(Join, table="table", other="other", name="first")
    stream.through(Join, table="table", name="second").collect()
    graph = topology.graph()
    assert [edge.name for edge in graph.actors["first"].inputs] == ["stream", "table:table", "other:other"]
    assert [edge.name for edge in graph.actors["second"].inputs] == ["first", "table:table"]
