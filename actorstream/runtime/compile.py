"""The topology becomes a job: a checked graph, an execution plan, and the channels between its replicas.

Everything here is decided before the run, the same for every worker, and needs no process to be started.
"""

from __future__ import annotations

import os
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from actorstream.metrics.counters import CounterTable
from actorstream.runtime.fuse import fusible
from actorstream.transports.base import Channel, Fabric, Transport
from actorstream.transports.registry import find_transport

if TYPE_CHECKING:
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge, Graph
    from actorstream.topology.plan import ExecutionPlan, PlannedReplica
    from actorstream.topology.spec import TopologySpec

SLOTS = 256
MIN_SLOTS = 16
RING_ENTRIES = 1 << 16
"""Ring entries of one process's inputs in all; many channels get fewer slots each."""


@dataclass(frozen=True, slots=True)
class Link:
    """A channel of the job: which edge it belongs to, from which replica (by plan number) to which."""

    channel: Channel
    edge: Edge
    producer: int
    consumer: int
    remote: bool
    """Between processes; else it is a queue inside one."""


@dataclass
class Job:
    """Everything a worker needs to know to run its part; the same object in every process.

    `processes` is 1 where the transport does not cross processes: all workers of the plan then take turns in it."""

    graph: Graph
    deploy: DeploySpec
    plan: ExecutionPlan
    transport: type[Transport]
    counters: CounterTable
    processes: int
    links: list[Link] = field(default_factory=list)
    fused: dict[int, tuple[int, Edge]] = field(default_factory=dict)
    """Replica -> the replica that calls it directly, and by which edge."""
    listens: frozenset[str] = frozenset()
    """Actors whose frontier matters to themselves or to somebody downstream."""

    def process_of(self, replica: PlannedReplica) -> int:
        return replica.worker if self.processes > 1 else 0

    def role(self, actor: str) -> str:
        return self.graph.actors[actor].role

    def actors_of(self, process: int) -> list[str]:
        return sorted({replica.actor for replica in self.plan.replicas if self.process_of(replica) == process})

    @property
    def always_spin(self) -> bool:
        return self.deploy.wait == "spin" and self.spins

    @cached_property
    def spins(self) -> bool:
        """Whether every worker has a core of its own, so that spinning takes nothing from the others."""
        return self.processes <= len(os.sched_getaffinity(0))

    @property
    def cores(self) -> list[set[int]]:
        """CPU set of each process, where the plan names cores; else empty."""
        return []

    @cached_property
    def fingerprint(self) -> int:
        return int(self.plan.fingerprint, 16) if isinstance(self.plan.fingerprint, str) else self.plan.fingerprint

    def make_fabric(self) -> Fabric | None:
        """What the processes share; None if no channel leaves a process. ResourceError if limits are too small."""
        channels = [link.channel for link in self.links if link.remote]
        if self.processes == 1:
            return None
        return self.transport.fabric(self.processes, channels, self.fingerprint)

    def collecting(self) -> list[str]:
        """Actors whose class hands what it received back to whoever started the run."""
        return [actor.name for actor in self.graph.actors.values() if getattr(actor.cls, "collects", False)]

    def decode_collected(self, actor: str, parts: list[bytes]) -> list[Any]:
        """The events behind what a collecting sink handed over, in the order in which it received them."""
        return self.graph.actors[actor].cls.decode_collected(self.graph.actors[actor].input_schemas[0], parts)


def compile_job(spec: TopologySpec, deploy: DeploySpec, plan: ExecutionPlan | None = None) -> Job:
    """Checks and plans a topology. ConfigurationError lists everything that is wrong."""
    from actorstream.runtime.registry import registry
    from actorstream.topology.validate import build_graph

    graph = build_graph(spec, registry(), deploy)
    return plan_job(graph, deploy, plan)


def plan_job(graph: Graph, deploy: DeploySpec, plan: ExecutionPlan | None = None) -> Job:
    """Places a checked graph (unless `plan` says where things go) and lays out its channels."""
    from actorstream.placement import place

    transport = find_transport(deploy.transport)
    plan = plan or place(graph, deploy)
    processes = deploy.workers if transport.crosses_processes else 1
    job = Job(graph, deploy, plan, transport, CounterTable(len(plan.replicas)), processes)
    replicas: dict[str, list[PlannedReplica]] = defaultdict(list)
    for replica in plan.replicas:
        replicas[replica.actor].append(replica)
    job.fused = _fused(job, replicas)
    job.links = _links(job, replicas)
    job.listens = _listeners(graph)
    return job


def _fused(job: Job, replicas: dict[str, list[PlannedReplica]]) -> dict[int, tuple[int, Edge]]:
    fused = {}
    if job.deploy.pipelining:
        for edge in job.graph.edges:
            if not fusible(job.graph, edge):
                continue
            pairs = list(zip(replicas[edge.producer], replicas[edge.consumer]))
            if all(job.process_of(up) == job.process_of(down) for up, down in pairs):
                fused.update({down.id: (up.id, edge) for up, down in pairs})
    return fused


def _links(job: Job, replicas: dict[str, list[PlannedReplica]]) -> list[Link]:
    pairs = [
        (edge, up, down)
        for edge in job.graph.edges
        for up in replicas[edge.producer]
        for down in replicas[edge.consumer]
        if not (down.id in job.fused and job.fused[down.id][1] is edge)
        and not (edge.route == "forward" and down.index != up.index % len(replicas[edge.consumer]))
    ]
    producers: dict[tuple[int, int], int] = defaultdict(int)
    inputs: dict[int, int] = defaultdict(int)
    for edge, _, down in pairs:
        producers[edge.index, down.id] += 1
        inputs[job.process_of(down)] += 1
    bits: dict[int, int] = defaultdict(int)

    def next_bit(process: int) -> int:
        bits[process] += 1
        return bits[process] - 1

    links = []
    for number, (edge, up, down) in enumerate(pairs):
        sender, receiver = job.process_of(up), job.process_of(down)
        slots = SLOTS
        while slots > MIN_SLOTS and slots * inputs[receiver] > RING_ENTRIES:
            slots //= 2
        channel = Channel(
            id=number,
            sender=sender,
            receiver=receiver,
            send_bit=next_bit(sender),
            receive_bit=next_bit(receiver),
            slots=slots,
            budget=max(job.deploy.edge_bytes // producers[edge.index, down.id], 1),
        )
        links.append(Link(channel, edge, up.id, down.id, sender != receiver))
    return links


def _listeners(graph: Graph) -> frozenset[str]:
    """Actors that listen to heartbeats, and everything upstream of them."""
    from actorstream.actors.actor import Actor

    listening: set[str] = set()
    for actor in reversed(list(graph.actors.values())):
        own = actor.cls.on_heartbeat is not Actor.on_heartbeat or getattr(actor.cls, "uses_event_time", False)
        if own or any(edge.consumer in listening for edge in graph.consumers(actor.name)):
            listening.add(actor.name)
    return frozenset(listening)

