"""Builds the unit of a program's workers in one process, and the edges that lead to them. Once, before the first event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from actorstream.connectors.file_source import FileSource
from actorstream.dgs.message_bytes import Codec
from actorstream.dgs.protocols import protocol_of
from actorstream.dgs.ticks import Ticks
from actorstream.plan.program_channels import StreamWords, positioned, stream_words, streams_from
from actorstream.runtime.dependency.calls import ProgramCalls
from actorstream.runtime.dependency.checkpoint import PlanCheckpoints, RestoredProgram
from actorstream.runtime.dependency.links import Neighbour
from actorstream.runtime.dependency.single_events import DirectEvents
from actorstream.runtime.dependency.tag_edge import TagEdge, TagStream
from actorstream.runtime.dependency.tag_lane import TagLane
from actorstream.runtime.dependency.unit import ProgramUnit
from actorstream.runtime.dependency.workers import PlanWorkers, TreeWorker
from actorstream.runtime.lanes import InLane
from actorstream.runtime.source_unit import SourceUnit

if TYPE_CHECKING:
    from actorstream.dgs.deployment import ProgramDeployment
    from actorstream.plan.job import Job, JobChannel
    from actorstream.runtime.ends import Ends
    from actorstream.runtime.replica import Replica
    from actorstream.topology.graph import Edge


class ProgramBuilder:
    """Builds what one actor's plan needs in the process that `ends` are of."""

    def __init__(self, ends: Ends, actor: str) -> None:
        self.ends, self.worker, self.actor = ends, ends.worker, actor
        self.job: Job = ends.job
        self.deployment: ProgramDeployment = self.job.programs[actor]
        self.owners = {
            number: self.deployment.responsible[tag] for number, tag in enumerate(self.deployment.tags)
        }
        self.positioned = positioned(self.deployment)
        self.tickers = {self.deployment.responsible[tag] for tag in self.deployment.ticks}
        """Workers that are responsible for ticks."""
        self._here: dict[int, TreeWorker] = {}
        """Workers of the plan in this process, by number."""
        self._unit: ProgramUnit | None = None

    # -- the workers

    def unit(self, replicas: Sequence[Replica]) -> ProgramUnit:
        """The unit of the replicas that are in this process."""
        workers = [self._tree_worker(replica) for replica in replicas]
        plan = PlanWorkers(workers, self.deployment.tree)
        self._here = plan.by_number
        unit = self._unit = ProgramUnit(self.worker, plan)
        listens = self.job.listens
        unit.follows = self.actor in listens and any(
            edge.consumer in listens for edge in self.job.graph.consumers(self.actor)
        )
        wires = {
            edge.name: self.job.edge_schemas[edge.index].plain
            for edge in self.job.graph.actors[self.actor].inputs
        }
        unit.checkpoints = plan.checkpoints = PlanCheckpoints(unit, workers, self.deployment, wires)
        checkpoint, restored = self.job.restored, None
        if checkpoint is not None and not checkpoint.ended:
            restored = RestoredProgram(checkpoint, self.actor, self.deployment)
        for each in workers:
            for link in self.ends.incoming[each.replica.id]:
                self._add_lane(unit, each, link)
            lanes_of: dict[int, list[tuple[TagLane, int]]] = defaultdict(list)
            for lane in each.lanes:
                for word, tags in lane.words.items():
                    for tag in tags:
                        lanes_of[tag].append((lane, word))
            each.lanes_of = {tag: found for tag, found in lanes_of.items() if len(found) > 1}
            if restored is not None:
                restored.give(each, wires)
            if each.number == 1:
                unit.wants = each.calls.wants
                if restored is None or not restored.done:
                    each.protocol.start(each.calls.first() if restored is None else restored.state())
        self._add_neighbours(unit)
        return unit

    def _tree_worker(self, replica: Replica) -> TreeWorker:
        deployment, number = self.deployment, replica.replica + 1
        calls: Any = ProgramCalls(replica, deployment, number)
        adding = self.job.deploy.checkpoint is None
        protocol = protocol_of(deployment, number, calls, placed=self.positioned, adding=adding)
        unit_ns = self.job.graph.actors[self.actor].input_schemas[0].time_unit_ns
        found = TreeWorker(number, calls, protocol)
        found.ticks = {
            deployment.tags.index(tag): Ticks(every, unit_ns)
            for tag, every in deployment.ticks.items()
            if deployment.responsible[tag] == number
        }
        return found

    def _add_lane(self, unit: ProgramUnit, each: TreeWorker, link: JobChannel) -> None:
        decode = self.ends.decoder(link, single=False)
        streams = self._words(link.edge, self.job.plan.replicas[link.producer].index)
        lane = TagLane(
            InLane(len(each.lanes), link.edge.name, self.ends.receivers[link.channel.id], decode),
            {
                words.promise: [tag for tag in self._tags_of(stream) if self.owners[tag] == each.number]
                for stream, words in streams.items()
            },
            positioned=link.edge.name in self.positioned,
            checkpoints=unit.checkpoints,
        )
        each.lanes.append(lane)
        if each.number in self.tickers:
            each.tick_streams += [(lane, stream, words) for stream, words in streams.items()]
        self.worker.by_bit[link.channel.receive_bit] = unit

    def _words(self, edge: Edge, replica: int) -> dict[int, StreamWords]:
        """Stream -> the frontier words that speak of it, of those that a replica of the producer brings."""
        replicas = self.job.graph.actors[edge.producer].replicas
        return stream_words(self.deployment, streams_from(self.deployment, edge.name, replica, replicas))

    def _tags_of(self, stream: int) -> list[int]:
        """Numbers of the tags of a stream."""
        return [number for number, tag in enumerate(self.deployment.planned.tags) if tag.stream == stream]

    def _add_neighbours(self, unit: ProgramUnit) -> None:
        """Adds the parents and children of workers here that are in other processes."""
        transport, watches = self.worker.transport, self.worker.turns.watches
        arena = None if transport is None else transport.arena
        links = {(link.sender, link.receiver): link for link in self.job.tree if link.actor == self.actor}
        for (number, other), link in links.items():
            each = self._here.get(number)
            if each is None:
                continue
            out, into = link.channel, links[other, number].channel
            child = each.below.index(other) if other in each.below else -1
            state = self.deployment.state_class(number if child < 0 else other)
            codec = Codec(state, f"{self.actor}, w{number}", unit.clock)
            ends = self.ends.senders[out.id], self.ends.receivers[into.id]
            each.add(Neighbour(child, *ends, codec, arena=arena, watches=watches))
            self.worker.by_bit[out.send_bit] = self.worker.by_bit[into.receive_bit] = unit

    # -- the edges to them

    def edge(self, edge: Edge, replica: Replica, lanes: Sequence[Any]) -> TagEdge:
        """The edge from a replica to the workers; `lanes` by index of the worker."""
        actor: Any = replica.actor
        unit = replica.unit
        streams = self._words(edge, replica.replica)
        by_field = any(self.deployment.streams[stream].field for stream in streams)
        if isinstance(unit, SourceUnit):
            for number in {self.owners[tag] for stream in streams for tag in self._tags_of(stream)}:
                if number in self._here:
                    self._here[number].sources.append(unit)
        derived = isinstance(actor, FileSource) or (
            isinstance(unit, SourceUnit) and unit.watermarks is not None
        )
        found = TagEdge(
            self.deployment.classifier(edge.name),
            lanes,
            [
                TagStream(
                    self.deployment.streams[stream].name,
                    words,
                    self.deployment.streams[stream].partition,
                    {tag: self.owners[tag] - 1 for tag in self._tags_of(stream)},
                    sorted(number - 1 for number in self.tickers),
                )
                for stream, words in streams.items()
            ],
            lambda: getattr(actor, "origin", 0),
            # what a source derives from its rows holds for a partition, not for each stream in it
            promises=not (by_field and derived),
            positioned=edge.name in self.positioned,
            where=f"{replica.name} -> {self.actor}",
        )
        if isinstance(unit, SourceUnit) and self.worker.turns.watches:
            for stream, words in streams.items():
                found.direct.update(self._direct(lanes, self._tags_of(stream), words))
        return found

    def _direct(
        self, lanes: Sequence[Any], tags: Sequence[int], words: StreamWords
    ) -> Iterator[tuple[int, DirectEvents]]:
        """Where single events are left for workers here, by their tags, which come on one lane only."""
        for tag in tags:
            each = self._here.get(self.owners[tag])
            if each is None or tag in each.lanes_of or self._unit is None:
                continue
            channel = lanes[self.owners[tag] - 1].channel.channel
            for lane in each.lanes:
                if lane.lane.channel.channel is channel:
                    yield tag, DirectEvents(self._unit, each, lane, tag, words.promise)
