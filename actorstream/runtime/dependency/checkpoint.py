"""Checkpoints of a program: a consistent cut through the workers of a plan, and how a run goes on from it. Nobody waits.

A cut begins where a barrier comes in first, from a source, a neighbour or the root itself, and goes through all workers
of the process at once: what they have is kept, and a mark goes to every neighbour behind the messages sent so far. Until
its own barrier or mark has come, what a source or a neighbour brings belongs to the checkpoint too (docs/dgs.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.checkpoint.store import values_of
from actorstream.dgs.checkpoint_state import KeptRows, KeptWorker, joined_state
from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.holdings import states, unfinished
from actorstream.dgs.messages import Mark, StateDown, StateUp
from actorstream.dgs.state_bytes import packed, unpacked
from actorstream.events.batch import Batch
from actorstream.events.jumbo import from_bytes, to_bytes
from actorstream.metrics.counters import Counter
from actorstream.runtime.dependency.tag_lane import HeldFrame, TagLane, held_ticks
from actorstream.topology.serial import POSITION
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from actorstream.checkpoint.checkpoint import Checkpoint, ReplicaState
    from actorstream.dgs.messages import Message
    from actorstream.events.schema import Schema
    from actorstream.runtime.dependency.links import Neighbour
    from actorstream.runtime.dependency.workers import TreeWorker
    from actorstream.runtime.unit import Unit


class WorkerCut:
    """What one worker keeps at a cut: the states and events that it has now, and what comes on the channels in `open`."""

    def __init__(self, worker: TreeWorker) -> None:
        self.worker = worker
        self.open: set[TagLane | Neighbour] = {*worker.lanes, *worker.neighbours}
        self.states: dict[int, bytes] = {}
        self.rows: dict[int, list[Batch]] = {}
        self.ticks = {tag: ticks.kept() for tag, ticks in worker.ticks.items()}
        self.done = worker.protocol.done
        for child, state in states(worker.protocol):
            self.add_state(child, state)
        for tag, item in unfinished(worker.protocol):
            self.add_rows(tag, item.rest())

    def add_rows(self, tag: int, batch: Batch) -> None:
        """Events of a tag that are not processed before the cut."""
        self.rows.setdefault(tag, []).append(batch)

    def add_state(self, child: int, state: Any) -> None:
        """The state of all that a child handles; -1: the worker. It is packed at once, because it will be changed."""
        worker = self.worker
        number = worker.number if child < 0 else worker.below[child]
        self.states[number] = packed(state, f"{worker.replica.name}, w{worker.number}")


class PlanCheckpoints:
    """The checkpoints of one unit that are being made.

    Args:
        workers: of the program's plan, those in this process.
        wires: by input, what its rows look like on the way.
    """

    def __init__(
        self,
        unit: Unit,
        workers: Sequence[TreeWorker],
        deployment: ProgramDeployment,
        wires: Mapping[str, Schema],
    ) -> None:
        self.unit, self.workers, self.deployment, self.wires = unit, workers, deployment, wires
        self.cuts: dict[int, list[WorkerCut]] = {}
        """By barrier, the cuts that are not whole yet."""

    def reached(self, channel: TagLane | Neighbour, barrier: int) -> None:
        """All that a channel brings before a barrier has come."""
        if barrier > self.unit.barrier:
            self.take(barrier)
        for cut in self.cuts.get(barrier, ()):
            cut.open.discard(channel)
        self.complete()

    def rows(self, lane: TagLane, tag: int, batch: Batch) -> None:
        """Rows have come: they belong to each cut whose barrier has not come on their lane."""
        for cut in self._open_on(lane):
            cut.add_rows(tag, batch)

    def message(self, neighbour: Neighbour, message: Message) -> None:
        """A neighbour's message has come; a state belongs to each cut whose mark has not come."""
        if isinstance(message, StateUp | StateDown):
            for cut in self._open_on(neighbour):
                cut.add_state(neighbour.child, message.state)

    def _open_on(self, channel: TagLane | Neighbour) -> list[WorkerCut]:
        return [cut for cuts in self.cuts.values() for cut in cuts if channel in cut.open]

    def take(self, barrier: int) -> None:
        """The cut: between two steps of any worker here."""
        unit = self.unit
        unit.barrier = barrier
        for replica in unit.members:
            replica.dispatch()
        self.cuts[barrier] = [WorkerCut(each) for each in self.workers]
        for each in self.workers:
            for neighbour in each.neighbours:
                if not neighbour.closed:
                    neighbour.send([Mark(barrier)], at_once=False)
        own = {each.replica for each in self.workers}
        for replica in unit.members:
            replica.row[Counter.BARRIERS] += 1
            if replica not in own:
                unit.worker.barriers.snapshot(replica, barrier)
        unit.control(FrameKind.BARRIER, barrier)
        self.complete()

    def complete(self, *, over: bool = False) -> None:
        """Hands over what is whole. `over`: nothing follows any more, so all of it is."""
        for barrier, cuts in list(self.cuts.items()):
            for cut in list(cuts):
                if over or all(channel.closed for channel in cut.open):
                    self.unit.worker.barriers.snapshot(cut.worker.replica, barrier, self._kept(cut))
                    cuts.remove(cut)
            if not cuts:
                del self.cuts[barrier]

    def of_ended(self, worker: TreeWorker) -> KeptWorker:
        """What a worker keeps that has ended before a barrier came."""
        return self._kept(WorkerCut(worker))

    def _kept(self, cut: WorkerCut) -> KeptWorker:
        tags = self.deployment.tags
        return KeptWorker(
            cut.done,
            cut.states,
            tuple(self._rows(tag, batches) for tag, batches in cut.rows.items()),
            {str(tags[tag]): ticks for tag, ticks in cut.ticks.items()},
        )

    def _rows(self, tag: int, batches: list[Batch]) -> KeptRows:
        name = self.deployment.tags[tag]
        if name in self.deployment.ticks:
            ticks: list[Any] = [tick for batch in batches for tick in batch.events()]
            return KeptRows(str(name), times=tuple(tick.time for tick in ticks))
        stream = self.deployment.streams[self.deployment.ranks[name]]
        return KeptRows(str(name), to_bytes(batches, self.wires[stream.input]))


class RestoredProgram:
    """What a checkpoint has of one program: its one state, and the events that were not processed, for whatever plan.

    Attributes:
        done: it had ended: there is no state.
    """

    def __init__(self, checkpoint: Checkpoint, actor: str, deployment: ProgramDeployment) -> None:
        self.deployment = deployment
        self.kept_plan = checkpoint.programs[actor].plan
        workers = [
            kept_worker(each)
            for each in sorted(checkpoint.replicas, key=lambda each: each.index)
            if each.actor == actor
        ]
        self.done = workers[0].done
        self._states = {number: state for each in workers for number, state in each.states.items()}
        self._rows: dict[str, list[KeptRows]] = {}
        for rows in (rows for each in workers for rows in each.rows):
            self._rows.setdefault(rows.tag, []).append(rows)
        self._ticks = {tag: ticks for each in workers for tag, ticks in each.ticks.items()}

    def state(self) -> Any:
        """The root's, joined by the plan that the checkpoint is of."""
        before = ProgramDeployment(self.deployment.program, self.kept_plan)
        return joined_state(before, self._states, unpacked)

    def give(self, worker: TreeWorker, wires: Mapping[str, Schema]) -> None:
        """Gives a worker what was kept of its tags. `wires`: as of `PlanCheckpoints`."""
        deployment, protocol = self.deployment, worker.protocol
        protocol.done = worker.replica.ended = self.done
        for tag in deployment.tree.worker(worker.number).tags:
            number, text, ticks = deployment.tags.index(tag), str(tag), tag in deployment.ticks
            for rows in self._rows.get(text, ()):
                if ticks:
                    protocol.insert(number, np.array(rows.times, np.int64), held_ticks(rows.times))
                    continue
                wire = wires[deployment.streams[deployment.ranks[tag]].input]
                batch = Batch.from_jumbo(wire, from_bytes(rows.rows))
                times: Any = batch.event_times()
                places = batch.system[POSITION].data if POSITION in batch.system else None
                protocol.insert(number, times, HeldFrame(batch, times), places, checked=True)
            if ticks and text in self._ticks:
                following, bound = self._ticks[text]
                worker.ticks[number].take_back(following, bound)
                protocol.promise(number, bound)


def kept_worker(replica: ReplicaState) -> KeptWorker:
    """What a checkpoint has of one worker of a plan."""
    return msgspec.convert(values_of(replica)["unit"], KeptWorker)
