"""Order `timestamp` in one process: inboxes, the merges behind them, and sources in order."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import TYPE_CHECKING, Any

from actorstream.connectors.merged_partitions import MOST_PARTITIONS, MergedPartitions
from actorstream.events.spill import Spill
from actorstream.plan.channels import IDLE_WORD
from actorstream.runtime.ends import Ends
from actorstream.runtime.lanes import InLane
from actorstream.runtime.order import Order
from actorstream.runtime.size_policy import MERGED, rows_or
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.timestamp.inbox import TimestampInbox
from actorstream.runtime.timestamp.lane_rows import LaneRows, RowOrder
from actorstream.runtime.timestamp.merge import MergeReader, TimestampMerge
from actorstream.runtime.timestamp.merged_runs import MergedRuns
from actorstream.runtime.timestamp.one_lane import OneLane
from actorstream.runtime.timestamp.stamp import TimestampStamp
from actorstream.topology.timestamp import ORIGIN, TIMESTAMP
from actorstream.transports.local import local_channel

if TYPE_CHECKING:
    from actorstream.plan.job import Job, JobChannel
    from actorstream.runtime.inbox import Ports
    from actorstream.runtime.replica import Replica
    from actorstream.topology.plan import PlannedReplica


class TimestampOrder(Order):
    """Inputs in timestamp order, and the merges that several replicas of this process read."""

    def __init__(self, ends: Ends) -> None:
        super().__init__(ends)
        self.shared = _shared(ends)
        """By the replica that reads it."""

    @staticmethod
    def source(job: Job, source: Any, planned: PlannedReplica) -> Any:
        """Several partitions are merged by time."""
        if planned.actor not in job.timestamp.producers:
            return source
        node, slack = job.graph.actors[planned.actor], source.max_out_of_orderness
        names = source.partitions()
        share = names[planned.index :: node.replicas]
        if len(share) < 2 or len(share) > MOST_PARTITIONS or inspect.iscoroutinefunction(source.read):
            return source
        origins = {name: at for at, name in enumerate(names)}
        units = None if slack is None else node.outputs["default"].time_units_in(slack)
        return MergedPartitions(source, node.make, origins, units)

    def made(self, replica: Replica) -> None:
        described = self.job.timestamp.producers.get(replica.name)
        if described is not None:
            actor: Any = replica.actor
            sorts = actor.role == "source" and actor.max_out_of_orderness is not None
            replica.stamp = TimestampStamp(replica, described, sorts=sorts)

    def joined(self, replica: Replica) -> None:
        stamp, unit = replica.stamp, replica.unit
        if (
            not isinstance(stamp, TimestampStamp)
            or not isinstance(unit, SourceUnit)
            or replica is not unit.head
        ):
            return
        if unit.watermarks is not None and stamp.refuses("default"):
            unit.watermarks.ordered = True

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> TimestampInbox | None:
        own = [link for link in links if link.edge.index in self.job.timestamp.edges]
        if not own:
            return None
        rows: OneLane | MergeReader
        shared = self.shared.get(head.id)
        lanes = _lanes(self.ends, head, own) if shared is None else shared.lanes
        if shared is None and len(lanes) == 1:
            rows = OneLane(lanes[0], ports)
        else:
            rows = MergeReader(
                shared or _merge(self.ends, head, lanes, own), ports, own[0].channel.receive_bit
            )
        others = [link for link in links if link.edge.index not in self.job.timestamp.edges]
        sides = [self.ends.in_lane(number, link) for number, link in enumerate(others, len(lanes))]
        return TimestampInbox(rows, sides, self.ends.gate(sides, others), head.context.inputs)

    def used(self, links: list[JobChannel]) -> list[JobChannel]:
        """Into a merge that several replicas read there is the channel to the first of them."""
        return [
            link
            for link in links
            if link.edge.order != TIMESTAMP
            or link.consumer not in self.shared
            or self.ends.replicas[link.consumer].replica == 0
        ]


def _merge(
    ends: Ends, head: Replica, lanes: list[LaneRows], own: list[JobChannel], readers: int = 1
) -> TimestampMerge:
    """The merge of the lanes of a replica, or of those of all `readers` of its actor."""
    job = ends.job
    schemas = {link.edge.input: job.edge_schemas[link.edge.index].plain for link in own}
    alike = len({(schema.user.fingerprint, schema.system) for schema in schemas.values()}) == 1
    one_stream = len(schemas) == 1 or (alike and head.contract.one_stream)
    runs = MergedRuns(
        [lane.order.rank for lane in lanes],
        schemas,
        readers=readers,
        batch_size=rows_or(job.deploy, MERGED),
        ties=max(len(lane.order.columns) for lane in lanes),
        one_stream=one_stream and not any(lane.order.by_value for lane in lanes),
        as_events=not any(call.takes_batch for call in head.calls.values()),
    )
    return TimestampMerge(lanes, runs, head.row)


def _lanes(ends: Ends, head: Replica, own: list[JobChannel]) -> list[LaneRows]:
    """The lanes of links in timestamp order, each of one replica that sends."""
    job, found = ends.job, list[LaneRows]()
    counts = Counter(link.edge.index for link in own)
    offsets = _offsets(job, head)
    for index, link in enumerate(own):
        edge, channel = link.edge, ends.receivers[link.channel.id]
        producer = job.timestamp.producers[edge.producer]
        several = counts[edge.index] > 1
        idles = channel.channel.frontiers > IDLE_WORD
        order = RowOrder(
            rank=edge.input,
            replica=job.plan.replicas[link.producer].index,
            columns=producer.columns if several and not producer.by_value else (),
            by_value=several and producer.by_value,
            tie_fields=producer.tie_fields,
            shift=offsets[edge.input] if offsets else 0,
            local=not link.remote,
        )
        lane = InLane(index, edge.name, channel, ends.decoder(link), idles=idles)
        found.append(
            LaneRows(
                lane, order, Spill(f"rows of one event time of input {edge.name!r} that wait for their order")
            )
        )
    return found


class _Bell:
    """The doorbell of the channels into a merge that several replicas read; the channels are made before the merge."""

    merge: TimestampMerge

    def ring(self, bit: int) -> None:
        self.merge.wake_readers()


def _shared(ends: Ends) -> dict[int, TimestampMerge]:
    """The merges that several of this worker's replicas read, by replica. Producers use the channels to the first of these;
    `ends` has the channels from now on."""
    worker, job, found = ends.worker, ends.job, dict[int, TimestampMerge]()
    actors = [name for name, why in job.gates.items() if why == ""]
    for heads in ([each for each in ends.replicas.values() if each.name == name] for name in actors):
        if not heads:
            continue
        bell = _Bell()
        links = [link for link in ends.incoming[heads[0].id] if link.edge.index in job.timestamp.edges]
        for link in links:
            sender, receiver = local_channel(link.channel, worker, bell)
            ends.senders[link.channel.id], ends.receivers[link.channel.id] = sender, receiver
        bell.merge = _merge(ends, heads[0], _lanes(ends, heads[0], links), links, len(heads))
        bell.merge.wake = lambda reader: worker.ring(reader.bit)
        found |= dict.fromkeys((head.id for head in heads), bell.merge)
    return found


def _offsets(job: Job, head: Replica) -> tuple[int, ...]:
    """The offsets that are added to the origins of each input, by rank; (): the head's rows carry none, or new ones."""
    described = job.timestamp.producers.get(head.name)
    if described is None or described.places or ORIGIN not in described.columns:
        return ()
    return described.offsets
