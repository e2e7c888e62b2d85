"""Which parts of a graph are measured as one, and the small graph in which each of them runs alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from actorstream.connectors.null import NullSink
from actorstream.placement.rlas import dataflow_of
from actorstream.plan.fuse import fusible
from actorstream.profiling.busy_sink import BusySink
from actorstream.profiling.sample_source import SampleSource
from actorstream.profiling.together import COPY
from actorstream.topology.graph import Edge, Graph, GraphActor, Redrawn

if TYPE_CHECKING:
    from actorstream.profiling.sample_source import Sample

FEED, OUT = "feed.", "out."


class Stage(msgspec.Struct, frozen=True):
    """What is measured as one: an actor, or a chain whose members call each other directly; head first."""

    members: tuple[str, ...]

    @property
    def name(self) -> str:
        return "+".join(self.members)

    @property
    def head(self) -> str:
        return self.members[0]


def stages_of(graph: Graph) -> list[Stage]:
    """Every actor by itself in topological order, then every chain; programs, and chains with one, are not among them,
    since their plans place them."""
    found = [Stage((actor.name,)) for actor in graph.actors.values() if actor.planning is None]
    chains = [each.members for each in dataflow_of(graph, direct=fusible).operators if len(each.members) > 1]
    return found + [
        Stage(tuple(chain)) for chain in chains if all(graph.actors[each].planning is None for each in chain)
    ]


def inputs_of(graph: Graph, stage: Stage) -> list[Edge]:
    """Edges into a stage from outside of it."""
    return [
        edge
        for name in stage.members
        for edge in graph.actors[name].inputs
        if edge.producer not in stage.members
    ]


def outputs_of(graph: Graph, stage: Stage) -> list[Edge]:
    """Edges out of a stage; of several with one output the first, since each gets the same rows."""
    leaving = [edge for name in stage.members for edge in graph.consumers(name)]
    first = {edge.source: edge for edge in reversed(leaving) if edge.consumer not in stage.members}
    return list(first.values())[::-1]


def timed_actors(graph: Graph) -> set[str]:
    """Actors whose rows have an event time, as a field or by descent."""
    found: set[str] = set()
    for actor in graph.actors.values():
        own = any(schema.event_time is not None for name, schema in actor.outputs.items() if name != "dead")
        if own or any(edge.producer in found for edge in actor.inputs if not edge.static):
            found.add(actor.name)
    return found


def alone(
    graph: Graph,
    stage: Stage,
    samples: Mapping[str, Sample],
    *,
    passes: int = 0,
    changed: Mapping[str, Mapping[str, Any]] | None = None,
    sink: type = NullSink,
) -> Graph:
    """The graph of a stage between feeds and sinks, all with one replica.

    Args:
        samples: "actor" or "actor.output" -> what it has made, for each input.
        passes: how often feeds give their sample; 0: without end. A table is given once.
        changed: actor -> keys that are laid over its own.
        sink: the class of what takes the outputs."""
    made = Redrawn(graph)
    timed = timed_actors(graph)
    inside: dict[str, list[Edge]] = {}
    for number, edge in enumerate(inputs_of(graph, stage)):
        name = f"{FEED}{number}"
        keys = {"sample": samples[edge.source], "passes": 1 if edge.static else passes}
        made.add(_actor(name, SampleSource, "source", keys, edge, graph, edge.producer in timed), [])
        route = "broadcast" if edge.static else "forward"  # a table is no stream: its source calls nobody
        fed = replace(edge, producer=name, output="default", route=route, key=(), bounds=(), order="none")
        inside.setdefault(edge.consumer, []).append(fed)
    for name in stage.members:
        actor = graph.actors[name]
        between = [edge for edge in actor.inputs if edge.producer in stage.members]
        edges = sorted([*inside.get(name, []), *between], key=lambda edge: edge.input)
        keys = {**actor.keys, **(changed or {}).get(name, {})}
        made.add(replace(actor, replicas=1, keys=keys), edges)
    for number, edge in enumerate(outputs_of(graph, stage)):
        taker = _actor(f"{OUT}{number}", sink, "sink", {}, edge, graph, False)
        plain = replace(
            edge, consumer=taker.name, route="forward", key=(), bounds=(), order="none", static=False
        )
        made.add(taker, [plain])
    return made.graph()


def hop(graph: Graph, edge: Edge, sample: Sample, work_ns: int = 0) -> Graph:
    """The graph of a feed that gives the rows of an edge, without end, to a sink, which works so long on each jumbo tuple."""
    made = Redrawn(graph)
    feed = _actor(FEED, SampleSource, "source", {"sample": sample, "passes": 0}, edge, graph, False)
    keys = {"work_ns": work_ns} if work_ns else {}
    taker = _actor(OUT, BusySink if work_ns else NullSink, "sink", keys, edge, graph, False)
    made.add(feed, [])
    fed = replace(edge, producer=FEED, output="default", consumer=OUT, route="forward", static=False)
    made.add(taker, [replace(fed, key=(), bounds=(), order="none")])
    return made.graph()


def with_replicas(
    graph: Graph,
    counts: Mapping[str, int],
    changed: Mapping[str, Mapping[str, Any]],
    fed: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> Graph:
    """The graph with so many replicas, one of each actor that `counts` does not name; `changed` as in `alone`.

    `fed`: sources in whose place a SampleSource with these keys stands, one replica each."""
    made = Redrawn(graph)
    count = {name: 1 if name in fed else counts.get(name, 1) for name in graph.actors}
    for name, actor in graph.actors.items():
        keys = {**actor.keys, **changed.get(name, {})}
        inputs = [_between(edge, count[edge.producer], count[name]) for edge in actor.inputs]
        actor = replace(actor, replicas=count[name], keys=keys)
        if name in fed:
            actor = replace(actor, cls=SampleSource, type_name=SampleSource.__name__, keys=dict(fed[name]))
        made.add(actor, inputs)
    return made.graph()


def twice(graph: Graph) -> Graph:
    """The graph and a copy of it, whose sinks do nothing. Nothing goes between the two."""
    made = Redrawn(graph)
    for name, actor in graph.actors.items():
        made.add(actor, list(actor.inputs))
        inputs = [replace(each, producer=COPY + each.producer, consumer=COPY + name) for each in actor.inputs]
        quiet = {"cls": NullSink, "type_name": NullSink.__name__, "keys": {}} if actor.role == "sink" else {}
        made.add(replace(actor, name=COPY + name, **quiet), inputs)
    return made.graph()


def is_table(graph: Graph, name: str) -> bool:
    """Whether an actor is a source that is only read as a table."""
    read = graph.consumers(name)
    return bool(read) and all(edge.static for edge in read)


def is_copy(name: str) -> bool:
    """Whether an actor of `twice` is one of the copy."""
    return name.startswith(COPY)


def _between(edge: Edge, producers: int, consumers: int) -> Edge:
    """The edge between so many replicas. `forward` needs equal numbers."""
    unequal = edge.route == "forward" and producers != consumers
    return replace(edge, route="key" if edge.key else "shuffle") if unequal else edge


def _actor(
    name: str, cls: type, role: str, keys: dict[str, Any], edge: Edge, graph: Graph, timed: bool
) -> GraphActor:
    schema = graph.schema(edge)
    sides: dict[str, Any] = (
        {"outputs": {"default": schema}} if role == "source" else {"input_schemas": [schema]}
    )
    return GraphActor(name, cls.__name__, cls, role, keys, 1, timed=timed, **sides)


def by_worker(graph: Graph, stage: Sequence[str]) -> dict[tuple[str, int], int]:
    """(actor, replica) -> worker, for `alone`: feeds on 0, the stage on 1, what takes its outputs on 2."""
    found = {}
    for actor in graph.actors.values():
        worker = 1 if actor.name in stage else 0 if actor.role == "source" else 2
        found.update({(actor.name, index): worker for index in range(actor.replicas)})
    return found
