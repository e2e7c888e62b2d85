"""A unit with serial input that the threads of a pool may run, one at a time: its replicas are what runs side by side.

Order is decided as on the loop (`serial_unit`); this only says on which thread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.runtime.pool.unit import PooledUnit
from actorstream.runtime.serial.unit import SerialUnit
from actorstream.runtime.unit import Status
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from actorstream.ordering.serial import SerialGate


class PooledSerialUnit(PooledUnit, SerialUnit):
    """Number by number, on any thread; barriers and ends on the loop's."""

    def turn(self, tuples: int) -> tuple[int, int]:
        """A turn as long as one on the loop: a number that was begun is not left for a count of rows."""
        head, tail = self.head, self.members[-1]
        with self.exit:
            taken, made = head.events_in, tail.events_out
            if self.blocked:
                self.retry = False
                if not self.unblock():
                    return 0, 0
            with self.entry:
                if self.on_loop:
                    return 0, 0
                self.news = False
                self._delay()
                if SerialUnit._take(self) is not Status.IDLE:
                    self.news = True
            self._flush_if_resting()
            return head.events_in - taken, tail.events_out - made

    def _take(self) -> Status:
        """On the loop: rows too, since the gate says what goes."""
        return SerialUnit._take(self)

    def _consume(self, lane: Any, gate: SerialGate) -> bool:
        if not self.on_loop and lane.channel.peek().kind > FrameKind.HEARTBEAT:
            self.on_loop = True  # the gate answers this lane again
            return True
        return super()._consume(lane, gate)
