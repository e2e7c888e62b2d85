"""What rows look like on an edge: the user's columns, and the system columns that somebody downstream needs.

Decided before the run, the same in every worker. A system column is carried only where it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from actorstream.actors.actor import Actor
from actorstream.events.schema import Schema

if TYPE_CHECKING:
    from actorstream.topology.graph import Graph

TIME = "_time"
WATERMARK = "_watermark"


@dataclass(frozen=True, slots=True)
class Wire:
    """The schemas of one edge.

    Attributes:
        plain: of most jumbo tuples.
        marked: of those with rows behind their watermark, which carry it; None if nobody downstream would look.
    """

    plain: Schema
    marked: Schema | None = None

    def of(self, fingerprint: int) -> Schema:
        """The schema that a frame says it has."""
        if self.marked is not None and fingerprint == self.marked.fingerprint:
            return self.marked
        return self.plain


def listeners(graph: Graph) -> frozenset[str]:
    """Actors to which event time matters, or to somebody downstream of them."""
    listening: set[str] = set()
    for actor in reversed(list(graph.actors.values())):
        own = actor.cls.on_heartbeat is not Actor.on_heartbeat or getattr(actor.cls, "uses_event_time", False)  # type: ignore[attr-defined]
        flows = [edge.consumer for edge in graph.consumers(actor.name) if not edge.static]
        if own or any(consumer in listening for consumer in flows):
            listening.add(actor.name)
    return frozenset(listening)


def wires(graph: Graph, listening: frozenset[str]) -> dict[int, Wire]:
    """Edge number -> its wire."""
    timed: set[str] = set()  # actors whose rows have an event time, as a field or by descent
    found: dict[int, Wire] = {}
    for actor in graph.actors.values():
        if any(edge.producer in timed for edge in actor.inputs if not edge.static):
            timed.add(actor.name)
        if any(schema.event_time is not None for name, schema in actor.outputs.items() if name != "dead"):
            timed.add(actor.name)
    for edge in graph.edges:
        schema = graph.schema(edge)
        if edge.static or edge.consumer not in listening or edge.producer not in timed:
            found[edge.index] = Wire(schema)
            continue
        plain = schema if schema.event_time is not None else schema.with_system((TIME,))
        found[edge.index] = Wire(plain, schema.with_system((*plain.system, WATERMARK)))
    return found


def inherits(graph: Graph, actor: str, edges: dict[int, Wire]) -> bool:
    """Whether the rows an actor emits must carry system columns of the rows they descend from."""
    return any(edges[edge.index].plain.system for edge in graph.consumers(actor))
