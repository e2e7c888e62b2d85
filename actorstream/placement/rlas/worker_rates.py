"""Computes how many tuples a plan lets in once its replicas are dealt to workers. Pure.

The model of the paper lets the replicas of a socket share all of its cores. A worker of ours is one thread, so replicas that were
dealt to it share one core. And the paper passes references between threads, where a row that leaves a worker of ours is written
for another process: that costs the producer a hop, and the consumer the way from one core's cache to another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.placement.rlas.instance import GroupLink, Instance


@dataclass(frozen=True)
class WorkerRates:
    """`ingress`: tuples per second of all sources together. `busiest`: the worker that limits it; None: a socket or the offered
    ingress does."""

    ingress: float
    busiest: int | None


def on_workers(
    instance: Instance, places: Sequence[int], workers: Sequence[int], *, pool: int = 0
) -> WorkerRates:
    """The ingress at which the busiest worker, or what limits the sockets, is just busy.

    Args:
        instance: the model with replicas placed one by one (a group for each). places: the socket of each group.
        workers: the worker of each group.
        pool: threads of each worker beside its loop, which share its work."""
    busy = instance.problem.loads(places)[0].tolist()
    loads = dict.fromkeys(workers, 0.0)
    for number, worker in enumerate(workers):
        loads[worker] += busy[number]
        for link in instance.entering[number]:
            if workers[link.group] != worker:
                loads[workers[link.group]] += sending(instance, link, places[link.group])
                loads[worker] += (places[link.group] == places[number]) * receiving(instance, link)
    busiest = max(loads, key=lambda each: (loads[each], -each))
    peak, load = instance.problem.peak(places), loads[busiest] / (1 + pool)
    return WorkerRates(1 / max(load, peak, 1e-300), busiest if load > peak else None)


def sending(instance: Instance, link: GroupLink, socket: int) -> float:
    """Seconds per tuple of ingress that a producer on `socket` takes more if the consumer is in another worker."""
    clock = instance.costs.hertz / instance.machine.sockets[socket].hertz
    return link.tuples * instance.costs.hops[link.flow] * 1e-9 * clock


def receiving(instance: Instance, link: GroupLink) -> float:
    """Seconds per tuple of ingress that a consumer takes more if the producer is in another worker of its socket."""
    return link.lines * instance.machine.core_ns * 1e-9
