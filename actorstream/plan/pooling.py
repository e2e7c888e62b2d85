"""Decides which actors' kernels threads may run, and how many at once (ordered-multicore section 6). Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from actorstream.actors.actor import Actor, event_hooks, takes_batches
from actorstream.actors.contract import has_kernel
from actorstream.plan.fuse import takes_messages
from actorstream.plan.hook_shapes import is_async
from actorstream.scheduling.base import UNBOUNDED

if TYPE_CHECKING:
    from actorstream.plan.job import Job
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Graph, GraphActor
    from actorstream.topology.serial import SerialPlan


def is_scheduled(deploy: DeploySpec) -> bool:
    """Whether a heuristic decides what runs next."""
    return deploy.schedule != "none"


def has_pool(deploy: DeploySpec) -> bool:
    """Whether each process has threads besides its event loop's."""
    return is_scheduled(deploy) and deploy.threads > 0


def needed(graph: Graph, serial: SerialPlan) -> SerialPlan:
    """The part of a serial order that needs numbers. Through actors of one replica and one input each, first in, first out is
    the serial order already, and threads keep it."""
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


def kernels(job: Job) -> dict[str, float]:
    """The actors whose kernels go to threads -> how many of one replica may be under way at once; with a state it is 1. Such
    an actor has `prepare` or `link`, and one input beside tables.

    An actor that a numbering point calls directly stays on the loop: its number is complete when the call returns."""
    found: dict[str, float] = {}
    called_by = _called_by(job)
    for name, actor in job.graph.actors.items():
        inputs = [edge for edge in actor.inputs if not edge.static]
        if len(inputs) != 1 or not has_kernel(actor.cls):
            continue
        producers = (job.serial.producers.get(each) for each in called_by[name])
        if any(each is not None and each.numbers for each in producers):
            continue
        limit = _limit_of(job.graph, actor)
        if limit:
            found[name] = limit
    return found


def without_kernel(graph: Graph) -> dict[str, float]:
    """The actors whose contract lets threads run kernels that their class does not have -> their `pool_limit`."""
    return {
        name: actor.contract.pool_limit
        for name, actor in graph.actors.items()
        if actor.contract.pool_limit and not has_kernel(actor.cls)
    }


def _called_by(job: Job) -> dict[str, set[str]]:
    """Actor -> those that call it directly, or call one that does."""
    names = {each.id: each.actor for each in job.plan.replicas}
    found: dict[str, set[str]] = {name: set() for name in names.values()}
    for replica, name in names.items():
        while replica in job.fused:
            replica = job.fused[replica][0]
            found[name].add(names[replica])
    return found


def _limit_of(graph: Graph, actor: GraphActor) -> float:
    """The limit of an actor's contract. 0 if a hook takes events or awaits, or if the actor takes messages or timers; 1
    if the class listens to event time or has `on_end`."""
    cls: Any = actor.cls
    limit = actor.contract.pool_limit if actor.role == "operator" else 0
    if limit <= 0 or takes_messages(cls) or not takes_batches(cls) or _overrides(cls, "on_timer"):
        return 0
    if any(map(is_async, [*event_hooks(cls).values(), cls.on_heartbeat])):
        return 0
    edges = [*actor.inputs, *graph.consumers(actor.name)]
    if any(edge.order == "dependency" for edge in edges):
        return 0
    if any(_overrides(cls, hook) for hook in ("on_heartbeat", "promise", "on_end")):
        return 1
    return UNBOUNDED if limit > 1 else 1


def _overrides(cls: Any, hook: str) -> bool:
    return getattr(cls, hook) is not getattr(Actor, hook)
