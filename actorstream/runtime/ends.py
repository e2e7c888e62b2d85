"""The ends of channels that one process has, and the lanes on them. Which unit uses a lane is decided elsewhere."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import takes_batches
from actorstream.events.batch import Batch
from actorstream.ordering.causal import CausalOrder
from actorstream.ordering.none import NoOrder
from actorstream.plan.channels import IDLE_WORD
from actorstream.plan.program_channels import output_groups
from actorstream.runtime.fast_paths.single_events import (
    row_format,
    single_decoder,
    single_sender,
    single_taker,
)
from actorstream.runtime.framing import Framing, handed_over
from actorstream.runtime.lanes import InLane
from actorstream.runtime.send_lane import SendLane
from actorstream.runtime.size_policy import MOST, gathered_size, rows_or
from actorstream.transports.local import local_channel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from actorstream.events.row_format import RowFormat
    from actorstream.plan.job import JobChannel
    from actorstream.runtime.order import Order
    from actorstream.runtime.ports import WorkerPort
    from actorstream.runtime.replica import Replica
    from actorstream.transports.base import Frame, ReceiveChannel, SendChannel


class Ends:
    """What orders see of a process while it is built.

    Attributes:
        replicas: those of this process, by number.
        senders, receivers: the ends of channels, by number: between replicas, and between workers of synchronization plans.
        incoming: replica -> its channels. outgoing: replica and edge -> their channels.
        orders: those of this process.
    """

    def __init__(self, worker: WorkerPort, replicas: Mapping[int, Replica]) -> None:
        self.worker, self.job, self.replicas = worker, worker.job, replicas
        self.orders: list[Order] = []
        self.senders: dict[int, SendChannel] = {}
        self.receivers: dict[int, ReceiveChannel] = {}
        self.incoming: dict[int, list[JobChannel]] = defaultdict(list)
        self.outgoing: dict[tuple[int, int], list[JobChannel]] = defaultdict(list)
        self._decoders: dict[tuple[int, bool, bool], Callable[[Frame], Batch]] = {}
        self._open()

    def _open(self) -> None:
        transport, here = self.worker.transport, self.worker.process
        remote = [link.channel for link in self.job.tree]
        for link in self.job.channels:
            channel = link.channel
            self.incoming[link.consumer].append(link)
            self.outgoing[link.producer, link.edge.index].append(link)
            if link.remote:
                remote.append(channel)
            elif channel.sender == here:
                ends = local_channel(channel, self.worker, self.worker)
                self.senders[channel.id], self.receivers[channel.id] = ends
        for channel in remote if transport is not None else ():
            if channel.sender == here:
                self.senders[channel.id] = transport.sender(channel)  # type: ignore[union-attr]
            if channel.receiver == here:
                self.receivers[channel.id] = transport.receiver(channel)  # type: ignore[union-attr]

    def decoder(self, link: JobChannel, single: bool = True) -> Callable[[Frame], Batch]:
        """How what comes on a channel becomes rows: one function for all channels of an edge that are alike. `single`: whether
        single events may come by themselves."""
        rows = self._row_format(link) if single else None
        alike = (link.edge.index, link.remote, rows is not None)
        if alike not in self._decoders:
            schemas = self.job.edge_schemas[link.edge.index]
            if rows is not None:
                self._decoders[alike] = single_decoder(schemas.plain, rows)
            elif link.remote:
                self._decoders[alike] = lambda frame: Batch.from_jumbo(
                    schemas.of(frame.schema), frame.payload, frame.first, frame.rows
                )
            else:
                self._decoders[alike] = handed_over
        return self._decoders[alike]

    def in_lane(self, index: int, link: JobChannel) -> InLane:
        """The receiving lane of a channel. `index`: its place among those of its unit."""
        channel, decode = self.receivers[link.channel.id], self.decoder(link)
        if link.channel.frontiers > IDLE_WORD:
            return InLane(index, link.edge.name, channel, decode, idles=True)
        rows = self._row_format(link)
        if rows is None or self._takes_batches(link):
            return InLane(index, link.edge.name, channel, decode)
        single, watch = single_taker(channel, rows), channel.watch_events(rows)
        return InLane(index, link.edge.name, channel, decode, single, watch)

    def gate(self, lanes: list[InLane], links: Sequence[JobChannel]) -> NoOrder | CausalOrder:
        """Decides between lanes that have no order but that of a program's outputs, whatever the order of other inputs."""
        groups = output_groups(self.job, links)
        return CausalOrder(lanes, groups) if groups else NoOrder(lanes)

    def send_lane(
        self,
        link: JobChannel,
        on_blocked: Callable[[SendLane], None],
        unfit: Callable[[Exception], Exception],
        **options: Any,
    ) -> SendLane:
        """The sending lane of a channel. `options`: what its order says; see `SendLane` for all of them."""
        transport, channel = self.worker.transport, self.senders[link.channel.id]
        schemas, rows = self.job.edge_schemas[link.edge.index], self._row_format(link)
        fingerprint = schemas.plain.fingerprint
        reads = self.job.graph.actors[link.edge.producer].role == "source"
        framing = Framing(
            transport.arena if link.remote and transport is not None else None,
            encodes=link.remote,
            schemas=schemas,
            plan=self.job.fingerprint,
            producer=link.producer,
            to_events=not self._takes_batches(link),
            unfit=unfit,
        )
        lane = SendLane(
            channel,
            framing,
            batch_size=rows_or(self.job.deploy, MOST),
            sizing=gathered_size(self.job.deploy, link.channel, schemas.plain.row_bytes),
            on_blocked=on_blocked,
            single=single_sender(channel, rows, fingerprint, link.producer),
            send_event=channel.events(rows, fingerprint, link.producer) if reads and rows else None,
            **options,
        )
        lane.runs = self.job.in_runs(link.edge.index)
        return lane

    def _takes_batches(self, link: JobChannel) -> bool:
        return takes_batches(self.job.graph.actors[link.edge.consumer].cls)

    def _row_format(self, link: JobChannel) -> RowFormat | None:
        """How a single event travels by itself on a channel; None: it does not."""
        transport = self.worker.transport
        if not link.remote or transport is None or any(order.is_numbered(link) for order in self.orders):
            return None
        return row_format(self.job.edge_schemas[link.edge.index], link.edge.order, transport.row_bytes)
