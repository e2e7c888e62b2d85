"""A unit with input in timestamp order that the threads of a pool may run, one at a time: its replicas are what runs side by
side.

Order is decided as on the loop (`runtime/timestamp`); this only says on which thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.runtime.pool.unit import PooledUnit
from actorstream.runtime.timestamp.gate_unit import GateUnit
from actorstream.runtime.timestamp.unit import TimestampUnit
from actorstream.runtime.unit import Status

if TYPE_CHECKING:
    from actorstream.transports.base import Frame


class PooledTimestampUnit(PooledUnit, TimestampUnit):
    """What is ready, and promises, on any thread; barriers and ends on the loop's."""

    def has_work(self) -> bool:
        """Also while an output is full: what comes in is looked at nevertheless, so that no tie keeps a channel full."""
        return not self.on_loop and (self.news or (bool(self.blocked) and self.retry))

    def turn(self, tuples: int) -> tuple[int, int]:
        """A turn as long as one on the loop: what is merged together is not cut by a count of rows."""
        head, tail = self.head, self.members[-1]
        with self.exit:
            taken, frames, made = head.events_in, head.jumbo_in, tail.events_out
            with self.entry:
                if self.on_loop:
                    return 0, 0
                self.news = self.retry = False  # before the look: what comes from now on is told again
                self._delay()
                if self.blocked and not self.unblock():
                    self.while_blocked()
                elif self.work() is Status.READY:
                    self.news = True
            if not self.news:  # also rows that wait for others do not keep back what was emitted
                super(PooledUnit, self).flush()
            self._flush_if_resting()
            rows = head.events_in - taken
            if rows:
                self.frame_rows += (rows / (head.jumbo_in - frames) - self.frame_rows) / 8
            return rows, tail.events_out - made

    def _take(self) -> Status:
        """On the loop: rows too, since a mark may be behind some that are ready."""
        return super(PooledUnit, self)._take()

    def _mark(self, lane: Any, frame: Frame) -> bool:
        if self.on_loop:
            return super()._mark(lane, frame)
        self.on_loop = True  # the gate answers this lane again
        return True

    def _finished(self) -> Status | None:
        if self.on_loop:
            return super()._finished()
        if not self._is_through():
            return None
        self.on_loop = True
        return Status.BUSY


class PooledGateUnit(PooledTimestampUnit, GateUnit):
    """The same, of what a gate gives."""
