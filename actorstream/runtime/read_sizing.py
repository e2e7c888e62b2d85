"""ReadSizing: what a source's batch size has to know of the unit that reads the source, and which sizes it has chosen."""

from __future__ import annotations

from functools import cached_property
from time import thread_time_ns
from typing import TYPE_CHECKING

from actorstream.metrics.batch_sizes import BatchSizes
from actorstream.metrics.counters import Counter
from actorstream.runtime.send_lane import SendLane
from actorstream.runtime.size_policy import source_size

if TYPE_CHECKING:
    from actorstream.runtime.source_unit import SourceUnit
    from actorstream.scheduling.batch_size import BatchSize
    from actorstream.scheduling.pace import Pace

FEW_LANES = 4
"""So many are looked at to see whether consumers keep up."""


class ReadSizing:
    """That of one source's unit.

    Args:
        pace: of the source; None: it is read as fast as possible.

    Attributes:
        asked: counts the rows that were asked for.
        blocked_at: the thread's time, and how long the unit had waited for outputs, when the last turn ended at a full one;
            None: it did not, or `resumes` has been called since."""

    def __init__(self, unit: SourceUnit, pace: Pace | None) -> None:
        self._unit, self._pace, self._row = unit, pace, unit.head.row
        self.asked = BatchSizes()
        self.blocked_at: tuple[int, int] | None = None

    @cached_property
    def size(self) -> BatchSize:
        """How many rows are read at once. Asked for once there are edges."""
        unit, rate = self._unit, 0.0 if self._pace is None else self._pace.rate
        found = (getattr(edge, "lanes", (edge,)) for edges in unit.head.edges.values() for edge in edges)
        lanes = [lane for each in found for lane in each if isinstance(lane, SendLane)]
        return source_size(unit.worker.job.deploy, unit.source, unit.head.id, rate, lanes)

    def is_behind(self) -> bool:
        """Whether a consumer has not taken everything."""
        return any(not lane.channel.is_empty() for lane in self._unit.lanes[:FEW_LANES])

    def rows_due(self, rows: int, now: int) -> int:
        """How many of `rows` rows the pace lets be read now; 0: it says when to look again."""
        assert self._pace is not None
        self._pace.full = rows
        due = self._pace.due(now)
        if due > 0:
            return min(rows, due)
        self.size.rested()
        return 0

    def blocks(self) -> None:
        """A turn ends because an output is full."""
        if self.size.follows_cost:
            self.blocked_at = thread_time_ns(), int(self._row[Counter.WAIT_OUT_NS])

    def resumes(self, blocked_at: tuple[int, int]) -> None:
        """A turn begins behind a full output. How long the worker has slept since then is a cost of the last batch."""
        self.blocked_at = None
        busy, waited = blocked_at
        slept = int(self._row[Counter.WAIT_OUT_NS]) - waited - (thread_time_ns() - busy)
        self.size.waited(max(0, slept))

    def publish(self) -> None:
        """Writes which sizes were chosen into the counters, and how many batches were read."""
        self._row[Counter.READS] = self.asked.total()
        BatchSizes.publish((self.asked,), self._row)
