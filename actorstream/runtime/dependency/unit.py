"""A unit that runs all workers of a plan that are in one process: between these, messages are calls.

It decides nothing about order (`dgs.worker` does); it takes in slices, promises and messages, and carries messages on.
"""

from __future__ import annotations

from functools import cached_property
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.dgs.messages import Promise, Request
from actorstream.dgs.tagging import Tick
from actorstream.events.batch import Batch
from actorstream.metrics.counters import Counter
from actorstream.runtime.dependency.clock import Clock
from actorstream.runtime.dependency.messages import Mark
from actorstream.runtime.dependency.tag_rows import DATA, Held
from actorstream.runtime.unit import Status, Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.dgs.messages import ToChild
    from actorstream.native.doorbell import Doorbell
    from actorstream.runtime.dependency.calls import CheckpointWish
    from actorstream.runtime.dependency.cuts import Cuts
    from actorstream.runtime.dependency.links import TreeReceiver, TreeSender
    from actorstream.runtime.dependency.messages import Message
    from actorstream.runtime.dependency.short_way import ShortWay
    from actorstream.runtime.dependency.tag_rows import TagRows
    from actorstream.runtime.dependency.tree_worker import TreeWorker
    from actorstream.runtime.ports import WorkerPort
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.send_lane import SendLane

PATIENCE_NS = 20_000
"""How long a turn that has requested a state may wait for it at its end, with `wait = "spin"`."""
STEPS = 8
"""A worker takes so many slices between two looks at the clock."""


class ProgramUnit(Unit):
    """Runs the workers of one plan that are in this process. The head is the first of them."""

    def __init__(self, worker: WorkerPort, workers: list[TreeWorker]) -> None:
        super().__init__(worker, workers[0].replica)
        self.workers = workers
        for each in workers[1:]:
            self.add(each.replica)
        self._work: list[TreeWorker] = list(workers)
        for each in workers:
            each.queued = True
        self._asked: dict[TreeWorker, int | None] = {}
        """Workers that were asked for their state in this turn, with the tag of the request."""
        self.follows = False
        """Whether a consumer listens to event time."""
        self.offered: ShortWay | None = None
        """The way by which a source has left an event for `take_event`; None: no event was left."""
        self.cuts: Cuts | None = None
        """The unit's share of checkpoints; set before the first turn."""
        self.clock = Clock()
        self._held: list[TreeWorker] = []
        """Workers that must not send messages before there is room for their outputs."""
        self._asks = False
        """Whether a message was sent in this turn to a child in another process."""
        self._watched: tuple[TreeWorker, TreeReceiver, int] | None = None
        """The link that brought the last short message, if the process can wait for its next one."""
        self.wants: CheckpointWish | None = None
        """Asks the program whether it wants checkpoints; None: it never does, or the root is in another process."""

    def sends_in_order(self, replica: Replica, lane: SendLane, *, causal: bool) -> None:
        """Outputs of a worker on a lane have an order with those of other workers. causal: see `Transport.causal`."""
        (each,) = (each for each in self.workers if each.replica is replica)
        each.outputs.append(lane)
        if not causal:
            each.awaited.append(lane)

    def take_event(self) -> None:
        """Works on an event that a source of this process has left, within the source's own turn."""
        offered, self.offered = self.offered, None
        if offered is None:
            return
        now = monotonic_ns()
        taken = offered.take()
        if taken:
            self._deliver(offered.each, False)
        if not taken or self.wants is not None:
            self._queue(offered.each)
        if self._turn(now) is Status.READY:
            self.worker.mark(self)

    def _turn(self, began: int) -> Status:
        """Does what follows from a single event or message that was taken."""
        status = self._go_on(began + self.worker.turn_ns)
        if status is Status.IDLE and self._watched is not None and self._watched[1].channel.waiting():
            status = Status.READY
        self.count_wait(began)
        self.status = self.settle_turn(status)
        return self.status

    def work(self) -> Status:
        deadline = monotonic_ns() + self.worker.turn_ns
        self._take_in(deadline)
        return self._go_on(deadline)

    def _go_on(self, deadline: int) -> Status:
        """Does what follows from the input that was taken."""
        if self._held:
            held, self._held = self._held, []
            for each in held:
                self._deliver(each, False)
        more = self._run(deadline)
        if not more and self._watched is not None and self._hear_soon(*self._watched):
            self._hand_on()  # what the answer was waited for
            more = self._run(deadline)
        self._asks = False
        if self._asked and not more and self._hurry():
            self._take_in(deadline)
            more = self._run(deadline)
        sent = self._carry()  # first of all: others wait for it
        self._hand_on()
        for each in self.workers:
            for lane in each.lanes:
                if lane.frames:
                    lane.give_back(each.protocol.lent_until)
        if self.follows and not more:
            self._follow()
        if more:
            return Status.READY
        if self.blocked:
            return Status.BLOCKED
        if sent and not self._held and all(each.protocol.done and _drained(each) for each in self.workers):
            return self.spawn(self.finish())
        return Status.IDLE

    def _hand_on(self) -> None:
        for each in self.workers:
            each.calls.hand_on()

    def _take_in(self, deadline: int) -> None:
        """Takes in messages of other processes, slices and heartbeats."""
        for each in self.workers:
            protocol = each.protocol
            for lane in each.lanes:
                if lane.take_in(protocol):
                    self._queue(each)
                    for word in lane.risen:
                        self._promise(each, lane, word)
            if each.ticks:
                self._tick(each)
            if each.below and each.queued:
                self._run(deadline)  # what it asks its children for is on its way while theirs is taken in
            for receiver, child in each.receivers:
                for message in receiver.take():
                    self._take_message(each, receiver, child, message)
        if self.cuts.open:  # type: ignore[union-attr]
            self.cuts.complete()  # type: ignore[union-attr]

    def _take_message(self, each: TreeWorker, receiver: TreeReceiver, child: int, message: Message) -> None:
        """Takes a message of a neighbour in another process."""
        if (type(message) is Mark or receiver.shares) and self.cuts.at_link(each, receiver, child, message):  # type: ignore[union-attr]
            return
        if child < 0:
            self._hear(each, message)  # type: ignore[arg-type]
        elif each.protocol.from_child(child, message):  # type: ignore[arg-type]
            self._queue(each)
        if receiver.wait is not None and self.worker.turns.watches:
            self._watched, self.worker.turns.watched = (each, receiver, child), self

    def _hear_soon(self, each: TreeWorker, receiver: TreeReceiver, child: int) -> bool:
        """Takes an answer that has come during the turn, before the turn ends; returns whether there was one. With
        `wait = "spin"` it waits a little for the answer, once for each request."""
        found = receiver.take_one()
        if not found and self._asks and child >= 0 and self.worker.job.always_spin:
            rung = receiver.wait(PATIENCE_NS)  # type: ignore[misc]
            if type(rung) is list:
                self.worker.turns.mark_rung(rung)
                found = receiver.take_one()
            else:
                found = rung
        for message in found:
            self._take_message(each, receiver, child, message)
        return bool(found)

    def wait(self, bell: Doorbell, ns: int) -> list[int] | None:
        """As `OperatorUnit.wait`, for a message of the neighbour that sent the last one."""
        watched = self._watched
        if watched is None or not self.rests:
            return bell.wait(ns) if ns else bell.collect()
        each, receiver, child = watched
        found = receiver.wait(ns)  # type: ignore[misc]
        if type(found) is list:
            return found
        now = monotonic_ns()
        for message in found:
            self._take_message(each, receiver, child, message)
        self._turn(now)
        return None

    def _tick(self, each: TreeWorker) -> None:
        """Makes the ticks that have become certain."""
        known = [(stream, *lane.course(words)) for lane, stream, words in each.tick_streams]
        for tag, ticks in each.ticks.items():
            before = ticks.bound
            for stream, first, last, bound in known:
                ticks.moved(stream, first, last, bound)
            times = ticks.due()
            if times:
                each.protocol.insert(tag, np.array(times, np.int64), ticks_of(times))
            if ticks.bound > before:
                each.protocol.promise(tag, ticks.bound)
                self._queue(each)

    def _promise(self, each: TreeWorker, lane: TagRows, word: int) -> None:
        for tag in lane.words[word]:
            several = each.lanes_of.get(tag)
            bound = lane.bounds[word]
            if several is not None:
                bound = min(other.bounds[number] for other, number in several)
            each.protocol.promise(tag, bound)

    def _queue(self, each: TreeWorker) -> None:
        if not each.queued:
            each.queued = True
            self._work.append(each)

    def _run(self, deadline: int) -> bool:
        """Runs workers, and those that get messages from them, until nothing is left; returns whether time ran out before."""
        work = self._work
        while work:
            each = work.pop()
            each.queued = False
            more = each.protocol.run(STEPS)
            if more:
                self._queue(each)
            if each.number == 1 and self.wants is not None:
                self._at_root(self.wants)
            self._deliver(each, more)
            if monotonic_ns() > deadline:
                return bool(work)
        return False

    def _at_root(self, wants: CheckpointWish) -> None:
        """Asks the program whether it wants a checkpoint. It may want one after a join at the root, where all state is here."""
        barrier = self.worker.barriers.granted
        if wants.now() and barrier > self.barrier:
            self.worker.barriers.begin(barrier)
            self.cuts.take(barrier)  # type: ignore[union-attr]
            wants.made()

    def _hear(self, each: TreeWorker, message: ToChild) -> None:
        """Gives a worker a message of its parent."""
        if not each.protocol.from_parent(message):
            self._deliver(each, False)
            return
        if each.sources and type(message) is Request:
            self._asked[each] = message.tag
        self._queue(each)

    def _hurry(self) -> bool:
        """Has sources of this process promise what they can if a request waits for that; returns whether there were any."""
        waits = [each for each, tag in self._asked.items() if each.protocol.mailbox.waits(tag)]
        self._asked.clear()
        for each in waits:
            for source in each.sources:
                source.hurry()
        return bool(waits)

    def _deliver(self, each: TreeWorker, more: bool) -> None:
        """Passes on the messages of a worker. `more`: the worker goes on at once."""
        protocol = each.protocol
        if each.outputs and protocol.gives:
            if not each.put_out():
                if each not in self._held:
                    self._held.append(each)
                return
            self.clock.now += 1
        if protocol.to_parent:
            if each.up is not None:
                if protocol.adds and more:
                    each.up.say(protocol.to_parent)
                else:
                    each.up.hand_over(protocol.to_parent)  # the parent waits for it
            elif each.parent is not None:
                for answer in protocol.to_parent:
                    if each.parent.protocol.from_child(each.which, answer):
                        self._queue(each.parent)
                protocol.to_parent.clear()
        for messages, link in zip(protocol.to_children, each.down):
            if messages and link is not None:
                if _waits(messages):  # before what is here goes on with its own share
                    link.hand_over(messages)
                    self._asks = True
                else:
                    link.say(messages)
        for messages, child in zip(protocol.to_children, each.children):
            if messages and child is not None:
                for message in messages:
                    self._hear(child, message)
                messages.clear()

    def _carry(self) -> bool:
        """Sends the messages for other processes; returns whether all of them have been sent."""
        sent = True
        for sender in self._senders:
            if sender.waits:
                sent = sender.flush() and sent
        return sent

    def _follow(self) -> None:
        """Promises event time behind the outputs of each worker."""
        for each in self.workers:
            frontier = each.protocol.frontier
            if frontier > each.promised:
                each.promised = frontier
                each.replica.advance(frontier)

    @cached_property
    def _senders(self) -> list[TreeSender]:
        return [sender for each in self.workers for sender in each.senders()]

    def while_blocked(self) -> None:
        self._carry()  # a mark that others wait for, before they can let this unit go on

    async def finish(self) -> None:
        await super().finish()
        for sender in self._senders:
            sender.end()

    def _end(self) -> Status:
        if not self._carry():
            return Status.BLOCKED
        self.cuts.complete(over=True)  # type: ignore[union-attr]
        return super()._end()

    def start_barrier(self, barrier: int) -> None:
        """Barriers come in with the input, or as marks from other workers."""

    def snapshot(self, replica: Replica) -> Any:
        each = next((each for each in self.workers if each.replica is replica), None)
        return None if each is None else self.cuts.over(each)  # type: ignore[union-attr]

    def publish(self) -> None:
        super().publish()
        for each in self.workers:
            kept = sum(rows.lane.channel.statistics()["kept"] for rows in each.lanes)
            each.replica.row[Counter.KEPT_BLOCKS] = kept
        sent = (sender.channel.statistics()["sent_bytes"] for sender in self._senders)
        self.head.row[Counter.SENT_BYTES] += sum(sent)


def ticks_of(times: Sequence[int]) -> Held:
    """Ticks as events."""
    batch = Batch.of_events(Tick, [Tick(time) for time in times])
    batch.entry_min = batch.entry_max = monotonic_ns()
    return Held(DATA, batch, times)


def _waits(messages: list[ToChild]) -> bool:
    """Whether a worker waits for one of the messages."""
    for message in messages:  # noqa: SIM110 # `any` costs 0.4 us more
        if type(message) is not Promise:
            return True
    return False


def _drained(each: TreeWorker) -> bool:
    return all(rows.lane.ended for rows in each.lanes)
