"""The rows of each lane into a ScaleGate: those in the gate, then those that wait before it. Decides nothing about order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from actorstream.transports.base import FRONTIER_MIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from actorstream.events.batch import Batch
    from actorstream.runtime.timestamp.lane_rows import LaneRows


class GateRows:
    """The rows of a source of a ScaleGate: of the lane of a replica in the same process."""

    __slots__ = ("_columns", "added", "crowded", "gone", "index", "lane", "last", "over", "rows")

    def __init__(self, rows: LaneRows) -> None:
        self.rows, self.lane, self.index = rows, rows.lane, rows.index
        self.over = False
        """Whether nothing more of it comes into the gate."""
        self.added = self.gone = 0
        """Runs that were added to the gate, and those that all readers have passed."""
        self.last = FRONTIER_MIN
        """Time of the last row that was taken off the channel, or is in the gate while its frame is in the channel."""
        self.crowded = False
        """Whether the lane's rows must leave the channel, so that rows behind them can come."""
        self._columns: deque[Sequence[np.ndarray]] = deque()
        """Times and ties of the runs in the gate, which reads them there."""

    @property
    def waits(self) -> bool:
        """Whether rows that have left the channel are still to be added."""
        return len(self.rows.runs) > self.added - self.gone or bool(self.rows.spill)

    def next_waiting(self) -> Batch:
        """The first rows that have left the channel and are still to be added."""
        rows, at = self.rows, self.added - self.gone
        if len(rows.runs) == at:
            rows.append(rows.spill.take())
        return rows.runs[at].batch

    def add(self, batch: Batch, columns: Sequence[np.ndarray]) -> None:
        """The first run that was not in the gate is now, as `batch`. columns: its times and ties."""
        runs, at = self.rows.runs, self.added - self.gone
        runs[at] = runs[at]._replace(batch=batch)
        self._columns.append(columns)
        self.added += 1
        self.last = max(self.last, int(columns[0][-1]))

    def release_runs(self, passed: int) -> None:
        """All readers have passed so many runs: releases them."""
        while self.gone < passed:
            self.rows.release()
            self._columns.popleft()
            self.gone += 1

    def pending(self, runs: int, first: int) -> list[Batch]:
        """Rows that are in memory and in no stretch. runs, first: runs whose rows all are, and rows of the next that are."""
        found = [run.batch for run in list(self.rows.runs)[runs - self.gone :]]
        if first:
            found[0] = found[0].slice(first, found[0].rows - first)
        return found
