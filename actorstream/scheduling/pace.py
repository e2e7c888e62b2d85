"""Pace: when a source that is read at a rate may read, and how much. Pure: the clock is an argument."""

from __future__ import annotations

import sys

PACE_NS, MOST_NS = 1_000_000, 32_000_000
"""The shortest and the longest interval at which a paced source reads what is due. A full batch does not wait for its end."""
LATE, VERY_LATE = 2, 6
"""A read is late if at least LATE times as many rows are due as an interval brings. It counts so many points as times, at most
VERY_LATE."""
BUSY, RELAXED = 16, 128
"""The interval doubles at BUSY points; each read in time takes one off. It is halved after RELAXED reads in a row in time."""


class Pace:
    """How many rows are due at a given rate, of which `full` make a batch.

    In smaller batches the same rows take the source, and the operators that share its worker, more time. If the worker has too
    little time for that, the source gets its turns late. It then reads at longer intervals, until its turns come in time again.

    Attributes:
        started: when the first row was read. sent: rows so far.
        interval: ns between two reads."""

    def __init__(self, rate: float, full: int = sys.maxsize) -> None:
        self.rate = rate
        self.full = full
        self.started = 0
        self.sent = 0
        self._rested = False
        """Whether nothing was due when it was asked last."""
        self._every(PACE_NS)

    def _every(self, interval: int) -> None:
        self.interval = interval
        self._worth = max(1, int(self.rate * interval / 1e9))
        self._late = self._in_time = 0

    @property
    def least(self) -> int:
        """Rows that are worth a batch: an interval's, or a full one."""
        return max(1, min(self._worth, self.full))

    def due(self, now: int) -> int:
        """Rows that may be sent at `now` (ns). Time counts from the first ones on, however long they took to read."""
        if not self.sent:
            self.started = now
            return 1
        rows = int((now - self.started) * self.rate / 1e9) - self.sent + 1
        least = self.least
        if rows < least:
            self._rested = True
            return 0
        if self._rested:  # else it makes up for an earlier delay
            self._rested = False
            self._look(rows // least)
        return rows

    def _look(self, times: int) -> None:
        """Changes the interval if it is time to. `times`: how many times as many rows are due as are worth a batch."""
        late = times >= LATE
        self._late = max(0, self._late + (min(times, VERY_LATE) if late else -1))
        self._in_time = 0 if late else self._in_time + 1
        if self._late >= BUSY:
            self._every(min(2 * self.interval, MOST_NS))
        elif self._in_time >= RELAXED:
            self._every(max(self.interval // 2, PACE_NS))

    def wait(self, now: int) -> float:
        """Seconds until a row, or an interval's worth of them, is due."""
        return max(0.0, (self.sent + self.least - 1) / self.rate - (now - self.started) / 1e9)
