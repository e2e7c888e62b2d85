"""Builds a worker's units from the job: instances, channels, gates, edges. Runs once, before the first event."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import takes_batches
from actorstream.actors.operator_errors import operator_error
from actorstream.errors import OperatorError
from actorstream.events.batch import Batch
from actorstream.plan.channels import IDLE_WORD
from actorstream.plan.edge_schemas import inherits
from actorstream.runtime.channels import open_channels
from actorstream.runtime.fast_paths.single_events import (
    row_format,
    single_decoder,
    single_sender,
    single_taker,
)
from actorstream.runtime.framing import handed_over
from actorstream.runtime.lanes import InLane
from actorstream.runtime.operator_unit import OperatorUnit
from actorstream.runtime.order import Ends, Order, order_classes
from actorstream.runtime.output import DirectEdge, RoutedEdge
from actorstream.runtime.replica import Replica
from actorstream.runtime.restoring import restore_replicas
from actorstream.runtime.routing import make_router
from actorstream.runtime.schedule.kernel_edge import KernelEdge
from actorstream.runtime.send_lane import SendLane
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.static_inputs import StaticInputs
from actorstream.runtime.timestamp.order import UNITS_PER_SECOND, timed_source
from actorstream.runtime.timestamp.stamp import TimestampStamp
from actorstream.runtime.unit import Unit
from actorstream.windows.watermark import PartitionWatermarks

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.row_format import RowFormat
    from actorstream.plan.job import Job, JobChannel
    from actorstream.runtime.inbox import Inbox, Ports
    from actorstream.runtime.worker import Worker
    from actorstream.topology.graph import Edge
    from actorstream.topology.plan import PlannedReplica
    from actorstream.transports.base import Frame, ReceiveChannel, SendChannel


order_classes()
"""They are imported here, before workers are forked, so that not each worker imports them again."""


def build_units(worker: Worker) -> list[Unit]:
    """The units of this worker's process, in topological order of their heads; fills `worker.by_bit`."""
    return _Builder(worker).build()


class _Builder:
    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self.job: Job = worker.job
        self.replicas: dict[int, Replica] = {}
        self.units: dict[int, Unit] = {}
        self.senders: dict[int, SendChannel] = {}
        self.receivers: dict[int, ReceiveChannel] = {}
        self.orders: list[Order] = []
        self._decoders: dict[tuple[int, bool, bool], Callable[[Frame], Batch]] = {}
        self.outgoing: dict[tuple[int, int], list[JobChannel]] = defaultdict(list)  # by producer and edge

    def build(self) -> list[Unit]:
        job = self.job
        mine = [each for each in job.plan.replicas if job.process_of(each) == self.worker.process]
        for planned in mine:
            self.replicas[planned.id] = self._replica(planned)
        self.senders, self.receivers = open_channels(self.worker)
        incoming: dict[int, list[JobChannel]] = defaultdict(list)
        for link in job.channels:
            incoming[link.consumer].append(link)
            self.outgoing[link.producer, link.edge.index].append(link)
        ways = (self.senders, self.receivers, incoming, self._decoder, self._in_lane)
        ends = Ends(self.worker, self.replicas, *ways)
        self.orders = [order(ends) for order in order_classes()]
        for order in self.orders:
            self.units.update(order.units())
        for planned in mine:
            if planned.id not in job.fused and planned.id not in self.units:
                self.units[planned.id] = self._unit(planned, incoming[planned.id])
        for planned in mine:
            if planned.id in job.fused:
                self._head_unit(planned.id).add(self.replicas[planned.id])
        for planned in mine:
            for order in self.orders:
                order.joined(self.replicas[planned.id])
        for planned in mine:
            self._static_inputs(planned, incoming[planned.id])
        for planned in mine:
            self._edges(planned)
        for replica in self.replicas.values():
            replica.connected()
        for unit in self.units.values():
            unit.may_pause = not (job.is_ordered or unit.kernels)
        if job.restored is not None:
            restore_replicas(job.restored, self.replicas.values())
        return list(dict.fromkeys(self.units[planned.id] for planned in mine if planned.id in self.units))

    def _head_unit(self, replica: int) -> Unit:
        while replica in self.job.fused:
            replica = self.job.fused[replica][0]
        return self.units[replica]

    def _replica(self, planned: PlannedReplica) -> Replica:
        node = self.job.graph.actors[planned.actor]
        try:
            actor = node.make()
        except Exception as error:
            raise OperatorError(
                node.name, planned.index, f"its constructor raised {type(error).__name__}: {error}"
            ) from error
        if node.role == "sink" and node.input_schemas:
            actor.input_schema = node.input_schemas[0]
        sequenced = self.job.timestamp.producers.get(node.name)
        if sequenced is not None and node.role == "source":
            actor = timed_source(self.job, actor, planned)
        replica = Replica(
            actor,
            id=planned.id,
            name=node.name,
            replica=planned.index,
            replicas=node.replicas,
            inputs={edge.name: schema for edge, schema in zip(node.inputs, node.input_schemas)},
            outputs=node.outputs,
            on_error=node.on_error,
            inherits=inherits(
                self.job.graph, node.name, self.job.edge_schemas, self.job.serial, self.job.timestamp
            ),
            row=self.job.counters.row(planned.id),
            hooked=node.name not in self.job.programs,
            contract=node.contract,
        )
        if sequenced is not None:
            sorts = node.role == "source" and getattr(actor, "max_out_of_orderness", None) is not None
            replica.stamp = TimestampStamp(replica, sequenced, sorts=sorts)
        return replica

    def _unit(self, planned: PlannedReplica, links: list[JobChannel]) -> Unit:
        job, head = self.job, self.replicas[planned.id]
        node = job.graph.actors[planned.actor]
        if node.role == "source":
            return self._source_unit(head, planned, node.keys)
        links = [link for link in links if not link.edge.static]
        unit = OperatorUnit(self.worker, head, lambda ports: self._inbox(head, links, ports))
        unit.follow_frontier = node.name in job.listens or unit.inbox.by_time
        if node.name in job.kernels:
            unit.at_head = self._kernel_edge(head, links[0].edge.name, unit)
        self.worker.by_bit.update((link.channel.receive_bit, unit) for link in links)
        return unit

    def _inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> Inbox:
        """What the first order that the inputs concern makes of them."""
        found = (order.inbox(head, links, ports) for order in self.orders)
        return next(inbox for inbox in found if inbox is not None)

    def _in_lane(self, index: int, link: JobChannel) -> InLane:
        channel = self.receivers[link.channel.id]
        rows = self._row_format(link)
        takes_events = not takes_batches(self.job.graph.actors[link.edge.consumer].cls)
        if link.channel.frontiers > IDLE_WORD:
            return InLane(index, link.edge.name, channel, self._decoder(link), idles=True)
        return InLane(
            index,
            link.edge.name,
            channel,
            self._decoder(link),
            single_taker(channel, rows) if takes_events else None,
            channel.watch_events(rows) if takes_events and rows is not None else None,
        )

    def _static_inputs(self, planned: PlannedReplica, links: list[JobChannel]) -> None:
        replica = self.replicas[planned.id]
        unit = self._head_unit(planned.id)
        for index, link in enumerate(links):
            if link.edge.static:
                unit.static = unit.static or StaticInputs()
                unit.static.add(replica, self._in_lane(index, link))
                self.worker.by_bit[link.channel.receive_bit] = unit

    def _source_unit(self, head: Replica, planned: PlannedReplica, keys: dict[str, Any]) -> SourceUnit:
        job, source = self.job, head.actor
        node = job.graph.actors[planned.actor]
        partitions = _opening(head, source.partitions)  # type: ignore[attr-defined]
        share = [name for number, name in enumerate(partitions) if number % node.replicas == planned.index]
        source.on_bad_row = node.on_error  # type: ignore[attr-defined]
        _opening(head, source.open, share)  # type: ignore[attr-defined]
        active = min(node.replicas, max(len(partitions), 1))
        rate = float(keys.get("rate") or 0.0) / active
        return SourceUnit(
            self.worker,
            head,
            source,  # type: ignore[arg-type]
            batch_size=job.deploy.batch_size,
            rate=rate,
            promises=node.name in job.listens,
            in_order=head.stamp is not None and head.stamp.by_time,
            watermarks=self._watermarks(source, planned.actor),
            one_partition=len(share) <= 1 or source.is_merged,  # type: ignore[attr-defined]
            heartbeat_s=job.deploy.heartbeat_every.total_seconds(),
            idle_timeout=source.idle_timeout if job.idles and node.name in job.listens else None,  # type: ignore[attr-defined]
        )

    def _watermarks(self, source: Any, actor: str) -> PartitionWatermarks | None:
        schema = self.job.graph.actors[actor].outputs["default"]
        consumers = self.job.graph.consumers(actor)
        if all(edge.consumer in self.job.programs for edge in consumers):
            return None  # rows promise for their streams themselves
        if actor not in self.job.listens or schema.event_time is None:
            return None
        slack = source.max_out_of_orderness
        units = round(slack.total_seconds() * UNITS_PER_SECOND[schema.time_unit]) if slack is not None else 0
        return PartitionWatermarks(units, ordered=getattr(source, "ordered", False))

    def _decoder(self, link: JobChannel, single: bool = True) -> Callable[[Frame], Batch]:
        """How what comes on a channel becomes rows: one function for all channels of an edge that are alike."""
        rows = self._row_format(link) if single else None
        known = (
            link.edge.index,
            link.remote,
            rows is not None,
        )  # rows of one edge may travel singly on some channels only
        if known not in self._decoders:
            self._decoders[known] = self._new_decoder(link, rows)
        return self._decoders[known]

    def _new_decoder(self, link: JobChannel, rows: RowFormat | None) -> Callable[[Frame], Batch]:
        schemas = self.job.edge_schemas[link.edge.index]
        if rows is not None:
            return single_decoder(schemas.plain, rows)
        if link.remote:
            return lambda frame: Batch.from_jumbo(
                schemas.of(frame.schema), frame.payload, frame.first, frame.rows
            )
        return handed_over

    def _edges(self, planned: PlannedReplica) -> None:
        job, replica = self.job, self.replicas[planned.id]
        node = job.graph.actors[planned.actor]
        unit = self._head_unit(planned.id)
        for edge in job.graph.consumers(node.name):
            direct = [down for down, (up, via) in job.fused.items() if up == planned.id and via is edge]
            if direct:
                replica.edges[edge.output].append(self._direct(self.replicas[direct[0]], edge, unit))
                continue
            links = self.outgoing[planned.id, edge.index]
            for order in self.orders:
                links = order.used(links)
            calls = (unit.on_blocked, replica.unfit)  # once, for all lanes of the edge
            lanes = [self._lane(link, replica, unit, *calls) for link in links]
            unit.lanes += lanes
            self.worker.by_bit.update((link.channel.send_bit, unit) for link in links)
            replica.arena = replica.arena or next(
                (lane.framing.arena for lane in lanes if lane.framing.arena is not None), None
            )
            made = (order.edge(edge, replica, lanes) for order in self.orders)
            own = next((each for each in made if each is not None), None)
            if own is None:
                several = len(lanes) > 1
                own = RoutedEdge(self._router(edge, planned, unit, lanes), lanes) if several else lanes[0]
            replica.edges[edge.output].append(own)

    def _direct(self, consumer: Replica, edge: Edge, unit: Unit) -> DirectEdge:
        kernels = consumer.name in self.job.kernels
        return self._kernel_edge(consumer, edge.name, unit) if kernels else DirectEdge(consumer, edge.name)

    def _kernel_edge(self, consumer: Replica, name: str, unit: Unit) -> KernelEdge:
        exclusive = self.job.kernels[consumer.name] <= 1
        unit.kernels.append(KernelEdge(consumer, name, unit, self.job.deploy, exclusive=exclusive))
        return unit.kernels[-1]

    def _lane(
        self,
        link: JobChannel,
        replica: Replica,
        unit: Unit,
        on_blocked: Callable[[SendLane], None],
        unfit: Callable[[Exception], Exception],
    ) -> SendLane:
        transport = self.worker.transport
        arena = transport.arena if link.remote and transport is not None else None
        channel, schemas = self.senders[link.channel.id], self.job.edge_schemas[link.edge.index]
        rows = self._row_format(link)
        reads = self.job.graph.actors[link.edge.producer].role == "source"
        said = ((each, each.lane(link, replica, unit)) for each in self.orders)
        order, options = next((each, found) for each, found in said if found is not None)
        lane = SendLane(
            channel,
            arena,
            encodes=link.remote,
            schemas=schemas,
            plan=self.job.fingerprint,
            producer=link.producer,
            batch_size=self.job.deploy.batch_size,
            on_blocked=on_blocked,
            unfit=unfit,
            to_events=not takes_batches(self.job.graph.actors[link.edge.consumer].cls),
            single=single_sender(channel, rows, schemas.plain.fingerprint, link.producer),
            send_event=channel.events(rows, schemas.plain.fingerprint, link.producer)
            if reads and rows
            else None,
            **options,
        )
        order.sends(lane, link, replica, unit)
        lane.runs = self.job.in_runs(link.edge.index)
        unit.runs |= lane.runs
        return lane

    def _row_format(self, link: JobChannel) -> RowFormat | None:
        """How a single event travels by itself on a channel."""
        transport = self.worker.transport
        numbered = any(order.is_numbered(link) for order in self.orders)
        if not link.remote or transport is None or numbered:
            return None
        return row_format(self.job.edge_schemas[link.edge.index], link.edge.order, transport.row_bytes)

    def _router(self, edge: Edge, planned: PlannedReplica, unit: Unit, lanes: list[SendLane]) -> Any:
        for order in self.orders:
            router = order.router(edge, unit, lanes)
            if router is not None:
                return router
        return make_router(
            edge.route,
            edge.key,
            planned.index,
            self.job.graph.actors[edge.consumer].replicas,
            key_groups=self.job.deploy.key_groups,
            batch_size=self.job.deploy.batch_size,
            bounds=edge.bounds,
        )


def _opening(head: Replica, method: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return method(*arguments)
    except Exception as error:
        raise operator_error(head.name, head.replica, None, error) from error
