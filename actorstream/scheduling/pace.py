"""Pace: when a source that is read at a rate may read, and how much. Pure: the clock is an argument."""

from __future__ import annotations

import sys

PACE_NS = 1_000_000
"""A paced source sends what is due every millisecond, or a full batch, whichever comes first."""


class Pace:
    """How many rows are due at a given rate, of which `full` make a batch."""

    def __init__(self, rate: float, full: int = sys.maxsize) -> None:
        self.rate = rate
        self.full = full
        self._millisecond = max(1, int(rate * PACE_NS / 1e9))
        self.started = 0
        self.sent = 0

    @property
    def least(self) -> int:
        """Rows that are worth a batch: a millisecond's, or a full one."""
        return max(1, min(self._millisecond, self.full))

    def due(self, now: int) -> int:
        """Rows that may be sent at `now` (ns). Time counts from the first ones on, however long they took to read."""
        if not self.sent:
            self.started = now
            return 1
        rows = int((now - self.started) * self.rate / 1e9) - self.sent + 1
        return rows if rows >= self._millisecond or rows >= self.least else 0

    def wait(self, now: int) -> float:
        """Seconds until a row, or a millisecond's worth of them, is due."""
        return max(0.0, (self.sent + self.least - 1) / self.rate - (now - self.started) / 1e9)
