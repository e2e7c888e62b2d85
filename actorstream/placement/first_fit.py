"""first-fit: a worker is filled in topological order before the next one (briskstream-rlas section 5, "FF").

Neighbours end up together where they fit; without measured costs every replica counts the same.
"""

from __future__ import annotations

from actorstream.placement.base import Assignment, forward_groups
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from actorstream.topology.machine import Machine


def first_fit(graph: Graph, deploy: DeploySpec, machine: Machine) -> Assignment:
    """Forward chains (replica i of each of their actors) go as one into the first worker with room for them.

    A worker has room for ceil(replicas / workers); a chain that fits nowhere goes to the emptiest worker."""
    total = sum(actor.replicas for actor in graph.actors.values())
    room = [-(-total // deploy.workers)] * deploy.workers
    found: Assignment = {}
    for group in forward_groups(graph):
        for index in range(graph.actors[group[0]].replicas):
            fits = (worker for worker, left in enumerate(room) if left >= len(group))
            worker = next(fits, max(range(deploy.workers), key=lambda each: (room[each], -each)))
            room[worker] -= len(group)
            found.update({(actor, index): worker for actor in group})
    return found
