"""Builds what timestamp order needs in a worker: units that merge, replicas that put rows in order, sources in order."""

from __future__ import annotations

import inspect
from collections import Counter
from typing import TYPE_CHECKING, Any

from actorstream.ordering.none import NoOrder
from actorstream.ordering.timestamp import TimestampGate
from actorstream.runtime.timestamp.lane import TimestampInLane
from actorstream.runtime.timestamp.ready_rows import ReadyRows
from actorstream.runtime.timestamp.source import MOST_PARTITIONS, MergedPartitions
from actorstream.runtime.timestamp.unit import TimestampUnit
from actorstream.topology.timestamp import ORIGIN

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.runtime.compile import Job, Link
    from actorstream.runtime.operator_unit import InLane
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.worker import Worker
    from actorstream.topology.graph import GraphActor
    from actorstream.topology.plan import PlannedReplica

UNITS_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def timestamp_unit(
    worker: Worker,
    head: Replica,
    links: list[Link],
    receivers: dict[int, Any],
    decoder: Callable[[Link], Any],
    side_lane: Callable[[int, Link], InLane],
    kind: type[TimestampUnit] = TimestampUnit,
) -> TimestampUnit | None:
    """The unit of a head with timestamp input, of some kind; None: it has none. `decoder`, `side_lane`: how other lanes
    are made."""
    job = worker.job
    plan = job.timestamp
    own = [link for link in links if link.edge.index in plan.edges]
    if not own:
        return None
    counts = Counter(link.edge.index for link in own)
    offsets = _offsets(job, head)
    lanes = []
    for index, link in enumerate(own):
        producer = plan.producers[link.edge.producer]
        several = counts[link.edge.index] > 1
        lanes.append(
            TimestampInLane(
                index,
                link.edge.name,
                receivers[link.channel.id],
                decoder(link),
                local=not link.remote,
                rank=link.edge.input,
                columns=producer.columns if several and not producer.by_value else (),
                by_value=several and producer.by_value,
                shift=offsets[link.edge.input] if offsets else 0,
            )
        )
    sides = [
        side_lane(len(lanes) + number, link)
        for number, link in enumerate(link for link in links if link.edge.index not in plan.edges)
    ]
    ties = max(len(lane.columns) for lane in lanes)
    schemas = {link.edge.input: job.wires[link.edge.index].plain for link in own}
    alike = len({schema.user.fingerprint for schema in schemas.values()}) == 1
    same_places = len({schema.system for schema in schemas.values()}) == 1
    one_stream = alike and same_places and type(head.actor).one_stream
    as_events = not any(call.takes_batch for call in head.calls.values())
    together = (
        (one_stream or len(schemas) == 1)
        and len({schema.fingerprint for schema in schemas.values()}) == 1
        and all(schema.fixed for schema in schemas.values())
        and not any(lane.by_value for lane in lanes)
        and not as_events
    )
    schema = next(iter(schemas.values())) if together else None
    for lane in lanes:
        lane.packs = schema if len(lanes) > 1 else None
    gate = TimestampGate(lanes, [lane.rank for lane in lanes], ties)
    ready_rows = ReadyRows(
        gate,
        lanes,
        batch_size=job.deploy.batch_size,
        wanted={rank: schema.system for rank, schema in schemas.items()},
        as_events=as_events,
        one_stream=one_stream,
        schema=schema,
    )
    return kind(worker, head, lanes, gate, sides, NoOrder(sides), ready_rows)


def _offsets(job: Job, head: Replica) -> tuple[int, ...]:
    """What is added to the origins of each input, by rank; (): the head's rows carry none, or new ones."""
    described = job.timestamp.producers.get(head.name)
    if described is None or described.places or ORIGIN not in described.columns:
        return ()
    return described.offsets


def timed_source(job: Job, source: Any, planned: PlannedReplica) -> Any:
    """The source that a replica reads: several partitions are merged by time."""
    node = job.graph.actors[planned.actor]
    names = source.partitions()
    share = names[planned.index :: node.replicas]
    if len(share) < 2 or len(share) > MOST_PARTITIONS or inspect.iscoroutinefunction(source.read):
        return source
    origins = {name: at for at, name in enumerate(names)}
    return MergedPartitions(source, node.make, origins, slack_of(node, source))


def slack_of(node: GraphActor, source: Any) -> int | None:
    """Units of event time that the rows of a source may be out of order; None: they must not be."""
    slack = source.max_out_of_orderness
    if slack is None:
        return None
    return round(slack.total_seconds() * UNITS_PER_SECOND[node.outputs["default"].time_unit])
