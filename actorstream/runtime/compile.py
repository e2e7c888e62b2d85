"""The topology becomes a job: a checked graph, an execution plan, and the channels between its replicas.

Everything here is decided before the run, the same for every worker, and needs no process to be started.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.errors import ConfigurationError, Problem
from actorstream.metrics.counters import CounterTable
from actorstream.placement import PLACEMENTS, place
from actorstream.placement.base import channels_of, find_placement
from actorstream.runtime.dependency.compile import deployments, frontier_words, placed_wires, tree_links
from actorstream.runtime.dependency.shares import shared_out
from actorstream.runtime.edge_schemas import EdgeSchemas, listeners, wires
from actorstream.runtime.fuse import fusible
from actorstream.runtime.idleness import idle_sources
from actorstream.runtime.lanes import IDLE_WORD, SERIAL_WORD
from actorstream.runtime.orders import ORDERS
from actorstream.runtime.planning import with_programs
from actorstream.runtime.preaggregate import pre_aggregated
from actorstream.runtime.registry import registry
from actorstream.runtime.routing import FEW_ROWS
from actorstream.runtime.schedule.pooling import has_pool, kernels, needed
from actorstream.runtime.timestamp.gates import gates, own_gates
from actorstream.runtime.timestamp.merge_operators import merged_by_operators
from actorstream.scheduling import SCHEDULES
from actorstream.topology.available import Available, check_deploy
from actorstream.topology.inputs import read_inputs
from actorstream.topology.machine import Machine, read_machine
from actorstream.topology.plan import ExecutionPlan, PlannedReplica, check_plan, load_plan
from actorstream.topology.serial import SerialPlan, serial_plan
from actorstream.topology.timestamp import TimestampPlan, timestamp_plan
from actorstream.topology.validate import check_graph
from actorstream.transports.base import Channel, Fabric, HandedOver, Transport
from actorstream.transports.registry import installed_transports, load_transport

if TYPE_CHECKING:
    from actorstream.checkpoint.checkpoint import Checkpoint
    from actorstream.dgs.deployment import ProgramDeployment
    from actorstream.runtime.dependency.links import TreeLink
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge, Graph
    from actorstream.topology.spec import TopologySpec

SLOTS = 256
RUN_SLOTS = 1024
"""Of a channel whose jumbo tuples come in runs."""
MIN_SLOTS = 16
RING_ENTRIES = 1 << 16
"""Ring entries of one process's inputs in all; many channels get fewer slots each."""


@cache
def available() -> Available:
    """What this installation can run, of what a topology or deployment may name."""
    return Available(
        orders=tuple(sorted(ORDERS)),
        transports=tuple(installed_transports()),
        placements=tuple(PLACEMENTS),
        schedules=("none", *SCHEDULES),
    )


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
    plan: ExecutionPlan
    transport: type[Transport]
    counters: CounterTable
    processes: int
    links: list[Link] = field(default_factory=list)
    fused: dict[int, tuple[int, Edge]] = field(default_factory=dict)
    """Replica -> the replica that calls it directly, and by which edge."""
    wires: dict[int, EdgeSchemas] = field(default_factory=dict)
    """Edge -> what its rows look like on the way."""
    serial: SerialPlan = field(default_factory=SerialPlan)
    """Which edges are in serial order, and what their rows carry for it."""
    timestamp: TimestampPlan = field(default_factory=TimestampPlan)
    """Which edges are in timestamp order, and what their rows carry for it."""
    listens: frozenset[str] = frozenset()
    """Actors whose frontier matters to themselves or to somebody downstream."""
    idles: bool = False
    """Whether a source that somebody listens to has an `idle_timeout`."""
    restored: Checkpoint | None = None
    """What this run goes on from; None: from the beginning."""
    kernels: dict[str, float] = field(default_factory=dict)
    """Actors whose kernels go to threads -> how many of one replica's may be under way at once."""
    gates: dict[str, str] = field(default_factory=dict)
    """Actors whose replicas get the same rows in timestamp order -> why each merges them itself; "": one ScaleGate does."""
    own_gates: frozenset[str] = frozenset()
    """Actors each replica of which has a ScaleGate of its own in front of it."""
    programs: dict[str, ProgramDeployment] = field(default_factory=dict)
    """Actors with `order = "dependency"` -> their planned program."""
    tree: list[TreeLink] = field(default_factory=list)
    """Channels between workers of a synchronization plan that are in different processes."""

    @property
    def is_ordered(self) -> bool:
        """Whether some input has an order, so that one actor may wait for what another has promised."""
        return any(edge.order != "none" for actor in self.graph.actors.values() for edge in actor.inputs)

    @classmethod
    def of(cls, graph: Graph, plan: ExecutionPlan) -> Job:
        """The job that runs a plan for its graph."""
        transport = load_transport(plan.deploy.transport)
        processes = plan.deploy.workers if transport.crosses_processes else 1
        job = cls(graph, plan, transport, CounterTable(len(plan.replicas)), processes)
        job.serial = serial_plan(graph)
        job.timestamp = timestamp_plan(graph)
        job.programs = deployments(job)
        job.fused = _fused_of(job)
        job.listens = listeners(graph)
        job.idles = bool(job.listens.intersection(idle_sources(graph)))
        job.links = _links(job)
        if has_pool(plan.deploy):
            job.serial = needed(graph, job.serial)
            job.kernels = kernels(job)
        job.wires = placed_wires(job, wires(graph, job.listens, job.serial, job.timestamp))
        job.gates, job.own_gates = gates(job), own_gates(job)
        return job

    def in_runs(self, edge: int) -> bool:
        """Whether small jumbo tuples go along an edge in runs, since its consumer takes in what waits together."""
        few = self.deploy.batch_size <= FEW_ROWS and not has_pool(self.deploy)
        return few and edge in self.timestamp.edges

    @property
    def deploy(self) -> DeploySpec:
        return self.plan.deploy

    def process_of(self, replica: PlannedReplica) -> int:
        return replica.worker if self.processes > 1 else 0

    def role(self, actor: str) -> str:
        return self.graph.actors[actor].role

    def actors_of(self, process: int) -> list[str]:
        return sorted(
            {replica.actor for replica in self.plan.replicas if self.process_of(replica) == process}
        )

    @property
    def always_spin(self) -> bool:
        return self.deploy.wait == "spin" and self.spins

    @cached_property
    def spins(self) -> bool:
        """Whether every worker has a core of its own, so that spinning takes nothing from the others."""
        return self.processes <= len(os.sched_getaffinity(0))

    @property
    def has_cores(self) -> bool:
        """Whether every thread of every worker has a core of its own."""
        threads = self.processes * (self.deploy.threads + 1)
        return threads <= len(os.sched_getaffinity(0))

    @cached_property
    def fingerprint(self) -> int:
        return self.plan.fingerprint

    def make_fabric(self, options: Mapping[str, Any] = MappingProxyType({})) -> Fabric | None:
        """What the processes share; None if no channel leaves a process. ResourceError if limits are too small. `options`: of
        the transport's fabric."""
        if self.processes == 1:
            return None
        return self.transport.fabric(self.processes, self._remote(), self.fingerprint, **options)

    def take_fabric(self, handed: HandedOver) -> Fabric:
        """What the processes share, in one that was handed it. ConfigurationError: it is of another plan."""
        return self.transport.take_over(self.processes, self._remote(), self.fingerprint, handed)

    def _remote(self) -> list[Channel]:
        """The channels between processes."""
        remote = [link.channel for link in self.links if link.remote]
        return remote + [link.channel for link in self.tree]

    def collecting(self) -> list[str]:
        """Actors whose class hands what it received back to whoever started the run."""
        return [actor.name for actor in self.graph.actors.values() if actor.contract.destination == "caller"]

    def decode_collected(self, actor: str, parts: list[bytes]) -> list[Any]:
        """The events behind what a collecting sink handed over, in the order in which it received them."""
        node = self.graph.actors[actor]
        cls: Any = node.cls
        return cls.decode_collected(node.input_schemas[0], parts)  # type: ignore[no-any-return]


def read_job(
    topology: Path,
    deploy: Path | None = None,
    sets: Sequence[str] = (),
    plan_file: Path | None = None,
    planned: ExecutionPlan | None = None,
    **keys: Any,
) -> Job:
    """The job of a topology file under a deployment file. ConfigurationError lists everything wrong in both.

    `plan_file`, `planned`: a plan to be used as it is, instead of making one. `keys`: of the deployment, laid over the file."""
    if planned is None and plan_file is not None:
        planned = load_plan(plan_file)
    counts = planned.counts() if planned is not None else None
    found = read_inputs(
        topology, deploy, sets, registry=registry(), available=available(), replicas=counts, **keys
    )
    if planned is None:
        graph = running_graph(found.graph, found.deploy)
        return Job.of(graph, make_plan(graph, found.deploy))
    graph = running_graph(found.graph, planned.deploy)
    check_plan(planned, graph, str(plan_file))
    job = Job.of(graph, planned)
    _check_channels(job, str(plan_file))
    return job


def running_graph(graph: Graph, deploy: DeploySpec) -> Graph:
    """The graph that a plan is made for: a checked one with the operators that the deployment adds."""
    return merged_by_operators(pre_aggregated(graph, deploy), deploy)


def compile_job(spec: TopologySpec, deploy: DeploySpec) -> Job:
    """The job of a topology built in Python. ConfigurationError lists everything that is wrong."""
    problems: list[Problem] = []
    check_deploy(deploy, available(), spec.written, problems)
    graph = check_graph(spec, registry(), deploy, available(), problems)
    if problems or graph is None:
        raise ConfigurationError(problems)
    graph = running_graph(graph, deploy)
    return Job.of(graph, make_plan(graph, deploy))


def make_plan(graph: Graph, deploy: DeploySpec, machine: Machine | None = None) -> ExecutionPlan:
    """Places the replicas of a checked graph on a machine (this one unless given) and lays out their channels.

    The same input gives the same plan."""
    machine = machine or read_machine()
    programs, decided = with_programs(
        graph, find_placement(deploy.placement)(graph, deploy, machine), deploy.workers
    )
    plan = place(graph, deploy, machine, direct=fusible, decided=decided)
    if not programs:
        return plan
    channels = shared_out(graph, plan, programs)
    return msgspec.structs.replace(plan, dependencies=programs, channels=channels)


def _links(job: Job) -> list[Link]:
    """The plan's channels with the doorbell bits of their ends, and whether they leave the process."""
    replicas = job.plan.replicas
    inputs: dict[int, int] = defaultdict(int)
    serial_inputs: dict[int, int] = defaultdict(int)
    for planned in job.plan.channels:
        inputs[job.process_of(replicas[planned.consumer])] += 1
        serial_inputs[planned.consumer] += planned.edge in job.serial.edges
    edges = {edge.index: edge for edge in job.graph.edges}
    bits: dict[int, int] = defaultdict(int)

    def next_bit(process: int) -> int:
        bits[process] += 1
        return bits[process] - 1

    links = []
    for planned in job.plan.channels:
        sender = job.process_of(replicas[planned.producer])
        receiver = job.process_of(replicas[planned.consumer])
        most = RUN_SLOTS if job.in_runs(planned.edge) else SLOTS
        slots = planned.slots or slots_for(inputs[receiver], most)
        serial = planned.edge in job.serial.edges
        if serial:
            window = max(1, job.deploy.reorder_window // serial_inputs[planned.consumer])
            slots = min(slots, 1 << (window.bit_length() - 1))
        channel = Channel(
            id=planned.id,
            sender=sender,
            receiver=receiver,
            send_bit=next_bit(sender),
            receive_bit=next_bit(receiver),
            slots=slots,
            budget=planned.budget,
            frontiers=_words(job, edges[planned.edge], serial, replicas[planned.producer]),
        )
        links.append(
            Link(channel, edges[planned.edge], planned.producer, planned.consumer, sender != receiver)
        )
    job.tree = tree_links(job, next_bit)
    return links


def _words(job: Job, edge: Edge, serial: bool, producer: PlannedReplica) -> int:
    """Frontier words of a channel: event time, then what its consumer needs beside."""
    if serial:
        return SERIAL_WORD + 1
    if edge.consumer in job.programs:
        return frontier_words(job, edge, producer)
    if job.idles and edge.consumer in job.listens and not edge.static:
        return IDLE_WORD + 1
    return 1


def slots_for(inputs: int, most: int = SLOTS) -> int:
    """Ring entries of a channel into a process that has so many of them, at most `most`."""
    slots = most
    while slots > MIN_SLOTS and slots * inputs > RING_ENTRIES:
        slots //= 2
    return slots


def _fused_of(job: Job) -> dict[int, tuple[int, Edge]]:
    """What calls what directly, as the plan's chains say."""
    chain_of = {replica: number for number, chain in enumerate(job.plan.chains) for replica in chain}
    ids = {(replica.actor, replica.index): replica.id for replica in job.plan.replicas}
    fused = {}
    for edge in job.graph.edges:
        if fusible(job.graph, edge):
            for index in range(job.graph.actors[edge.consumer].replicas):
                up, down = ids[edge.producer, index], ids[edge.consumer, index]
                if up in chain_of and chain_of[up] == chain_of.get(down):
                    fused[down] = (up, edge)
    return fused


def _check_channels(job: Job, file: str) -> None:
    """ConfigurationError if a plan that was read has other channels than its chains leave: rows would get lost."""
    calls = {down: (up, edge.index) for down, (up, edge) in job.fused.items()}
    made = channels_of(job.graph, job.deploy, job.plan.replicas, calls)
    wanted = sorted((each.edge, each.producer, each.consumer) for each in made)
    if wanted != sorted((each.edge, each.producer, each.consumer) for each in job.plan.channels):
        message = f"has {len(job.plan.channels)} channels that are not those between its replicas and chains"
        raise ConfigurationError(
            Problem("--plan", message, f"the {len(wanted)} of a plan that was made anew", "", file)
        )
