"""What rows look like on an edge: the user's columns, and the system columns that somebody downstream needs.

Decided before the run, the same in every worker. A system column is carried only where it is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from actorstream.events.fields import WATERMARK
from actorstream.events.schema import Schema
from actorstream.topology.event_time import without_descent
from actorstream.topology.serial import POSITION
from actorstream.topology.timestamp import ORIGIN, TimestampPlan

if TYPE_CHECKING:
    from actorstream.topology.graph import Edge, Graph
    from actorstream.topology.serial import SerialPlan

TIME = "_time"


class EdgeSchemas(msgspec.Struct, frozen=True):
    """The schemas of one edge.

    Attributes:
        plain: of most jumbo tuples.
        marked: of those with rows behind their watermark, which carry it; None if nobody downstream would look, or the rows are
            in timestamp order, where none is behind.
    """

    plain: Schema
    marked: Schema | None = None

    def of(self, fingerprint: int) -> Schema:
        """The schema that a frame says it has."""
        if self.marked is not None and fingerprint == self.marked.fingerprint:
            return self.marked
        return self.plain


def edge_schemas_of(
    graph: Graph,
    listening: frozenset[str],
    serial: SerialPlan | None = None,
    timestamp: TimestampPlan | None = None,
) -> dict[int, EdgeSchemas]:
    """Edge number -> its schemas."""
    timed: set[str] = set()  # actors whose rows have an event time, as a field or by descent
    found: dict[int, EdgeSchemas] = {}
    in_order = timestamp or TimestampPlan()
    for actor in graph.actors.values():
        if actor.role == "source" and actor.timed:
            timed.add(actor.name)
        flows = [edge for edge in actor.inputs if not edge.static]
        if any(_is_timed(graph, edge, timed) for edge in flows):
            timed.add(actor.name)
        if any(schema.event_time is not None for name, schema in actor.outputs.items() if name != "dead"):
            timed.add(actor.name)
    for edge in graph.edges:
        schema = graph.schema(edge)
        places = serial.producers[edge.producer].columns if serial and edge.index in serial.edges else ()
        by_time = edge.index in in_order.edges
        if by_time:
            places = in_order.producers[edge.producer].columns
        if edge.static or edge.consumer not in listening or not _is_timed(graph, edge, timed):
            found[edge.index] = EdgeSchemas(schema.with_system(places) if places else schema)
            continue
        timed_here = () if schema.event_time is not None else (TIME,)
        plain = schema.with_system((*timed_here, *places)) if timed_here or places else schema
        marked = None if by_time else schema.with_system((*plain.system, WATERMARK))
        found[edge.index] = EdgeSchemas(plain, marked)
    return found


def _is_timed(graph: Graph, edge: Edge, timed: set[str]) -> bool:
    """Whether the rows of an edge have an event time, if those of the actors in `timed` have."""
    return edge.producer in timed and not without_descent(graph.actors[edge.producer], edge.output)


def inherits(
    graph: Graph,
    actor: str,
    edges: dict[int, EdgeSchemas],
    serial: SerialPlan | None = None,
    timestamp: TimestampPlan | None = None,
) -> bool:
    """Whether the rows an actor emits must carry system columns of the rows they descend from."""
    numbered = serial.producers.get(actor) if serial else None
    made = set()
    if numbered is not None:
        made.add(numbered.ordinal)
        if numbered.places:
            made.add(POSITION)
    sequenced = timestamp.producers.get(actor) if timestamp else None
    if sequenced is not None:
        made.add(sequenced.ordinal)
        if sequenced.places:
            made.update((ORIGIN, POSITION))
    return any(not made.issuperset(edges[edge.index].plain.system) for edge in graph.consumers(actor))


def marks(graph: Graph, actor: str, edges: dict[int, EdgeSchemas]) -> bool:
    """Whether rows that an actor makes of rows behind their watermark must carry it."""
    return any(edges[edge.index].marked is not None for edge in graph.consumers(actor))
