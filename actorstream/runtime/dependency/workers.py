"""The workers of a plan in one process: what comes to them, and the messages between them. It reads no clock and never waits;
what may happen when is decided in `dgs/worker.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.dgs.message_bytes import Clock
from actorstream.dgs.messages import Mark, Promise, Request
from actorstream.runtime.dependency.tag_lane import held_ticks
from actorstream.transports.base import FRONTIER_MIN

if TYPE_CHECKING:
    from actorstream.dgs.messages import Message, ToChild
    from actorstream.dgs.plan import SynchronizationPlan
    from actorstream.dgs.ticks import Ticks
    from actorstream.dgs.worker import WorkerProtocol
    from actorstream.plan.program_channels import StreamWords
    from actorstream.runtime.dependency.calls import ProgramCalls
    from actorstream.runtime.dependency.checkpoint import PlanCheckpoints
    from actorstream.runtime.dependency.links import Neighbour
    from actorstream.runtime.dependency.tag_lane import TagLane
    from actorstream.runtime.ports import Promising
    from actorstream.runtime.send_lane import SendLane

EVERYTHING = 1 << 62
"""More bytes than any budget: a channel admits so many once everything before was consumed, and rings the doorbell then."""


class TreeWorker:
    """One worker of the plan here: its protocol, its lanes, and where its neighbours are.

    A parent or child is another TreeWorker of this process, or a `Neighbour` in another one."""

    def __init__(self, number: int, calls: ProgramCalls, protocol: WorkerProtocol) -> None:
        self.number, self.calls, self.protocol = number, calls, protocol
        self.replica = calls.replica
        self.lanes: list[TagLane] = []
        self.lanes_of: dict[int, list[tuple[TagLane, int]]] = {}
        """Tags that come on several lanes, and the frontier words that promise for them on each."""
        self.parent: TreeWorker | None = None
        self.which = 0
        """The number of this worker among its parent's children."""
        self.below: list[int] = []
        """The numbers of its children."""
        self.children: list[TreeWorker | None] = []
        self.up: Neighbour | None = None
        self.down: list[Neighbour | None] = []
        self.neighbours: list[Neighbour] = []
        """Those of `up` and `down` that there are."""
        self.ticks: dict[int, Ticks] = {}
        """Tags of the ticks that this worker is responsible for."""
        self.tick_streams: list[tuple[TagLane, int, StreamWords]] = []
        """Frontier words that tell how far each stream is, if this worker is responsible for ticks."""
        self.sources: list[Promising] = []
        """The sources in this process that bring its rows."""
        self.outputs: list[SendLane] = []
        """Lanes on which its outputs have an order with those of other workers."""
        self.awaited: list[SendLane] = []
        """Those of them whose transport may deliver what follows from an output before the output itself."""
        self.queued = False
        self.promised = FRONTIER_MIN

    def put_out(self) -> bool:
        """Sends the worker's outputs where they must go before any message about its state; returns whether this is done: there
        was room for all of them, and their consumer has those that it might see too late."""
        self.calls.hand_on()
        cleared = [lane.clear() for lane in self.outputs]
        return all(cleared) and all(lane.channel.admits(EVERYTHING) for lane in self.awaited)

    def add(self, neighbour: Neighbour) -> None:
        self.neighbours.append(neighbour)
        if neighbour.child < 0:
            self.up = neighbour
        else:
            self.down[neighbour.child] = neighbour


class PlanWorkers:
    """The workers of a plan that are in this process.

    Attributes:
        queue: workers that may have something to do; the last one first.
        last_heard: the worker that the last message came to and the neighbour that it came from, if the process can wait for
            that one's next message; heard: whether that message came since this was set to False.
        checkpoints: those of the unit; set before the first turn.
        requested_below: whether a message that makes others wait was sent to another process since this was set to False.
    """

    checkpoints: PlanCheckpoints

    def __init__(self, workers: list[TreeWorker], tree: SynchronizationPlan) -> None:
        self.workers = workers
        self.by_number = {each.number: each for each in workers}
        self.clock = Clock()
        self.queue: list[TreeWorker] = []
        self.last_heard: tuple[TreeWorker, Neighbour] | None = None
        self.heard = False
        self.requested_below = False
        self._requested: dict[TreeWorker, int | None] = {}
        """Workers that the parent has asked for their state, with the tag of the request."""
        self.held: list[TreeWorker] = []
        """Workers that must not send messages before there is room for their outputs."""
        for each in workers:
            self.enqueue(each)
            each.below = tree.children(each.number)
            each.children = [self.by_number.get(number) for number in each.below]
            each.down = [None] * len(each.below)
            for which, child in enumerate(each.children):
                if child is not None:
                    child.parent, child.which = each, which

    def enqueue(self, worker: TreeWorker) -> None:
        """The worker may have something to do."""
        if not worker.queued:
            worker.queued = True
            self.queue.append(worker)

    # -- what comes in

    def take_rows(self, worker: TreeWorker) -> None:
        """Gives a worker the slices, heartbeats and ticks that have come."""
        for lane in worker.lanes:
            if lane.take_in(worker.protocol):
                self.enqueue(worker)
                for word in lane.risen:
                    _promise(worker, lane, word)
        if worker.ticks:
            self._tick(worker)

    def _tick(self, worker: TreeWorker) -> None:
        """Makes the ticks that have become certain."""
        known = [((lane.lane.index, of), *lane.course(words)) for lane, of, words in worker.tick_streams]
        for tag, ticks in worker.ticks.items():
            before = ticks.bound
            for stream, first, last, bound in known:
                ticks.moved(stream, first, last, bound)
            times = ticks.due()
            if times:
                worker.protocol.insert(tag, np.array(times, np.int64), held_ticks(times))
            if ticks.bound > before:
                worker.protocol.promise(tag, ticks.bound)
                self.enqueue(worker)

    def take_messages(self, worker: TreeWorker) -> None:
        """Gives a worker the messages of neighbours in other processes that have come."""
        for neighbour in worker.neighbours:
            for message in neighbour.take():
                self.take_message(worker, neighbour, message)

    def take_message(self, worker: TreeWorker, neighbour: Neighbour, message: Message) -> None:
        """Takes a message of a neighbour in another process."""
        if type(message) is Mark:
            self.checkpoints.reached(neighbour, message.barrier)
            return
        if self.checkpoints.cuts:
            self.checkpoints.message(neighbour, message)
        child = neighbour.child
        if child < 0:
            self._hear(worker, message)  # type: ignore[arg-type]
        elif worker.protocol.from_child(child, message):  # type: ignore[arg-type]
            self.enqueue(worker)
        if neighbour.wait is not None:
            self.last_heard, self.heard = (worker, neighbour), True

    def _hear(self, worker: TreeWorker, message: ToChild) -> None:
        """Gives a worker a message of its parent."""
        if not worker.protocol.from_parent(message):
            self.deliver(worker, more=False)
            return
        if worker.sources and type(message) is Request:
            self._requested[worker] = message.tag
        self.enqueue(worker)

    def hurry_sources(self) -> bool:
        """Has sources of this process promise what they can if a request waits for that; returns whether there were any."""
        if not self._requested:
            return False
        waiting = [each for each, tag in self._requested.items() if each.protocol.mailbox.waits(tag)]
        self._requested.clear()
        for each in waiting:
            for source in each.sources:
                source.hurry()
        return bool(waiting)

    # -- what goes out

    def deliver(self, worker: TreeWorker, *, more: bool) -> None:
        """Passes on the messages of a worker, behind its outputs. `more`: the worker goes on at once."""
        protocol = worker.protocol
        if worker.outputs and protocol.gives:
            if not worker.put_out():
                if worker not in self.held:
                    self.held.append(worker)
                return
            self.clock.now += 1
        if protocol.to_parent:
            if worker.up is not None:
                worker.up.send(protocol.to_parent, at_once=not (protocol.adds and more))
            elif worker.parent is not None:
                for answer in protocol.to_parent:
                    if worker.parent.protocol.from_child(worker.which, answer):
                        self.enqueue(worker.parent)
                protocol.to_parent.clear()
        for messages, neighbour in zip(protocol.to_children, worker.down):
            if messages and neighbour is not None:
                # others begin with their share before the workers here go on with their own
                waits = _makes_wait(messages)
                self.requested_below |= waits
                neighbour.send(messages, at_once=waits)
        for messages, child in zip(protocol.to_children, worker.children):
            if messages and child is not None:
                for message in messages:
                    self._hear(child, message)
                messages.clear()

    def deliver_held(self) -> None:
        """Tries again to pass on messages that wait for room for outputs."""
        held, self.held = self.held, []
        for each in held:
            self.deliver(each, more=False)

    def put_out(self) -> None:
        """Sends on what the program has put out."""
        for each in self.workers:
            each.calls.hand_on()

    def give_back(self) -> None:
        """Gives sources the room of rows that were worked on."""
        for each in self.workers:
            for lane in each.lanes:
                if lane.frames:
                    lane.give_back(each.protocol.lent_until)

    @property
    def done(self) -> bool:
        """Whether every worker has given its state up for the last time, and has no input and nothing to pass on."""
        for each in self.workers:  # `all` costs more, at the end of every turn
            if not each.protocol.done or not all(lane.lane.ended for lane in each.lanes):
                return False
        return not self.held


def _promise(worker: TreeWorker, lane: TagLane, word: int) -> None:
    """A frontier word has risen: passes on the heartbeat for its tags, the least of all lanes that a tag comes on."""
    for tag in lane.words[word]:
        several = worker.lanes_of.get(tag)
        bound = lane.bounds[word]
        if several is not None:
            bound = min(other.bounds[number] for other, number in several)
        worker.protocol.promise(tag, bound)


def _makes_wait(messages: list[ToChild]) -> bool:
    """Whether a worker waits for one of the messages."""
    for message in messages:  # noqa: SIM110 # `any` costs 0.4 us more
        if type(message) is not Promise:
            return True
    return False
