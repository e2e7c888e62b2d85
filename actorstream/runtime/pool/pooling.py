"""Which actors a pool of threads may run, and how many threads at once (ordered-multicore section 6). Pure decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import Actor, event_hooks, takes_batches
from actorstream.runtime.fuse import fusible, takes_messages
from actorstream.runtime.hook_shapes import is_async
from actorstream.scheduling.base import UNBOUNDED
from actorstream.topology.timestamp import TIMESTAMP

if TYPE_CHECKING:
    from collections.abc import Collection

    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge, Graph, GraphActor
    from actorstream.topology.serial import SerialPlan


def is_scheduled(deploy: DeploySpec) -> bool:
    """Whether a heuristic decides what runs next."""
    return deploy.schedule != "none"


def has_pool(deploy: DeploySpec) -> bool:
    """Whether each process has threads besides its event loop's."""
    return is_scheduled(deploy) and deploy.threads > 0


def needed(graph: Graph, serial: SerialPlan) -> SerialPlan:
    """The part of a serial order that needs numbers. Where one row follows the other on one way only, through actors of
    one replica and one input each, first in, first out is the serial order: the pool keeps it by itself."""
    numbered = {
        serial.edges[edge.index]
        for edge in graph.edges
        if edge.index in serial.edges
        and (
            graph.actors[edge.producer].replicas > 1
            or sum(not each.static for each in graph.actors[edge.consumer].inputs) > 1
        )
    }
    return replace(
        serial,
        edges={edge: point for edge, point in serial.edges.items() if point in numbered},
        producers={name: each for name, each in serial.producers.items() if each.point in numbered},
    )


def pool_limits(graph: Graph, serial: SerialPlan) -> dict[str, float]:
    """The actors that a pool may run -> how many threads may be in one replica of it at once."""
    found: dict[str, float] = {}
    for name, actor in graph.actors.items():  # in topological order
        limit = _limit_of(graph, actor, serial)
        if limit and not _stays_on_loop(graph, actor, found):
            found[name] = limit
    return found


def _stays_on_loop(graph: Graph, actor: GraphActor, limits: dict[str, float]) -> bool:
    """Whether an actor in timestamp order, without a state, is called directly by its producer on the loop: another thread
    would run it beside that, but each jumbo tuple would be handed over once more."""
    inputs = [edge for edge in actor.inputs if not edge.static]
    if len(inputs) != 1 or inputs[0].order != TIMESTAMP or not _is_stateless(actor):
        return False
    return fusible(graph, inputs[0]) and inputs[0].producer not in limits


def _is_stateless(actor: GraphActor) -> bool:
    cls: Any = actor.cls
    return bool(cls.pool_limit(actor.keys) > 1)


def _limit_of(graph: Graph, actor: GraphActor, serial: SerialPlan) -> float:
    """What an actor's class says, if the pool can keep to it: its hooks take batches and do not await, nobody sends it
    messages or timers. One that hears of event time, or does something at its start or end, runs in one thread at a
    time."""
    cls: Any = actor.cls
    limit: float = cls.pool_limit(actor.keys) if actor.role == "operator" else 0
    if limit <= 0 or takes_messages(cls) or not takes_batches(cls) or _overrides(cls, "on_timer"):
        return 0
    if any(map(is_async, [*event_hooks(cls).values(), cls.on_heartbeat])):
        return 0
    edges = [*actor.inputs, *graph.consumers(actor.name)]
    orders = {edge.order for edge in edges}
    if orders - {"none", "serial", TIMESTAMP}:
        return 0
    if TIMESTAMP in orders or any(edge.index in serial.edges for edge in edges):
        return 1  # takes and gives row after row, or number after number
    if any(_overrides(cls, hook) for hook in ("on_heartbeat", "promise", "on_end")):
        return 1
    if _overrides(cls, "on_start") and not hasattr(cls, "twin"):
        return 1
    return UNBOUNDED if limit > 1 else 1


def _overrides(cls: Any, hook: str) -> bool:
    return getattr(cls, hook) is not getattr(Actor, hook)


def kernels(graph: Graph, limits: dict[str, float], serial: SerialPlan, calls: Collection[int]) -> set[str]:
    """The actors that run on the loop's thread and whose kernels go to the pool, since these can be had apart (`prepare`,
    `link`): with a state, unless rows are numbered for them or come in timestamp order; without one, if they are called
    directly by an actor of the loop or by one of these. `calls`: edges whose consumer may be called."""
    found: set[str] = set()
    for name, actor in graph.actors.items():  # in topological order
        inputs = [edge for edge in actor.inputs if not edge.static]
        if not limits.get(name) or len(inputs) != 1 or not _prepares(actor.cls):
            continue
        (edge,) = inputs
        edges = (edge, *graph.consumers(name))
        if any(each.order == TIMESTAMP or each.index in serial.edges for each in edges):
            continue
        called = edge.index in calls and (edge.producer in found or not limits.get(edge.producer))
        if called or limits[name] <= 1:
            found.add(name)
    return found


def _prepares(cls: Any) -> bool:
    """Whether a class has `prepare` or `link` for the very hook that it has."""
    own: Any = next((vars(each) for each in cls.__mro__ if "on_batch" in vars(each)), {})
    return "prepare" in own or "link" in own


def joined(graph: Graph, near: Collection[int], *, limits: dict[str, float], serial: SerialPlan) -> set[int]:
    """Of the edges whose consumer may be called directly by its producer (`near`), those where it is if there is a pool:
    both run on the loop (if only between kernels of the pool), or any number of threads may be in either; in timestamp
    order, whoever has no state. What differs is scheduled apart, so that both run at once."""
    on_loop = kernels(graph, limits, serial, near)

    def called(edge: Edge) -> bool:
        if edge.order == TIMESTAMP and edge.producer in limits and edge.consumer in limits:
            return _is_stateless(graph.actors[edge.consumer])
        ends = {0 if name in on_loop else limits.get(name, 0) for name in (edge.producer, edge.consumer)}
        return ends in ({0}, {UNBOUNDED})

    return {edge.index for edge in graph.edges if edge.index in near and called(edge)}
