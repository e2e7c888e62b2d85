"""spread: replica i of every actor on worker i mod W, so forward chains stay together (AIR section 3.3)."""

from __future__ import annotations

from actorstream.placement.base import Assignment, replicas_of
from actorstream.topology.deploy import DeploySpec
from actorstream.topology.graph import Graph
from actorstream.topology.machine import Machine


def spread(graph: Graph, deploy: DeploySpec, machine: Machine) -> Assignment:
    """Every worker runs a slice of the whole graph; forward joins replica i to i, which are together."""
    return {(actor, index): index % deploy.workers for actor, index in replicas_of(graph)}


def idle_workers(graph: Graph, deploy: DeploySpec) -> range:
    """The workers that get no replica, since each actor has fewer replicas than there are workers."""
    return range(max((actor.replicas for actor in graph.actors.values()), default=0), deploy.workers)
