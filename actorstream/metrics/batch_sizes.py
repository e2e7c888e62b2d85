"""BatchSizes: counts how many rows batches had, for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.metrics.counters import Counter

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np


class BatchSizes:
    """Counts the sizes of batches, by powers of two."""

    __slots__ = ("_counts", "_greatest", "_least")

    def __init__(self) -> None:
        self._counts = [0] * 64
        self._least, self._greatest = 0, 0

    def count(self, rows: int, batches: int = 1) -> None:
        """So many batches have so many rows each, at least one."""
        self._counts[rows.bit_length()] += batches
        if rows > self._greatest:
            self._greatest = rows
        if rows < self._least or not self._least:
            self._least = rows

    def total(self) -> int:
        """How many batches were counted."""
        return sum(self._counts)

    @staticmethod
    def publish(of: Iterable[BatchSizes], row: np.ndarray) -> None:
        """Writes the median (the power of two that it is or follows), the least and the greatest of all that several have
        counted into a row of counters."""
        some = [each for each in of if each._greatest]
        if not some:
            return
        least, greatest = min(each._least for each in some), max(each._greatest for each in some)
        counts = [sum(column) for column in zip(*(each._counts for each in some))]
        left = (sum(counts) + 1) // 2
        bits = 0
        while left > counts[bits]:
            left -= counts[bits]
            bits += 1
        row[Counter.BATCH_P50] = min(max(least, 1 << max(bits, 1) - 1), greatest)
        row[Counter.BATCH_MIN], row[Counter.BATCH_MAX] = least, greatest
