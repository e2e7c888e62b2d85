"""Builds a worker's units from the job: instances, channels, inboxes, edges. Runs once, before the first event."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from actorstream.actors.contract import goes_with_batches
from actorstream.errors import OperatorError
from actorstream.plan.edge_schemas import inherits, marks
from actorstream.plan.fuse import merges
from actorstream.plan.pooling import has_pool
from actorstream.runtime.barriers import restore_replicas
from actorstream.runtime.ending import named
from actorstream.runtime.ends import Ends
from actorstream.runtime.fast_paths.merged_edge import MergedEdge
from actorstream.runtime.fast_paths.source_chain import SourceChain
from actorstream.runtime.operator_unit import OperatorUnit
from actorstream.runtime.order import order_classes
from actorstream.runtime.output import DirectEdge, RoutedEdge
from actorstream.runtime.replica import Replica
from actorstream.runtime.routing import make_router
from actorstream.runtime.schedule.kernel_edge import KernelEdge
from actorstream.runtime.size_policy import rows_or
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.static_inputs import StaticInputs
from actorstream.runtime.unit import Unit
from actorstream.scheduling.base import UNBOUNDED
from actorstream.windows.watermark import PartitionWatermarks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actorstream.plan.job import Job, JobChannel
    from actorstream.runtime.output import OutEdge
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.worker import Worker
    from actorstream.topology.graph import Edge
    from actorstream.topology.plan import PlannedReplica


def build_units(worker: Worker) -> list[Unit]:
    """The units of this worker's process, in topological order of their heads; fills `worker.by_bit`."""
    return _Builder(worker).build()


class _Builder:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.job: Job = worker.job
        self.replicas: dict[int, Replica] = {}
        self.units: dict[int, Unit] = {}

    def build(self) -> list[Unit]:
        job, classes = self.job, order_classes(self.job)
        mine = [each for each in job.plan.replicas if job.process_of(each) == self.worker.process]
        for planned in mine:
            self.replicas[planned.id] = self._replica(planned, self._actor(planned, classes))
        self.ends = Ends(self.worker, self.replicas)
        self.orders = self.ends.orders
        self.orders += [order(self.ends) for order in classes]
        for order in self.orders:
            for replica in self.replicas.values():
                order.made(replica)
            self.units.update(order.units())
        for planned in mine:
            if planned.id not in job.fused and planned.id not in self.units:
                self.units[planned.id] = self._unit(planned)
        for planned in mine:
            if planned.id in job.fused:
                self._head_unit(planned.id).add(self.replicas[planned.id])
        for replica in self.replicas.values():
            for order in self.orders:
                order.joined(replica)
        for source, chain in job.source_chains.items():
            unit = self.units.get(source)
            if isinstance(unit, SourceUnit):
                unit.chain = SourceChain(unit, [self.replicas[link.replica] for link in chain], chain)
        for planned in mine:
            self._static_inputs(planned)
        for planned in mine:
            self._edges(planned)
        for replica in self.replicas.values():
            replica.connected()
        for unit in self.units.values():
            unit.paused.allowed = not (job.is_ordered or unit.kernels)
        if job.restored is not None:
            restore_replicas(job.restored, self.replicas.values())
        return list(dict.fromkeys(self.units[planned.id] for planned in mine if planned.id in self.units))

    def _head_unit(self, replica: int) -> Unit:
        return self.units[self.job.head_of(replica)]

    # -- replicas and their units

    def _actor(self, planned: PlannedReplica, orders: Iterable[Any]) -> Any:
        node = self.job.graph.actors[planned.actor]
        try:
            actor: Any = node.make()
        except Exception as error:
            raise OperatorError(
                node.name, planned.index, f"its constructor raised {type(error).__name__}: {error}"
            ) from error
        for order in orders if node.role == "source" else ():
            actor = order.source(self.job, actor, planned)
        return actor

    def _replica(self, planned: PlannedReplica, actor: Any) -> Replica:
        job = self.job
        node = job.graph.actors[planned.actor]
        return Replica(
            actor,
            id=planned.id,
            name=node.name,
            replica=planned.index,
            replicas=node.replicas,
            inputs={edge.name: schema for edge, schema in zip(node.inputs, node.input_schemas)},
            outputs=node.outputs,
            on_error=node.on_error,
            inherits=inherits(job.graph, node.name, job.edge_schemas, job.serial, job.timestamp),
            marks=marks(job.graph, node.name, job.edge_schemas),
            row=job.counters.row(planned.id),
            hooked=node.name not in job.programs,
            contract=node.contract,
        )

    def _unit(self, planned: PlannedReplica) -> Unit:
        job, head = self.job, self.replicas[planned.id]
        node = job.graph.actors[planned.actor]
        if node.role == "source":
            return self._source_unit(head, planned)
        links = [link for link in self.ends.incoming[planned.id] if not link.edge.static]
        unit = OperatorUnit(
            self.worker, head, lambda ports: _first(order.inbox(head, links, ports) for order in self.orders)
        )
        unit.follow_frontier = node.name in job.listens or unit.inbox.by_time
        if self._has_kernel(node.name):
            unit.at_head = self._kernel_edge(head, links[0].edge.name, unit)
        self.worker.by_bit.update((link.channel.receive_bit, unit) for link in links)
        return unit

    def _source_unit(self, head: Replica, planned: PlannedReplica) -> SourceUnit:
        job, source = self.job, head.actor
        node = job.graph.actors[planned.actor]
        partitions = named(head, source.partitions)  # type: ignore[attr-defined]
        share = [name for number, name in enumerate(partitions) if number % node.replicas == planned.index]
        source.on_bad_row, source.share = node.on_error, share  # type: ignore[attr-defined]
        if share:
            source.origin = planned.index  # type: ignore[attr-defined] # that of the first, until it says another
        named(head, source.open, share)  # type: ignore[attr-defined]
        active = min(node.replicas, max(len(partitions), 1))
        return SourceUnit(
            self.worker,
            head,
            source,  # type: ignore[arg-type]
            rate=float(node.keys.get("rate") or source.rate or 0.0) / active,  # type: ignore[attr-defined]
            promises=node.name in job.listens,
            in_order=head.stamp is not None and head.stamp.by_time,
            watermarks=self._watermarks(source, planned.actor),
            one_partition=len(share) <= 1 or source.is_merged,  # type: ignore[attr-defined]
            heartbeat_s=job.deploy.heartbeat_every.total_seconds(),
            idle_timeout=source.idle_timeout if job.idles and node.name in job.listens else None,  # type: ignore[attr-defined]
        )

    def _watermarks(self, source: Any, actor: str) -> PartitionWatermarks | None:
        if actor not in self.job.watermarked:
            return None
        slack = source.max_out_of_orderness
        schema = self.job.graph.actors[actor].outputs["default"]
        units = schema.time_units_in(slack) if slack is not None else 0
        return PartitionWatermarks(units, ordered=getattr(source, "ordered", False))

    def _static_inputs(self, planned: PlannedReplica) -> None:
        replica, unit = self.replicas[planned.id], self._head_unit(planned.id)
        for index, link in enumerate(self.ends.incoming[planned.id]):
            if link.edge.static:
                unit.static = unit.static or StaticInputs()
                unit.static.add(replica, self.ends.in_lane(index, link))
                self.worker.by_bit[link.channel.receive_bit] = unit

    # -- edges

    def _edges(self, planned: PlannedReplica) -> None:
        job, replica, unit = self.job, self.replicas[planned.id], self._head_unit(planned.id)
        for edge in job.graph.consumers(planned.actor):
            direct = [down for down, (up, via) in job.fused.items() if up == planned.id and via is edge]
            if direct:
                replica.edges[edge.output].append(self._direct(self.replicas[direct[0]], edge, unit))
                continue
            links = self.ends.outgoing[planned.id, edge.index]
            for order in self.orders:
                links = order.used(links)
            calls = (unit.on_blocked, replica.unfit)  # once, for all lanes of the edge
            lanes: list[SendLane] = []
            for link in links:
                make = partial(self.ends.send_lane, link, *calls)
                lanes.append(_first(order.lane(link, replica, unit, make) for order in self.orders))
            unit.lanes += lanes
            unit.runs |= any(lane.runs for lane in lanes)
            self.worker.by_bit.update((link.channel.send_bit, unit) for link in links)
            arenas = (lane.framing.arena for lane in lanes)
            replica.arena = replica.arena or next((arena for arena in arenas if arena is not None), None)
            own = _first(order.edge(edge, replica, lanes) for order in self.orders)
            if own is None and any(link.channel.id in job.merged for link in links):
                own = self._merged(links[0], unit, lanes[0])
            replica.edges[edge.output].append(own or self._edge(edge, planned, unit, lanes))

    def _merged(self, link: JobChannel, unit: Unit, lane: SendLane) -> MergedEdge:
        """The edge to an actor of several inputs that takes batches at once where nothing waits."""
        taker, end = self.units[link.consumer], self.ends.receivers[link.channel.id]
        assert isinstance(taker, OperatorUnit), "its head is an operator with channels"
        edge = MergedEdge(lane, taker, next(each for each in taker.in_lanes if each.channel is end))
        unit.merged.append(edge)
        return edge

    def _direct(self, consumer: Replica, edge: Edge, unit: Unit) -> DirectEdge:
        if self._has_kernel(consumer.name):
            return self._kernel_edge(consumer, edge.name, unit)
        return DirectEdge(consumer, edge.name)

    def _has_kernel(self, name: str) -> bool:
        """Whether threads run an actor's kernels, or, without threads, it can be a link of a chain."""
        job, actor = self.job, self.job.graph.actors[name]
        if has_pool(job.deploy):
            return name in job.kernels
        inputs = sum(not each.static for each in actor.inputs)
        return (inputs == 1 and goes_with_batches(actor.cls, "link")) or merges(actor)

    def _kernel_edge(self, consumer: Replica, name: str, unit: Unit) -> KernelEdge:
        exclusive = self.job.kernels.get(consumer.name, UNBOUNDED) <= 1
        edge = KernelEdge(consumer, name, unit, self.job.deploy, exclusive=exclusive)
        if consumer.name in self.job.kernels:
            unit.kernels.append(edge)
        return edge

    def _edge(self, edge: Edge, planned: PlannedReplica, unit: Unit, lanes: list[SendLane]) -> OutEdge:
        if len(lanes) == 1:
            return lanes[0]
        router = _first(order.router(edge, unit, lanes) for order in self.orders)
        if router is None:
            deploy, consumers = self.job.deploy, self.job.graph.actors[edge.consumer].replicas
            by = partial(make_router, key_groups=deploy.key_groups, batch_size=rows_or(deploy, None))
            router = by(edge.route, edge.key, planned.index, consumers, bounds=edge.bounds)
        return RoutedEdge(router, lanes)


def _first(found: Iterable[Any]) -> Any:
    """What the first order makes of something that it concerns; None: it concerns none of them."""
    return next((each for each in found if each is not None), None)
