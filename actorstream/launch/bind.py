"""Binds a worker's process to the cores that the plan says, and its arena to the memory node. Decides nothing.

If the system forbids a binding, the run goes on without it, and its report says so.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorstream.control.messages import Bound
from actorstream.placement.binding import Binding, binding_of
from actorstream.topology.machine import read_machine

if TYPE_CHECKING:
    from actorstream.plan.job import Job
    from actorstream.transports.base import Transport


def bind_worker(job: Job, process: int, transport: Transport | None) -> Bound | None:
    """Binds this thread, and those that it starts, to the cores of `process`, and the arena of its transport to a node. None:
    the plan binds it to nothing.

    To be called before the process allocates what its replicas work on: the kernel gives a thread memory of the node that it
    runs on. ConfigurationError: the plan wants a node that this process may not use."""
    binding = _binding(job, process)
    if binding is None:
        return None
    _ = job.cpus  # as they are now
    refused = []
    try:
        os.sched_setaffinity(0, binding.cpus)
    except OSError as error:
        refused.append(f"sched_setaffinity: {error.strerror}")
    arena = transport.arena if transport is not None else None
    if arena is not None and (why := arena.bind(binding.memory)):
        refused.append(f"mbind: {why}")
    return Bound(process, binding.node, list(binding.cpus), binding.memory, "; ".join(refused))


def check_bindings(job: Job) -> None:
    """ConfigurationError: the plan wants a memory node of which this process may use no core."""
    for process in range(job.processes):
        _binding(job, process)


def _binding(job: Job, process: int) -> Binding | None:
    workers = {each.worker for each in job.plan.replicas if job.process_of(each) == process}
    return binding_of(job.plan, workers, read_machine())


def placement_rows(bound: Mapping[int, Bound]) -> list[dict[str, Any]]:
    """The rows of the report that say where each worker was bound."""
    return [
        {
            "worker": worker,
            "node": each.node,
            "cpus": each.cpus,
            "memory": each.memory,
            **({"refused": each.refused} if each.refused else {}),
        }
        for worker, each in sorted(bound.items())
    ]
