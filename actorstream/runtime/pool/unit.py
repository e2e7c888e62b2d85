"""A unit that the threads of a pool may run. Rows are taken in order, worked on by several threads at once where the
operator has no state, and sent on in order. Everything else (barriers, ends, static inputs) is the loop's, when no thread
is in the unit.

No thread waits in here: input is taken only while its place in the order is free and the outputs have credit; whoever
frees a place or gives credit offers the unit to the pool again.
"""

from __future__ import annotations

import math
from threading import Lock
from time import monotonic_ns, sleep
from typing import TYPE_CHECKING, Any

from actorstream.native.baton import pass_on, without_baton
from actorstream.runtime.operator_unit import InLane, OperatorUnit
from actorstream.runtime.unit import PUBLISH_NS, Status
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.ordering.base import Gate
    from actorstream.runtime.pool.worker import ScheduledWorker
    from actorstream.runtime.replica import Replica
    from actorstream.scheduling.base import Operator

DATA = FrameKind.DATA

Taken = tuple[int, "Batch", str, int]
"""Serial number, rows, name of the input, bytes."""


class PooledUnit(OperatorUnit):
    """What units of a pool have in common.

    Who may touch what: the input lanes, the gate and `taken` belong to whoever holds `entry`; the output lanes, the
    members and `released` to whoever holds `exit`, which is only ever tried by threads that run side by side; `workers`
    belongs to the pool's lock. While `on_loop` is set all of it belongs to the loop's thread, once no worker is inside.
    """

    worker: ScheduledWorker
    limit: float = 1

    def __init__(
        self, worker: ScheduledWorker, head: Replica, lanes: list[InLane], gate: Gate, *more: Any
    ) -> None:
        super().__init__(worker, head, lanes, gate, *more)
        self.operator: Operator | None = None
        self.entry, self.exit = Lock(), Lock()
        self.on_loop = True
        self.workers = 0
        self.stale = False
        """Whether the pool has been told to look at this unit again, and has not yet."""
        self.news = False
        """Whether something may have come since the last fruitless look at the input."""
        self.retry = False
        """Whether there may be credit since the last attempt to send what is blocked."""
        self.taken = self.released = 0
        """Serial numbers given to inputs, and those whose outputs have gone on."""
        self.window = worker.job.deploy.reorder_window
        self.byte_limit = worker.job.deploy.edge_bytes
        self.bytes_taken = self.bytes_released = 0
        self.backlog = 0.0
        self._chosen: InLane | None = None
        self.kernel_ns = math.inf
        """Time in kernels for a jumbo tuple, smoothed; endless while it is not known."""
        self.frame_rows = 1.0
        """Rows of a jumbo tuple, smoothed."""

    # -- what the pool asks, under its lock

    def count_waiting(self) -> float:
        """Tuples that wait at the input, about; what was counted last while somebody is at the input now."""
        if self.entry.acquire(blocking=False):
            try:
                self.backlog = self._frames_waiting() * self.frame_rows
            finally:
                self.entry.release()
        return self.backlog

    def _frames_waiting(self) -> int:
        """Under `entry`."""
        return sum([lane.channel.waiting() for lane in self.in_lanes])

    def worth_ns(self) -> float:
        """How long what waits at the input would take, about; long while nothing is known. From any thread."""
        operator = self.operator
        assert operator is not None
        if not operator.statistics.turns:
            return math.inf
        return self._frames_waiting() * self.frame_rows * operator.cost if operator.pays else 0.0

    def note_kernels(self, took_ns: int, rows: int) -> float:
        """A turn of so many rows has spent that long in kernels. Answers what a jumbo tuple does, ns. Under the pool's
        lock."""
        found = took_ns * self.frame_rows / rows
        self.kernel_ns = (
            found if self.kernel_ns == math.inf else self.kernel_ns + (found - self.kernel_ns) / 8
        )
        return self.kernel_ns

    def is_available(self) -> bool:
        """Whether one more worker may come in, and would find something to do."""
        return self.workers < self.limit and self.has_work()

    def has_work(self) -> bool:
        """Whether there may be something that a thread can do now."""
        if self.on_loop:
            return False
        if self.blocked:
            return self.retry
        return self.news and self._has_place()

    def _has_place(self) -> bool:
        outstanding = self.taken - self.released
        if outstanding == 0:
            return True
        return outstanding < self.window and self.bytes_taken - self.bytes_released < self.byte_limit

    # -- a worker's turn

    def turn(self, tuples: int) -> tuple[int, int]:
        """Works on up to about `tuples` rows; answers how many were taken and how many answered."""
        raise NotImplementedError

    def take(self) -> Taken | None:
        """The next rows and their place in the order; None: there are none now, or no place for them."""
        with self.entry:
            if self.on_loop or self.blocked or not self._has_place():
                return None
            self.news = False  # before the look: what comes from now on is told again
            lane = self._next_lane()
            if lane is None:
                self._pass_frontier()
                return None
            frame = lane.channel.peek()
            assert frame is not None
            if frame.kind != DATA:
                self.on_loop = True
                return None
            self.news, self._chosen = True, None
            batch = lane.decode(frame)
            batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
            serial, nbytes = self.taken, frame.nbytes
            self.taken = serial + 1
            self.bytes_taken += nbytes
            self.frame_rows += (batch.rows - self.frame_rows) / 8
            lane.consume()
            if self.follow_frontier:
                self._pass_frontier()
            return serial, batch, lane.input, nbytes

    def _next_lane(self) -> InLane | None:
        """The lane whose head goes next. A gate is asked once for each frame, whoever takes it in the end."""
        if self._chosen is None:
            self._chosen = self.gate.next()
        return self._chosen

    def _pass_frontier(self) -> None:
        """Gives a promise that the input covers now its place among the outputs."""

    def _rest_if_idle(self) -> None:
        """Says that the unit is idle if it is. Under `entry`, when no row that was taken can still be behind."""
        if self.idleness is not None and self._promised is None and not self.on_loop:
            self.idleness.rest()

    def _delay(self) -> None:
        """Shakes out races: only under `[testing] delay`."""
        if self.worker.delay_s:
            with without_baton():  # the others go on meanwhile, or nothing would be shaken
                sleep(self.worker.draw() * self.worker.delay_s)

    def _flush_if_resting(self) -> None:
        """Sends rows that wait to be joined by others, when no others are to come. Under `exit`."""
        if self.taken == self.released:
            with self.entry:
                rests = not self._frames_waiting()
            if rests:
                super().flush()
        if monotonic_ns() - self.published > PUBLISH_NS:
            with self.entry:
                super().publish()
        else:
            self.dirty = True

    # -- the loop's part

    def is_the_loops(self) -> bool:
        """Whether the loop's thread may run it: it has been handed over, and the last worker has left."""
        return self.on_loop and not self.workers

    def flush(self) -> None:
        """The loop flushes only what it runs itself."""
        if self.is_the_loops():
            super().flush()

    def publish(self) -> None:
        if self.exit.acquire(blocking=False):
            try:
                with self.entry:
                    super().publish()
            finally:
                self.exit.release()
            self._look_again()

    def _look_again(self) -> None:
        """After `exit` was given back: somebody may have found it taken, and left something to send."""

    def step(self) -> Status:
        """A turn of the loop, with no worker inside: what is no row. Then the unit is the pool's."""
        status = super().step()
        if status is Status.BUSY or status is Status.DONE or self.ending or self.done:
            return status
        if self.task is None and self.static is None and not (self._awaiting or self._fired or self.beside):
            self.news = self.retry = True
            self.on_loop = False
            self.worker.pool.offer(self)
            return Status.IDLE
        return status

    def _take(self) -> Status:
        """Control marks at the head of the input; rows are left to the pool."""
        while True:
            if self.blocked:
                return Status.BLOCKED
            if self._awaiting:
                return Status.READY
            lane = self._next_lane()
            if lane is None:
                return Status.IDLE
            frame = lane.channel.peek()
            assert frame is not None
            if frame.kind == DATA:
                return Status.IDLE
            self._chosen = None
            if self._control(lane, frame):
                return self.spawn(self.finish())


class ExclusiveUnit(PooledUnit):
    """A unit with a state: one worker at a time, on any thread."""

    def turn(self, tuples: int) -> tuple[int, int]:
        head = self.head
        rows = 0
        with self.exit:  # nobody else's: only the loop looks in, to publish
            tail = self.members[-1]
            before = tail.events_out
            if self.blocked:
                self.retry = False
                if not self.unblock():
                    return 0, 0
            while rows < tuples and (taken := self.take()) is not None:
                _, batch, source, nbytes = taken
                self._delay()
                head.accept(batch, source)
                rows += batch.rows
                self.released += 1
                self.bytes_released += nbytes
                self._go_on()
                pass_on()
            self._go_on()
            self._flush_if_resting()
            return rows, tail.events_out - before

    _promise_due: int | None = None

    def _pass_frontier(self) -> None:
        if self.follow_frontier and self._promise_due is None:
            self._promise_due = self._next_frontier()

    def _go_on(self) -> None:
        """Acts on promises whose rows have been worked on."""
        while self._promise_due is not None:
            frontier, self._promise_due = self._promise_due, None
            self.head.advance(frontier)
            with self.entry:
                self._pass_frontier()
        if self.idleness is not None:
            with self.entry:
                self._rest_if_idle()
