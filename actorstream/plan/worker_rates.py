"""What a plan reaches once its replicas are dealt to workers. Pure.

The model of the paper lets the replicas of a socket share all of its cores. A worker of ours is one thread, so replicas that were
dealt to it share one core; and rows between two workers of a socket go from one core's cache to another's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.placement.base import Assignment
    from actorstream.placement.rlas.instance import Instance


@dataclass(frozen=True)
class WorkerRates:
    """`ingress`: tuples per second of all sources together. `busiest`: the worker that limits it; None: a socket or the offered
    ingress does."""

    ingress: float
    busiest: int | None


def on_workers(
    instance: Instance, places: Sequence[int], assignment: Assignment, *, pool: int = 0
) -> WorkerRates:
    """The ingress at which the busiest worker, or what limits the sockets, is just busy.

    Args:
        instance: the model with replicas placed one by one (a group for each). places: the socket of each group.
        assignment: the worker of each replica.
        pool: threads of each worker beside its loop, which share its work."""
    operators = instance.costs.dataflow.operators
    workers = [assignment[operators[each.operator].members[0], each.first] for each in instance.groups]
    busy = instance.problem.loads(places)[0].tolist()
    across = instance.machine.core_ns * 1e-9
    loads = dict.fromkeys(workers, 0.0)
    for number, worker in enumerate(workers):
        handed = sum(
            link.lines
            for link in instance.entering[number]
            if workers[link.group] != worker and places[link.group] == places[number]
        )
        loads[worker] += busy[number] + handed * across
    busiest = max(loads, key=lambda each: (loads[each], -each))
    peak, load = instance.problem.peak(places), loads[busiest] / (1 + pool)
    return WorkerRates(1 / max(load, peak, 1e-300), busiest if load > peak else None)
