"""A unit of a pool without a state: any number of threads at once, whose outputs a reordering buffer puts in order.

Knows nothing of what is scheduled when; takes a serial number only while its place is free (ordered-multicore section 3).
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from actorstream.native.baton import pass_on, without_baton
from actorstream.native.reorder import UNIT_NONE, ReorderBuffer
from actorstream.runtime.pool.hand import Hand, Outputs
from actorstream.runtime.pool.unit import PooledUnit, Taken
from actorstream.runtime.unit import Status

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.actors.actor import Actor
    from actorstream.ordering.base import Gate
    from actorstream.runtime.operator_unit import InLane
    from actorstream.runtime.pool.worker import ScheduledWorker
    from actorstream.runtime.replica import Replica

SPARE_PLACES = 8
"""Places of a reordering buffer beside those of the window: for promises and transitions, which come between rows."""
LEAST_UNIT = UNIT_NONE + 1


class Idle(NamedTuple):
    """A place among the outputs for a transition of the unit between busy and idle."""

    turns: int


class SharedUnit(PooledUnit):
    """A unit without a state: any number of workers at once, whose outputs go on in the order of the inputs.

    A worker leaves what it has made in the reordering buffer under its serial number (native/reorder.h). Who is in the
    buffer's exit section sends for all, and holds `exit` while it does; if it finds that taken, by the loop that publishes
    or by who unblocks the outputs, the outputs stay, and that one flushes the buffer afterwards.
    """

    def __init__(
        self,
        worker: ScheduledWorker,
        head: Replica,
        lanes: list[InLane],
        gate: Gate,
        make: Callable[[Replica], Actor],
        limit: float,
    ) -> None:
        super().__init__(worker, head, lanes, gate)
        self.limit = limit
        self._make = make
        self._hands: list[Hand] = []
        scheme = worker.job.deploy.reordering
        capacity = 1 << (self.window + SPARE_PLACES - 1).bit_length()
        self.buffer = ReorderBuffer(capacity, self._leave, scheme=scheme)
        self._mask = capacity - 1
        self._waits = scheme == "lock-based"
        """Whether who sends may wait for another thread that sends: not with the baton then."""
        self._due: deque[tuple[int, Idle | int, int]] = deque()
        """Promises and transitions that have got their place, and are not in it yet."""
        self._places: list[tuple[Outputs | Idle | int, int] | None] = [None] * capacity
        """By serial number modulo their number: outputs, a promise or a transition, and the bytes they were made of."""

    def turn(self, tuples: int) -> tuple[int, int]:
        if self.blocked:
            self._look_again()
            if self.blocked:
                return 0, 0
        hand = self._hand()
        rows = made = 0
        try:
            while rows < tuples and (taken := self.take()) is not None:
                serial, batch, source, nbytes = taken
                self._delay()
                outputs = hand.run(batch, source)
                rows += batch.rows
                made += sum([part.rows for _, part in outputs])
                self._send(serial, outputs, nbytes)
                pass_on()
        finally:
            with self.entry:
                hand.hand_over()
                self._hands.append(hand)
        return rows, made

    def step(self) -> Status:
        """On the loop: outputs that had no credit go before a barrier or an end."""
        if self.taken != self.released:
            self.retry = True
            self._look_again()
            if self.taken != self.released:
                return self._rest(Status.BLOCKED)
        return super().step()

    def _hand(self) -> Hand:
        with self.entry:
            return self._hands.pop() if self._hands else Hand(self.members, self._make)

    # -- what has a place among the outputs

    def take(self) -> Taken | None:
        taken = super().take()
        while self._due:  # only here: `entry` is not held
            self._send(*self._due.popleft())
        return taken

    def _pass_frontier(self) -> None:
        if not self.follow_frontier or self.taken - self.released > self.window:
            return  # who frees a place offers the unit again
        frontier = self._next_frontier()
        if frontier is not None:
            self._due.append((self.taken, frontier, 0))
            self.taken += 1
        self._rest_if_idle()

    def tell_idle(self, count: int) -> None:
        """Passes it on in its place among the outputs. Under `entry`."""
        self._due.append((self.taken, Idle(count), 0))
        self.taken += 1

    # -- the exit

    def _send(self, serial: int, what: Outputs | Idle | int, nbytes: int) -> None:
        """Leaves it in its place, and sends what is next in order unless another worker does."""
        at = serial & self._mask
        self._places[at] = what, nbytes
        if self._waits:
            with without_baton():
                self.buffer.send(serial, at + LEAST_UNIT)
        else:
            self.buffer.send(serial, at + LEAST_UNIT)

    def _leave(self, serial: int, unit: int) -> bool:
        """The exit function of the buffer. False: there is no credit, or `exit` is taken."""
        if not self.exit.acquire(blocking=False):
            return False
        try:
            if self.blocked and not self._unblocked():
                return False
            at = unit - LEAST_UNIT
            place = self._places[at]
            assert place is not None
            self._places[at] = None
            what, nbytes = place
            if isinstance(what, int):
                self.head.advance(what)
            elif isinstance(what, Idle):
                super().tell_idle(what.turns)
            else:
                for edge, batch in what:
                    edge.push(batch)
            was_full = not self._has_place()
            self.released = serial + 1
            self.bytes_released += nbytes
            self._flush_if_resting()
            if was_full and self._has_place():
                self.worker.pool.offer(self)
            return True
        finally:
            self.exit.release()

    def _unblocked(self) -> bool:
        """Under `exit`: tries what is blocked again if there may be credit; whether nothing is."""
        if self.retry:
            self.retry = False
            self.unblock()
        return not self.blocked

    def _look_again(self) -> None:
        while self.blocked and self.retry and self.exit.acquire(blocking=False):
            try:
                self._unblocked()
            finally:
                self.exit.release()
        self.buffer.flush()
