"""A unit that takes turns for all workers of a plan that are in one process (`workers.py`)."""

from __future__ import annotations

from functools import cached_property
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.dgs.holdings import NO_EVENTS, latest, outputs_from
from actorstream.metrics.counters import Counter
from actorstream.runtime.unit import Status, Unit

if TYPE_CHECKING:
    from actorstream.dgs.checkpoint_wish import CheckpointWish
    from actorstream.native.doorbell import Doorbell
    from actorstream.runtime.dependency.checkpoint import PlanCheckpoints
    from actorstream.runtime.dependency.links import Neighbour
    from actorstream.runtime.dependency.single_events import DirectEvents
    from actorstream.runtime.dependency.workers import PlanWorkers, TreeWorker
    from actorstream.runtime.ports import WorkerPort
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.send_lane import SendLane

PATIENCE_NS = 20_000
"""How long a turn that has requested a state may wait for it at its end, with `wait = "spin"`."""
STEPS = 8
"""A worker takes so many slices between two looks at the clock."""


class ProgramUnit(Unit):
    """Runs the workers of one plan that are in this process. The head is the first of them."""

    checkpoints: PlanCheckpoints
    """Set before the first turn."""

    def __init__(self, worker: WorkerPort, plan: PlanWorkers) -> None:
        super().__init__(worker, plan.workers[0].replica)
        self.plan, self.workers, self.clock = plan, plan.workers, plan.clock
        for each in self.workers[1:]:
            self.add(each.replica)
        self.follows = False
        """Whether a consumer listens to event time."""
        self.offered: DirectEvents | None = None
        """Where a source has left an event for `take_event`; None: no event was left."""
        self.wants: CheckpointWish | None = None
        """Asks the program whether it wants checkpoints; None: it never does, or the root is in another process."""

    def sends_in_order(self, replica: Replica, lane: SendLane, *, causal: bool) -> None:
        """Outputs of a worker on a lane have an order with those of other workers. causal: see `Transport.causal`."""
        (each,) = (each for each in self.workers if each.replica is replica)
        each.outputs.append(lane)
        if not causal:
            each.awaited.append(lane)

    # -- turns

    def work(self) -> Status:
        deadline = monotonic_ns() + self.worker.turn_ns
        self._take_in(deadline)
        return self._go_on(deadline)

    def _take_in(self, deadline: int) -> None:
        """Takes in messages of other processes, slices and heartbeats."""
        plan = self.plan
        for each in self.workers:
            plan.take_rows(each)
            if each.below and each.queued:
                self._run(deadline)  # what it asks its children for is on its way while theirs is taken in
            plan.take_messages(each)
        if self.checkpoints.cuts:
            self.checkpoints.complete()

    def _go_on(self, deadline: int) -> Status:
        """Does what follows from the input that was taken."""
        plan = self.plan
        if plan.held:
            plan.deliver_held()
        more = bool(plan.queue) and self._run(deadline)
        if not more and plan.last_heard is not None and self._take_answer(*plan.last_heard):
            plan.put_out()  # what the answer was waited for
            more = self._run(deadline)
        plan.requested_below = False
        if not more and plan.hurry_sources():
            self._take_in(deadline)
            more = self._run(deadline)
        sent = self._send_messages()  # first of all: others wait for it
        plan.put_out()
        plan.give_back()
        if plan.heard:
            plan.heard = False
            self.worker.turns.watched = self  # the worker waits at the neighbour that sent the last message
        if more:
            return Status.READY
        if self.follows:
            self._follow()
        if self.blocked:
            return Status.BLOCKED
        if sent and plan.done:
            return self.spawn(self.finish())
        return Status.IDLE

    def _run(self, deadline: int) -> bool:
        """Runs workers, and those that get messages from them, until nothing is left; returns whether time ran out before."""
        plan, queue = self.plan, self.plan.queue
        while queue:
            each = queue.pop()
            each.queued = False
            more = each.protocol.run(STEPS)
            if more:
                plan.enqueue(each)
            if each.number == 1 and self.wants is not None:
                self._at_root(self.wants)
            plan.deliver(each, more=more)
            if monotonic_ns() > deadline:
                return bool(queue)
        return False

    def _at_root(self, wants: CheckpointWish) -> None:
        """Asks the program whether it wants a checkpoint. It may want one after a join at the root, where all state is here."""
        barrier = self.worker.barriers.granted
        if wants.now(granted=barrier > self.barrier):
            self.worker.barriers.begin(barrier)
            self.checkpoints.take(barrier)

    def _follow(self) -> None:
        """Promises event time behind the outputs of each worker, or that it is idle."""
        for each in self.workers:
            reached = outputs_from(each.protocol, ends=hasattr(self.head.actor, "end"))
            if reached <= each.promised:
                continue
            each.promised = reached
            if reached >= NO_EVENTS:
                # consumers may wait for a time before the end of time
                each.replica.advance(latest(each.protocol))
                for lane in self.lanes:
                    if self.worker.job.head_of(lane.producer) == each.replica.id:
                        lane.tell_idle(1)
            if reached != NO_EVENTS:
                each.replica.advance(reached)

    def _send_messages(self) -> bool:
        """Sends the messages for other processes; returns whether all of them have been sent."""
        sent = True
        for neighbour in self._neighbours:
            if neighbour.waits:
                sent = neighbour.flush() and sent
        return sent

    @cached_property
    def _neighbours(self) -> list[Neighbour]:
        return [neighbour for each in self.workers for neighbour in each.neighbours]

    # -- single events and messages

    def take_event(self, now: int) -> None:
        """Works on an event that a source of this process has left, within the source's own turn. `now`: when that begins."""
        offered, self.offered = self.offered, None
        if offered is None:
            return
        taken = offered.take()
        if taken:
            self.plan.deliver(offered.tree_worker, more=False)
        if not taken or self.wants is not None:
            self.plan.enqueue(offered.tree_worker)
        if self._turn(now) is Status.READY:
            self.worker.mark(self)

    def wait(self, bell: Doorbell, ns: int) -> list[int] | None:
        """As `OperatorUnit.wait`, for a message of the neighbour that sent the last one."""
        last = self.plan.last_heard
        if last is None or self.ready or not self.is_free:
            return bell.wait(ns) if ns else bell.collect()
        found = last[1].wait(ns)  # type: ignore[misc]
        if type(found) is list:
            return found
        now = monotonic_ns()
        for message in found:
            self.plan.take_message(*last, message)
        self._turn(now)
        return None

    def _turn(self, began: int) -> Status:
        """Does what follows from a single event or message that was taken."""
        status = self._go_on(began + self.worker.turn_ns)
        last = self.plan.last_heard
        if status is Status.IDLE and last is not None and last[1].into.waiting():
            status = Status.READY
        self.count_wait(began)
        self.status = self.settle_turn(status)
        return self.status

    def _take_answer(self, worker: TreeWorker, neighbour: Neighbour) -> bool:
        """Takes an answer that has come during the turn, before the turn ends; returns whether there was one. With
        `wait = "spin"` it waits a little for the answer, once for each request."""
        plan, found = self.plan, neighbour.take_entry()
        if not found and plan.requested_below and neighbour.child >= 0 and self.worker.job.always_spin:
            rung = neighbour.wait(PATIENCE_NS)  # type: ignore[misc]
            if type(rung) is list:
                self.worker.turns.mark_rung(rung)
                rung = neighbour.take_entry()
            found = rung
        for message in found:
            plan.take_message(worker, neighbour, message)
        return bool(found)

    # -- ends, barriers and counters

    def while_blocked(self) -> None:
        self._send_messages()  # a mark that others wait for, before they can let this unit go on

    async def finish(self) -> None:
        await super().finish()
        for neighbour in self._neighbours:
            neighbour.end()

    def _end(self) -> Status:
        if not self._send_messages():
            return Status.BLOCKED
        self.checkpoints.complete(over=True)
        return super()._end()

    def snapshot(self, replica: Replica) -> Any:
        each = next((each for each in self.workers if each.replica is replica), None)
        return None if each is None else self.checkpoints.of_ended(each)

    def publish(self) -> None:
        super().publish()
        for each in self.workers:
            kept = sum(rows.lane.channel.statistics()["kept"] for rows in each.lanes)
            each.replica.row[Counter.KEPT_BLOCKS] = kept
        sent = (neighbour.out.statistics()["sent_bytes"] for neighbour in self._neighbours)
        self.head.row[Counter.SENT_BYTES] += sum(sent)
