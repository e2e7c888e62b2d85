"""Idleness of sources with `idle_timeout`: when a source is idle, and what an inbox behind such sources makes of that: which of
its lanes it follows, which rows come below what it has promised meanwhile, and when it is idle itself. Reads no clock.

Every channel whose consumer follows event time has one more word: a counter of transitions, odd while nothing is to be
expected. The producer advances it to even before the row that ends the silence. So what a unit has left out of its
frontier may come below it, and carries the frontier as its watermark: windows that are over do not open again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.fields import WATERMARK
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.inbox import Ports
    from actorstream.runtime.lanes import InLane


class SourceIdleness:
    """How long one source replica has had no row, and whether it is idle.

    Args:
        timeout: ns without a row after which the source is idle.
        now: monotonic ns.
    """

    def __init__(self, timeout: int, now: int) -> None:
        self.timeout = timeout
        self.idle = False
        self.count = 0
        """Transitions so far; odd while idle."""
        self._since = now
        self._excused = False

    def row_came(self, now: int) -> bool:
        """A row has come; returns whether the source was idle."""
        self._since, self._excused = now, False
        if not self.idle:
            return False
        self.idle = False
        self.count += 1
        return True

    def time_left(self, now: int) -> int:
        """Ns until the source is idle; 0: it is. A caller that asks long after that was held up, and may not have seen what came:
        then the time counts anew, once."""
        left = self._since + self.timeout - now
        if left < -self.timeout // 2 and not self._excused:
            self._excused, self._since = True, now
            return self.timeout
        return max(left, 0)

    def begin(self) -> int:
        """The source is idle from now on; returns the count of transitions."""
        self.idle = True
        self.count += 1
        return self.count


class Idleness:
    """What one inbox makes of the idleness of its lanes. Of a lane, `bound` is what it promised itself when the inbox's frontier
    was last read, and `floor` that frontier where it has gone past it: rows below it carry it."""

    def __init__(self, lanes: list[InLane], ports: Ports) -> None:
        self.lanes, self.ports = lanes, ports
        self.idle = False
        self._count = 0

    def took(self, lane: InLane, batch: Batch) -> Batch:
        """Rows that a lane has brought, as they go on."""
        self.wake()  # before what comes of the rows can be sent
        return batch if lane.floor == FRONTIER_MIN else _marked(batch, lane.floor)

    def frontier(self, reached: int) -> int:
        """The least promise of the lanes that are not idle; if all are, the least of all, and what those that have
        ended promised last. `reached`: the unit's frontier."""
        least, base, last = FRONTIER_END, FRONTIER_END, FRONTIER_MIN
        is_busy = False
        for lane in self.lanes:
            if lane.ended:  # its channel keeps the last promise before the end of time
                last, lane.bound = max(last, lane.channel.frontier(0)), FRONTIER_END
                continue
            is_idle = lane.is_idle()  # first: a lane that wakes afterwards sends rows after it
            bound = lane.bound = lane.channel.frontier(0)
            base = min(base, bound)
            if not is_idle:
                is_busy = True
                least = min(least, bound)
        if (
            base == FRONTIER_END and not is_busy
        ):  # all have ended; a consumer may need the last promise before
            return last if last > reached else FRONTIER_END
        if not is_busy:
            return max(base, last)
        self.wake()
        return least

    def reach(self, frontier: int) -> None:
        """The unit acts on a frontier that was read."""
        for lane in self.lanes:
            lane.floor = frontier if lane.bound < frontier else FRONTIER_MIN

    def rest(self) -> None:
        """Nothing is in work: the unit is idle if all its lanes are, and all that came by them was taken."""
        if self.idle or all(lane.ended for lane in self.lanes):
            return
        for lane in self.lanes:
            if not lane.ended and not lane.is_idle():
                return
        if any(lane.channel.waiting() for lane in self.lanes if not lane.ended):
            return
        self._turn()

    def wake(self) -> None:
        """Rows are to be expected."""
        if self.idle:
            self._turn()

    def _turn(self) -> None:
        self.idle = not self.idle
        self._count += 1
        self.ports.tell_idle(self._count)


def _marked(batch: Batch, floor: int) -> Batch:
    """The batch, whose rows below `floor` carry it as their watermark."""
    times = batch.event_times()
    if times is None:
        return batch
    behind = times < floor
    if not behind.any():
        return batch
    marks = np.where(behind, floor, FRONTIER_MIN)
    own = batch.system.get(WATERMARK)
    if own is not None:
        marks = np.maximum(marks, own.data)
    return batch.with_system(_watermark=marks)
