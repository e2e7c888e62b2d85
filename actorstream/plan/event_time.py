"""To which actors event time matters, and which of them are behind sources that may fall silent. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.actors.actor import Actor
from actorstream.topology.timestamp import TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from actorstream.topology.graph import Graph, GraphActor


def listeners(graph: Graph) -> frozenset[str]:
    """Actors to which event time matters, or to somebody downstream of them."""
    listening: set[str] = set()
    for actor in reversed(list(graph.actors.values())):
        own = actor.cls.on_heartbeat is not Actor.on_heartbeat or actor.contract.uses_event_time  # type: ignore[attr-defined]
        flows = [edge.consumer for edge in graph.consumers(actor.name) if not edge.static]
        ordered = any(edge.order == TIMESTAMP for edge in actor.inputs)
        if own or ordered or any(consumer in listening for consumer in flows):
            listening.add(actor.name)
    return frozenset(listening)


def idle_sources(graph: Graph) -> list[str]:
    """Sources that have an `idle_timeout`."""
    return [
        actor.name
        for actor in graph.actors.values()
        if actor.role == "source"
        and (actor.keys.get("idle_timeout") or getattr(actor.cls, "idle_timeout", None)) is not None
    ]


def behind_idle_sources(graph: Graph) -> frozenset[str]:
    """Actors that rows of such a source can reach, and these sources."""
    return _reached(graph, idle_sources(graph))


def behind_ends(graph: Graph) -> frozenset[str]:
    """Actors that rows of a program's `end` can reach, and these programs. Such rows come behind those of
    all events."""
    return _reached(graph, [name for name, actor in graph.actors.items() if has_end(actor)])


def has_end(actor: GraphActor) -> bool:
    """Whether an actor is a program that puts something out at its end."""
    return actor.planning is not None and hasattr(actor.cls, "end")


def _reached(graph: Graph, producers: Iterable[str]) -> frozenset[str]:
    found = set(producers)
    for actor in graph.actors.values():
        if any(edge.producer in found for edge in actor.inputs if not edge.static):
            found.add(actor.name)
    return frozenset(found)


def watermarked(graph: Graph, listening: frozenset[str], programs: Collection[str]) -> frozenset[str]:
    """Sources whose partitions have watermarks: event time matters, and rows have one. To programs alone, rows promise for
    their streams themselves."""
    return frozenset(
        actor.name
        for actor in graph.actors.values()
        if actor.role == "source"
        and actor.name in listening
        and actor.outputs["default"].event_time is not None
        and any(edge.consumer not in programs for edge in graph.consumers(actor.name))
    )
