"""Whose results hang on the order in which rows come together, where nothing has been said of it. Pure; for notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.topology.graph import Graph, GraphActor


def by_arrival(graph: Graph) -> dict[str, str]:
    """Actor -> what of its results is up to arrival: those whose contract says so, and whose
    rows come in no order by several ways."""
    several: set[str] = set()
    found: dict[str, str] = {}
    for actor in graph.actors.values():  # producers first
        if _ways(actor, several):
            several.add(actor.name)
        what = actor.contract.arrival_note
        flows = [edge for edge in actor.inputs if not edge.static]
        together = len(flows) > 1 or any(edge.producer in several for edge in flows)
        if what and together and any(edge.order == "none" for edge in flows):
            found[actor.name] = what
    return found


def _ways(actor: GraphActor, several: set[str]) -> bool:
    """Whether rows reach whoever reads this actor by several ways."""
    if actor.replicas > 1:
        return True
    flows = [edge for edge in actor.inputs if not edge.static]
    unordered = [edge for edge in flows if edge.order == "none"]
    return len(unordered) > 1 or any(edge.producer in several for edge in unordered)
