"""Which actors' kernels threads may run, and how many at once (ordered-multicore section 6). Pure decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import Actor, event_hooks, takes_batches
from actorstream.runtime.fuse import takes_messages
from actorstream.runtime.hook_shapes import is_async
from actorstream.scheduling.base import UNBOUNDED

if TYPE_CHECKING:
    from actorstream.runtime.compile import Job
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


def kernels(job: Job) -> dict[str, float]:
    """The actors whose kernels go to threads -> how many of one replica's may be under way at once: 1 with a state. They can
    be had apart (`prepare`, `link`), and have one input beside tables.

    What a numbering point calls directly stays on the loop: its number is over when the call returns."""
    found: dict[str, float] = {}
    called_by = _called_by(job)
    for name, actor in job.graph.actors.items():
        inputs = [edge for edge in actor.inputs if not edge.static]
        if len(inputs) != 1 or not _prepares(actor.cls):
            continue
        producers = (job.serial.producers.get(each) for each in called_by[name])
        if any(each is not None and each.numbers for each in producers):
            continue
        limit = _limit_of(job.graph, actor)
        if limit:
            found[name] = limit
    return found


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
    """What an actor's class says, if threads can keep to it: its hooks take batches and do not await, nobody sends it
    messages or timers. Of one that hears of event time, or does something at its end, one kernel is under way at a time."""
    cls: Any = actor.cls
    limit: float = cls.pool_limit(actor.keys) if actor.role == "operator" else 0
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


def _prepares(cls: Any) -> bool:
    """Whether a class has `prepare` or `link` for the very hook that it has."""
    own: Any = next((vars(each) for each in cls.__mro__ if "on_batch" in vars(each)), {})
    return "prepare" in own or "link" in own
