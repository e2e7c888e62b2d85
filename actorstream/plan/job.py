"""A job: everything that a worker needs to know to run its part. It is data, the same in every process."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.metrics.counters import CounterTable
from actorstream.plan.chains import ChainLink
from actorstream.plan.edge_schemas import EdgeSchemas
from actorstream.plan.pooling import has_pool
from actorstream.topology.plan import ExecutionPlan, PlannedReplica
from actorstream.topology.serial import SerialPlan
from actorstream.topology.timestamp import TimestampPlan
from actorstream.transports.base import Channel, Fabric, HandedOver, Transport

if TYPE_CHECKING:
    from actorstream.checkpoint.checkpoint import Checkpoint
    from actorstream.dgs.deployment import ProgramDeployment
    from actorstream.topology.deploy import DeploySpec
    from actorstream.topology.graph import Edge, Graph

FEW_ROWS = 64
"""Jumbo tuples of at most so many rows are made of a larger batch together, not one by one."""


class JobChannel(msgspec.Struct, frozen=True):
    """A channel of the job: which edge it belongs to, from which replica (by plan number) to which."""

    channel: Channel
    edge: Edge
    producer: int
    consumer: int
    remote: bool
    """Between processes; else it is a queue inside one."""


class TreeLink(msgspec.Struct, frozen=True):
    """A channel of the job from one worker of a plan to its parent or a child, by replica numbers of the plan."""

    channel: Channel
    actor: str
    sender: int
    receiver: int
    """Numbers of the two in the synchronization plan, from 1."""


class Job(msgspec.Struct, dict=True):
    """Everything a worker needs to know to run its part; the same object in every process.

    `processes` is 1 where the transport does not cross processes: all workers of the plan then take turns in it."""

    graph: Graph
    plan: ExecutionPlan
    transport: type[Transport]
    counters: CounterTable
    processes: int
    channels: list[JobChannel] = []
    fused: dict[int, tuple[int, Edge]] = {}
    """Replica -> the replica that calls it directly, and by which edge."""
    merged: frozenset[int] = frozenset()
    """Channels to actors of several inputs which batches need not wait in (`plan.fuse.merged_calls`)."""
    edge_schemas: dict[int, EdgeSchemas] = {}
    """Edge -> what its rows look like on the way."""
    serial: SerialPlan = msgspec.field(default_factory=SerialPlan)
    """Which edges are in serial order, and what their rows carry for it."""
    timestamp: TimestampPlan = msgspec.field(default_factory=TimestampPlan)
    """Which edges are in timestamp order, and what their rows carry for it."""
    listens: frozenset[str] = frozenset()
    """Actors whose frontier matters to themselves or to somebody downstream."""
    watermarked: frozenset[str] = frozenset()
    """Sources whose partitions have watermarks."""
    idles: bool = False
    """Whether a source that somebody listens to has an `idle_timeout`."""
    outlasted: frozenset[str] = frozenset()
    """Actors behind programs that put something out at their end. A worker of such a program says that it is idle once no event
    follows. Its root promises the end of time only after `end`."""
    restored: Checkpoint | None = None
    """What this run goes on from; None: from the beginning."""
    kernels: dict[str, float] = {}
    """Actors whose kernels go to threads -> how many of one replica's may be under way at once."""
    source_chains: dict[int, list[ChainLink]] = {}
    """Replica of a source -> the replicas behind it that may run as one native chain."""
    gates: dict[str, str] = {}
    """Actors whose replicas get the same rows in timestamp order -> why each merges them itself; "": one ScaleGate does."""
    programs: dict[str, ProgramDeployment] = {}
    """Actors with `order = "dependency"` -> their planned program."""
    tree: list[TreeLink] = []
    """Channels between workers of a synchronization plan that are in different processes."""

    @property
    def is_ordered(self) -> bool:
        """Whether some input has an order, so that one actor may wait for what another has promised."""
        return any(edge.order != "none" for actor in self.graph.actors.values() for edge in actor.inputs)

    def in_runs(self, edge: int) -> bool:
        """Whether small jumbo tuples go along an edge in runs, since its consumer takes in what waits together."""
        size = self.deploy.batch_size
        few = size != "auto" and size <= FEW_ROWS and not has_pool(self.deploy)
        return few and edge in self.timestamp.edges

    @property
    def deploy(self) -> DeploySpec:
        return self.plan.deploy

    def process_of(self, replica: PlannedReplica) -> int:
        return replica.worker if self.processes > 1 else 0

    def head_of(self, replica: int) -> int:
        """The replica whose unit a replica belongs to, since it is called directly."""
        while replica in self.fused:
            replica = self.fused[replica][0]
        return replica

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
        return self._processes_here <= self.cpus

    @property
    def has_cores(self) -> bool:
        """Whether every thread of every worker has a core of its own."""
        threads = self._processes_here * (self.deploy.threads + 1)
        return threads <= self.cpus

    @cached_property
    def cpus(self) -> int:
        """CPUs of this process's affinity mask, before it is bound to some of them."""
        return len(os.sched_getaffinity(0))

    @property
    def _processes_here(self) -> int:
        """The most workers that one host has; all of them where the deployment lists no hosts."""
        return min(self.processes, max((host.slots for host in self.deploy.hosts), default=self.processes))

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
        remote = [link.channel for link in self.channels if link.remote]
        return remote + [link.channel for link in self.tree]

    def collecting(self) -> list[str]:
        """Actors whose class hands what it received back to whoever started the run."""
        return [actor.name for actor in self.graph.actors.values() if actor.contract.destination == "caller"]

    def decode_collected(self, actor: str, parts: list[bytes]) -> list[Any]:
        """The events behind what a collecting sink handed over, in the order in which it received them."""
        node = self.graph.actors[actor]
        cls: Any = node.cls
        return cls.decode_collected(node.input_schemas[0], parts)  # type: ignore[no-any-return]
