"""What programs add to a job before the run: the channels between workers of a plan, and the places that rows carry.

Pure; the same in every process.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from actorstream.plan.job import TreeLink
from actorstream.topology.serial import POSITION
from actorstream.transports.base import Channel

if TYPE_CHECKING:
    from actorstream.dgs.deployment import ProgramDeployment
    from actorstream.plan.edge_schemas import EdgeSchemas
    from actorstream.plan.job import Job, JobChannel
    from actorstream.topology.graph import Edge
    from actorstream.topology.plan import PlannedReplica

STREAM_WORD = 3
"""The first frontier word of a channel that belongs to a stream."""
SLOTS = 64
BUDGET = 1 << 20
"""Of each of the two channels between a worker and its parent. A larger state is admitted alone."""


def deployments(job: Job) -> dict[str, ProgramDeployment]:
    """Actor -> its program, as it was planned."""
    if not job.plan.dependencies:
        return {}
    from actorstream.dgs.deployment import ProgramDeployment

    found = {}
    for planned in job.plan.dependencies:
        node = job.graph.actors[planned.actor]
        found[planned.actor] = ProgramDeployment(node.make(), planned)
    return found


def tree_links(job: Job, next_bit: Callable[[int], int]) -> list[TreeLink]:
    """The channels between workers of plans that are in different processes; their numbers follow the plan's."""
    found: list[TreeLink] = []
    replicas = {(each.actor, each.index): each for each in job.plan.replicas}
    for planned in job.plan.dependencies:
        process = {
            number: job.process_of(replicas[planned.actor, number - 1])
            for number in range(1, len(planned.workers) + 1)
        }
        for number, worker in enumerate(planned.workers, 1):
            if not worker.parent or process[number] == process[worker.parent]:
                continue
            for sender, receiver in ((number, worker.parent), (worker.parent, number)):
                channel = Channel(
                    id=len(job.plan.channels) + len(found),
                    sender=process[sender],
                    receiver=process[receiver],
                    send_bit=next_bit(process[sender]),
                    receive_bit=next_bit(process[receiver]),
                    slots=SLOTS,
                    budget=BUDGET,
                )
                found.append(TreeLink(channel, planned.actor, sender, receiver))
    return found


def streams_from(deployment: ProgramDeployment, input: str, replica: int, replicas: int) -> list[int]:
    """Numbers of the streams that one replica of an input's producer brings."""
    return [
        number
        for number, stream in enumerate(deployment.streams)
        if stream.input == input and (stream.partition < 0 or stream.partition % replicas == replica)
    ]


def output_groups(job: Job, links: Iterable[JobChannel]) -> list[list[int]]:
    """Of the channels into a replica those whose rows have an order with each other: outputs of workers of one plan, by an
    edge. Indices into `links`; a channel in no group has no order with any other."""
    groups: dict[tuple[Edge, frozenset[int]], list[int]] = defaultdict(list)
    for index, link in enumerate(links if job.programs else ()):
        if group := _group(job, link):
            groups[link.edge, group].append(index)
    return list(groups.values())


def _group(job: Job, link: JobChannel) -> frozenset[int]:
    """The workers of a plan whose outputs have an order with those of a channel's sender; none: it has no such."""
    edge = link.edge
    if edge.static or edge.producer not in job.programs:
        return frozenset()
    producer, consumer = job.graph.actors[edge.producer], job.graph.actors[edge.consumer]
    if edge.route == "forward" and consumer.replicas == producer.replicas:  # each has one worker's outputs
        return frozenset()
    groups = job.programs[edge.producer].output_groups
    number = job.plan.replicas[link.producer].index + 1
    return next((group for group in groups if number in group), frozenset())


class StreamWords(NamedTuple):
    """The frontier words that speak of one stream on a channel to a worker of a plan.

    Attributes:
        promise: nothing before this time follows.
        first, last: times of its first row, and of the last so far; 0: nobody asks, since the program has no ticks.
    """

    promise: int
    first: int = 0
    last: int = 0


def stream_words(deployment: ProgramDeployment, streams: list[int]) -> dict[int, StreamWords]:
    """Stream -> its words, of those that a producer's replica brings. Word 0 is the least promise of all of them, and the
    only one where there is one stream and no ticks."""
    count = len(streams)
    if deployment.ticks:
        return {
            stream: StreamWords(
                STREAM_WORD + place, STREAM_WORD + count + 2 * place, STREAM_WORD + count + 2 * place + 1
            )
            for place, stream in enumerate(streams)
        }
    if count == 1:
        return {streams[0]: StreamWords(0)}
    return {stream: StreamWords(STREAM_WORD + place) for place, stream in enumerate(streams)}


def frontier_words(job: Job, edge: Edge, producer: PlannedReplica) -> int:
    """How many frontier words a channel to a worker of a plan has."""
    deployment = job.programs[edge.consumer]
    replicas = job.graph.actors[edge.producer].replicas
    streams = streams_from(deployment, edge.name, producer.index, replicas)
    return 1 + max((max(words) for words in stream_words(deployment, streams).values()), default=0)


def positioned(deployment: ProgramDeployment) -> set[str]:
    """Inputs whose rows must carry their place in the stream: two tags of one stream depend on each other there."""
    found = set()
    for tag, planned in zip(deployment.tags, deployment.planned.tags):
        if planned.stream < 0:
            continue
        if any(deployment.ranks[other] == planned.stream for other in deployment.dependence.on(tag)):
            found.add(deployment.streams[planned.stream].input)
    return found


def with_positions(job: Job, schemas: dict[int, EdgeSchemas]) -> dict[int, EdgeSchemas]:
    """The schemas of a job's edges, with the positions that rows carry to programs. Where all consumers of a
    source are programs, its rows have no watermark."""
    for name, deployment in job.programs.items():
        needed = positioned(deployment)
        for edge in job.graph.actors[name].inputs:
            if edge.name in needed:
                plain = schemas[edge.index].plain
                with_place = plain.with_system((*plain.system, POSITION))
                schemas[edge.index] = replace(schemas[edge.index], plain=with_place, marked=None)
            elif all(each.consumer in job.programs for each in job.graph.consumers(edge.producer)):
                schemas[edge.index] = replace(schemas[edge.index], marked=None)
    return schemas
