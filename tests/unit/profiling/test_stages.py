"""Which parts of a graph are measured as one, and the small graphs in which they run alone."""

from __future__ import annotations

from typing import ClassVar

from actorstream import Actor, Event, Topology
from actorstream.connectors.null import NullSink
from actorstream.events.schema import Schema
from actorstream.profiling.sample_source import Sample, SampleSource
from actorstream.profiling.stages import (
    Stage,
    alone,
    by_worker,
    inputs_of,
    is_table,
    outputs_of,
    stages_of,
    twice,
    with_replicas,
)
from actorstream.topology.graph import Graph


class Word(Event):
    text: str


class Marks(Actor):
    outputs: ClassVar[dict[str, type[Event]]] = {"default": Word, "long": Word}

    def on_event(self, event: Word) -> Word:
        return event


def graph() -> Graph:
    topology = Topology("words")
    topology.source([Word("a")], name="words")
    topology.actor("marks", Marks, ["words"])
    topology.actor("again", Marks, ["marks"])
    topology.actor(
        "counts", "reduce", [{"from": "again", "route": "key", "key": "text"}], aggregate="count()"
    )
    topology.actor("sink", "null-sink", ["counts"])
    topology.actor("long", "null-sink", ["marks.long"])
    return topology.graph(workers=1)


def samples(of: Graph, stage: Stage) -> dict[str, Sample]:
    return {edge.source: Sample(of.schema(edge), []) for edge in inputs_of(of, stage)}


def test_every_actor_and_every_chain_of_calls_is_a_stage() -> None:
    names = [stage.name for stage in stages_of(graph())]
    assert names == [
        "words",
        "marks",
        "again",
        "counts",
        "sink",
        "long",
        "words+marks+again+long",
        "counts+sink",
    ]


def test_an_operator_alone_stands_between_a_feed_and_sinks() -> None:
    whole, stage = graph(), Stage(("marks",))
    small = alone(whole, stage, samples(whole, stage))
    assert [(each.name, each.cls.__name__) for each in small.actors.values()] == [
        ("feed.0", "SampleSource"),
        ("marks", "Marks"),
        ("out.0", "NullSink"),
        ("out.1", "NullSink"),
    ]
    assert [(edge.source, edge.consumer, edge.name) for edge in small.edges] == [
        ("feed.0", "marks", "words"),
        ("marks", "out.0", "marks"),
        ("marks.long", "out.1", "marks.long"),
    ]
    assert [edge.index for edge in small.edges] == [0, 1, 2]


def test_a_chain_is_fed_at_its_head_only_and_keeps_its_inner_edges() -> None:
    whole, stage = graph(), Stage(("marks", "again"))
    small = alone(whole, stage, samples(whole, stage))
    assert [edge.source for edge in small.edges] == ["feed.0", "marks", "marks.long", "again"]
    assert [edge.source for edge in outputs_of(whole, stage)] == ["marks.long", "again"]


def test_an_output_has_one_reader_since_what_routing_costs_is_measured_in_the_whole_topology() -> None:
    whole, stage = graph(), Stage(("again",))
    small = alone(whole, stage, samples(whole, stage))
    assert small.actors["out.0"].replicas == 1 and small.edges[-1].route == "forward"


def test_the_whole_topology_has_as_many_replicas_as_asked_and_other_keys() -> None:
    whole = with_replicas(graph(), {"again": 2}, {"again": {"extra": 1}})
    assert {name: actor.replicas for name, actor in whole.actors.items() if actor.replicas > 1} == {
        "again": 2
    }
    assert whole.actors["again"].keys["extra"] == 1 and len(whole.edges) == len(graph().edges)


def test_a_forward_edge_between_unequal_numbers_of_replicas_becomes_a_shuffle() -> None:
    whole = with_replicas(graph(), {"again": 2}, {})
    routes = {(edge.producer, edge.consumer): edge.route for edge in whole.edges}
    assert routes["words", "marks"] == "forward" and routes["marks", "again"] == "shuffle"
    even = with_replicas(graph(), {"marks": 2, "again": 2}, {})
    assert {edge.route for edge in even.actors["again"].inputs} == {"forward"}


def test_a_sample_stands_for_its_source_once_whatever_the_replicas_of_that() -> None:
    fed = {"words": {"sample": Sample(Schema.of(Word), []), "passes": 0}}
    whole = with_replicas(graph(), {"words": 2, "marks": 2}, {}, fed)
    assert whole.actors["words"].replicas == 1 and whole.actors["words"].cls is SampleSource
    assert [edge.route for edge in whole.actors["marks"].inputs] == ["shuffle"]


def test_each_part_runs_in_a_process_of_its_own() -> None:
    whole, stage = graph(), Stage(("again",))
    small = alone(whole, stage, samples(whole, stage))
    workers = by_worker(small, stage.members)
    assert workers == {("feed.0", 0): 0, ("again", 0): 1, ("out.0", 0): 2}


def test_what_is_fed_has_the_schema_of_what_was_read() -> None:
    whole, stage = graph(), Stage(("counts",))
    feed = alone(whole, stage, samples(whole, stage)).actors["feed.0"]
    assert feed.cls is SampleSource and feed.outputs["default"] == Schema.of(Word)


def test_a_copy_of_a_graph_is_the_same_beside_it_and_its_sinks_do_nothing() -> None:
    one = graph()
    both = twice(one)
    assert list(both.actors) == [each for name in one.actors for each in (name, f"copy.{name}")]
    assert [each.index for each in both.edges] == list(range(2 * len(one.edges)))
    for name, actor in one.actors.items():
        mine, other = both.actors[name], both.actors[f"copy.{name}"]
        assert [each.producer for each in mine.inputs] == [each.producer for each in actor.inputs]
        assert [each.producer for each in other.inputs] == [f"copy.{each.producer}" for each in actor.inputs]
        assert {each.consumer for each in other.inputs} <= {other.name}
        assert other.cls is (NullSink if actor.role == "sink" else actor.cls)


def test_the_copy_of_a_table_is_read_by_the_copy_of_its_consumer() -> None:
    topology = Topology("joined")
    topology.source([Word("a")], name="words")
    topology.source([Word("a")], name="table")
    topology.actor("joined", "static-join", ["words"], table="table", on="text")
    topology.actor("sink", "null-sink", ["joined"])
    one = topology.graph(workers=1)
    assert [name for name in one.actors if is_table(one, name)] == ["table"]
    static = [(each.producer, each.consumer) for each in twice(one).edges if each.static]
    assert static == [("table", "joined"), ("copy.table", "copy.joined")]
    fed = {
        each.producer: each.route
        for each in alone(one, Stage(("joined",)), samples(one, Stage(("joined",)))).edges
    }
    assert fed["feed.0"] == "forward" and fed["feed.1"] == "broadcast", "no table calls its reader"
