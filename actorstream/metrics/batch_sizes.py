"""BatchSizes: counts how many rows batches had, for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.metrics.counters import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np


class BatchSizes:
    """Counts the sizes of batches, by powers of two."""

    __slots__ = ("_counts", "_greatest", "_last", "_least", "_same")

    def __init__(self) -> None:
        self._counts = [0] * 64
        self._least, self._greatest = 0, 0
        self._last = self._same = 0
        """The rows of the last batch, and how many batches of that size are not in the counts yet."""

    def count(self, rows: int, batches: int = 1) -> None:
        """So many batches have so many rows each, at least one."""
        if rows == self._last:  # as most are
            self._same += batches
            return
        self._settle()
        self._last, self._same = rows, batches
        if rows > self._greatest:
            self._greatest = rows
        if rows < self._least or not self._least:
            self._least = rows

    def _settle(self) -> None:
        self._counts[self._last.bit_length()] += self._same
        self._same = 0

    def total(self) -> int:
        """How many batches were counted."""
        return sum(self._counts) + self._same

    @staticmethod
    def publish(of: Iterable[BatchSizes], row: np.ndarray) -> None:
        """Writes the median (the power of two that it is or follows), the least and the greatest of all that several have
        counted into a row of counters."""
        some = [each for each in of if each._greatest]
        if not some:
            return
        for each in some:
            each._settle()
        least, greatest = min(each._least for each in some), max(each._greatest for each in some)
        # only the powers that can occur: publishing takes a worker's time even when little was counted
        bits = least.bit_length()
        between = range(bits, greatest.bit_length() + 1)
        counts = [sum([each._counts[power] for each in some]) for power in between]
        left = (sum(counts) + 1) // 2
        for count in counts:
            if left <= count:
                break
            left -= count
            bits += 1
        row[Counter.BATCH_P50] = min(max(least, 1 << bits - 1), greatest)
        row[Counter.BATCH_MIN], row[Counter.BATCH_MAX] = least, greatest
