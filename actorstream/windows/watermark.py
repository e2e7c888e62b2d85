"""Watermarks of source partitions: decided by the data and never by arrival, so results do not depend on batching.

A partition's watermark before a row is its greatest earlier event time minus `out_of_orderness`; a row below it is
behind, and carries that watermark along so that windows can tell how late it is.
"""

from __future__ import annotations

import numpy as np

from actorstream.events.fields import IN_TIME
from actorstream.native.ascending import first_descent

NOTHING = IN_TIME
"""The watermark before the first row, and of rows that are not behind."""
AT_END = 2**63 - 2
"""Event time of what comes out at the end of the input and has none of its own: behind all that was promised."""


class PartitionWatermarks:
    """The watermarks of the partitions that one source replica reads.

    Args:
        out_of_orderness: how far a row may lie behind an earlier one and still be in time, in the unit of event time.
        ordered: event time never decreases within a partition, nor does it fall below what was promised: the source says so,
            or whoever takes the rows refuses others. So nothing is looked at here.
    """

    def __init__(self, out_of_orderness: int, *, ordered: bool = False) -> None:
        self.out_of_orderness = out_of_orderness
        self.ordered = ordered
        self._greatest: dict[int, int] = {}

    def observe(self, partition: int, times: np.ndarray, promised: int = NOTHING) -> np.ndarray | None:
        """Takes the event times (int64, in row order) of the next rows of a partition. Answers None if none is behind,
        else one int64 a row: the watermark before it where it is behind, NOTHING elsewhere. `promised`: what the source
        has promised besides, by the clock say; rows below it are behind it too."""
        if len(times) == 0:
            return None
        before = self._greatest.get(partition, NOTHING)
        if self.ordered or (int(times[0]) >= max(before, promised) and not first_descent(times)):
            self.passed(partition, int(times[-1]))
            return None
        greatest = np.maximum.accumulate(np.concatenate(([before], times)))
        self._greatest[partition] = int(greatest[-1])
        earlier = greatest[:-1]
        known = earlier > NOTHING + self.out_of_orderness
        watermark = np.where(known, earlier - np.where(known, self.out_of_orderness, 0), promised)
        watermark = np.maximum(watermark, promised)
        behind = times < watermark
        return np.where(behind, watermark, NOTHING) if behind.any() else None

    def passed(self, partition: int, time: int) -> None:
        """The next rows of a partition were in order, the last of them with this event time."""
        self._greatest[partition] = max(self._greatest.get(partition, NOTHING), time)

    def snapshot(self) -> dict[int, int]:
        """The greatest event time of each partition so far."""
        return dict(self._greatest)

    def restore(self, snapshot: dict[int, int]) -> None:
        """Takes back what `snapshot` answered."""
        self._greatest = dict(snapshot)

    def watermark(self, partition: int) -> int:
        """What the partition promises now: no row in time is below it."""
        greatest = self._greatest.get(partition)
        return NOTHING if greatest is None else max(greatest - self.out_of_orderness, NOTHING)

    def last(self) -> int:
        """The greatest watermark of all partitions: what they have promised once all of them have ended."""
        return max(map(self.watermark, self._greatest), default=NOTHING)
