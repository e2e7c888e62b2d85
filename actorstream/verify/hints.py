"""Why a topology's output may depend on time or chance, as far as it says so itself. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.errors import ConfigurationError, Problem
from actorstream.plan.event_time import idle_sources
from actorstream.verify.sinks import ORDERED, is_settled

if TYPE_CHECKING:
    from actorstream.topology.graph import Graph, GraphActor


def time_hints(graph: Graph) -> list[str]:
    """What makes the output depend on the clock."""
    found = [
        f"{actor.name} has a rate: what it promises of event time follows the clock, so late rows may differ"
        for actor in graph.sources()
        if _key(actor, "rate") is not None
    ]
    found += [
        f"{name} has an idle_timeout: what comes after it was silent may be late, or not"
        for name in idle_sources(graph)
    ]
    found += [
        f"{actor.name} {actor.contract.clock_note}"
        for actor in graph.actors.values()
        if actor.contract.clock_note
    ]
    return found


def order_hints(graph: Graph) -> list[str]:
    """Actors that may depend on an order which nothing keeps."""
    found = []
    for actor in graph.actors.values():
        if actor.role == "operator" and _is_sensitive(actor) and _is_mixed(graph, actor):
            several = " and ".join(
                f"{edge.producer} (×{graph.actors[edge.producer].replicas})"
                for edge in actor.inputs
                if not edge.static
            )
            found.append(
                f"{actor.name} takes rows of {several} as they come: if it depends on their order, "
                f'say order = "serial" or "timestamp" at its inputs'
            )
    return found


def _is_mixed(graph: Graph, actor: GraphActor) -> bool:
    flows = [edge for edge in actor.inputs if not edge.static]
    if all(edge.order in ORDERED for edge in flows):
        return False
    return len(flows) > 1 or not is_settled(graph, flows[0].producer)


def _is_sensitive(actor: GraphActor) -> bool:
    told = actor.contract.order_sensitive
    return not actor.contract.stateless if told is None else told


def endless(graph: Graph) -> list[Problem]:
    """Sources that say themselves that they do not end."""
    found = []
    for actor in graph.sources():
        if actor.contract.endless:
            message = "has no end, and a run must end to be compared"
            hint = f"for example --set actors.{actor.name}.count=100000"
            found.append(Problem(f"actors.{actor.name}", message, "a source with a count", hint))
    return found


def check_ends(graph: Graph) -> None:
    """ConfigurationError lists the sources that do not end."""
    problems = endless(graph)
    if problems:
        raise ConfigurationError(problems)


def _key(actor: GraphActor, name: str) -> Any:
    value = actor.keys.get(name)
    return getattr(actor.cls, name, None) if value is None and name in ("rate",) else value
