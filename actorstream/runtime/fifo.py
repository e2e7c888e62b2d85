"""Order `none`: first in, first out on each channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.ordering.none import NoOrder
from actorstream.plan.channels import IDLE_WORD
from actorstream.runtime.idleness import Idleness
from actorstream.runtime.inbox import Inbox, Step
from actorstream.runtime.order import MakeLane, Order
from actorstream.transports.base import FRONTIER_MIN, FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.ordering.causal import CausalOrder
    from actorstream.plan.job import JobChannel
    from actorstream.runtime.inbox import Ports
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.send_lane import SendLane
    from actorstream.runtime.unit import Unit


class Fifo(Order):
    """Whatever no other order asks for."""

    def inbox(self, head: Replica, links: list[JobChannel], ports: Ports) -> Inbox:
        lanes = [self.ends.in_lane(index, link) for index, link in enumerate(links)]
        return FifoInbox(lanes, NoOrder(lanes), ports)

    def lane(self, link: JobChannel, replica: Replica, unit: Unit, make: MakeLane) -> SendLane:
        return make(idles=IDLE_WORD) if link.channel.frontiers > IDLE_WORD else make()


class FifoInbox(Inbox):
    """The inbox of order `none`. The gate says which lane is next."""

    def __init__(self, lanes: list[InLane], gate: NoOrder | CausalOrder, ports: Ports) -> None:
        super().__init__(lanes)
        self.gate = gate
        self.passes_singles = type(gate) is NoOrder
        self._only = lanes[0] if self.passes_singles and len(lanes) == 1 else None
        """The lane that needs no gate, which takes a third of the time of `next`."""
        self._frontier = FRONTIER_MIN
        self._promised: int | None = None
        """A frontier that was read. It is given once the frames that it covers, `_marks` of each lane, have been taken."""
        self._marks: list[int] = []
        self._taken: InLane | None = None
        """The lane that brought the rows that were given last."""
        idle = [lane for lane in lanes if lane.idles]
        self.idleness = Idleness(idle, ports) if idle and len(idle) == len(lanes) else None

    def next(self) -> Step:
        if self._due:
            return self._take_due()
        lane = self._only or self.gate.next()
        if lane is None or lane.held or lane.ended or (frame := lane.channel.peek()) is None:
            return Step.NOTHING
        if frame.kind != FrameKind.DATA:
            return self._mark(lane, frame)
        batch = lane.rows(frame)
        if self.idleness is not None:
            batch = self.idleness.took(lane, batch)
        self._taken = lane
        self.batch, self.source = batch, lane.input
        return Step.ROWS

    def done(self) -> None:
        lane, self._taken = self._taken, None
        if lane is not None:
            lane.consume()

    def admits(self, lane: InLane) -> bool:
        return not (lane.held or self._due)

    def admitted(self, lane: InLane, batch: Batch) -> Batch:
        return batch if self.idleness is None else self.idleness.took(lane, batch)

    def follow(self, rest: tuple[Batch, int] | None, *, resting: bool) -> int | None:
        if rest is not None or self.alignment.barrier is not None:
            return None  # after a resume, rows below a promise from behind the barrier may come here
        frontier = self._next_frontier()
        if frontier is None and self.idleness is not None and self._promised is None:
            self.idleness.rest()
        return frontier

    def _next_frontier(self) -> int | None:
        """Reads the lanes' promises; returns one that has risen, once everything it covers has been taken."""
        if self._promised is None:
            if self.idleness is None:
                frontier = min(lane.frontier() for lane in self.lanes)
            else:
                frontier = self.idleness.frontier(self._frontier)
            if frontier <= self._frontier:
                return None
            # the frontier was read before this: the frames that it covers are among those that wait now
            self._marks = [lane.taken + lane.channel.waiting() for lane in self.lanes]
            self._promised = frontier
        if any(lane.taken < mark for lane, mark in zip(self.lanes, self._marks)):
            return None
        self._frontier, self._promised = self._promised, None
        if self.idleness is not None:
            self.idleness.reach(self._frontier)
        return self._frontier
