"""round-robin: replicas dealt to the workers one by one in topological order.

Balances numbers and ignores neighbours: even a forward chain becomes a pipeline between workers. The
heuristic that briskstream-rlas section 7 finds insufficient on machines with several memory nodes.
"""

from __future__ import annotations

from actorstream.placement.base import Assignment, replicas_of
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from actorstream.topology.machine import Machine


def round_robin(graph: Graph, deploy: DeploySpec, machine: Machine) -> Assignment:
    """The replica with id n is on worker n mod W."""
    return {replica: number % deploy.workers for number, replica in enumerate(replicas_of(graph))}
