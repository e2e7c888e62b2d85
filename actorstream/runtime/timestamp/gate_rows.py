"""The rows of each lane into a ScaleGate that are in the gate or wait before it. Decides nothing about order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from actorstream.runtime.timestamp.lane_rows import MOST_RUN
from actorstream.transports.base import DATA, FRONTIER_MIN, follows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from actorstream.events.batch import Batch
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.timestamp.lane_rows import RowOrder, Spilled


class Run(NamedTuple):
    """Rows in the gate, whose columns stay until all readers have passed them."""

    batch: Batch
    frames: int
    """Frames of the run that are still in the channel and leave it with the run; 0: they have left it."""
    columns: Sequence[np.ndarray]


class GateRows:
    """The rows of a source of a ScaleGate: of the lane of a replica in the same process.

    The frames of a run stay in the channel until all readers have passed it, unless a tie or a barrier keeps them."""

    __slots__ = (
        "added",
        "behind",
        "buffered",
        "crowded",
        "gone",
        "index",
        "lane",
        "last",
        "open",
        "order",
        "over",
        "runs",
        "spill",
    )

    def __init__(self, lane: InLane, order: RowOrder, spill: Spilled) -> None:
        self.lane, self.order, self.spill, self.index = lane, order, spill, lane.index
        self.open = 0
        """Frames at the head of the channel that were taken in and not consumed yet."""
        self.buffered = 0
        """Bytes of rows that have left the channel and have not gone."""
        self.over = False
        """Whether nothing more of it comes into the gate."""
        self.runs: deque[Run] = deque()
        """The runs in the gate, oldest first."""
        self.added = self.gone = 0
        """Runs that were added, and those that all readers have passed."""
        self.behind: deque[Batch] = deque()
        """Rows that have left the channel and are not in the gate yet. Rows in the spill come behind them."""
        self.last = FRONTIER_MIN
        """Time of the last row that was taken off the channel, or is in the gate while its frame is in the channel."""
        self.crowded = False
        """Whether the lane's rows must leave the channel, so that rows behind them can come."""

    @property
    def waits(self) -> bool:
        """Whether rows that have left the channel are still to be added."""
        return bool(self.behind or self.spill)

    def fetch(self) -> tuple[Batch, int]:
        """The rows of the first data frame that is not in the gate, and of the frames that follow it in the same payload;
        and how many frames these are."""
        channel, first = self.lane.channel, self.open
        head = channel.peek(first)
        assert head is not None and head.kind == DATA
        count, rows = 1, head.rows
        while count < MOST_RUN:
            each = channel.peek(first + count)
            if each is None or not follows(each, head, head.first + rows):
                break
            count += 1
            rows += each.rows
        batch = self.lane.decode(head)
        if rows != batch.rows:
            batch = batch.slice(head.first, rows)
        batch = self.order.prepared(batch, head)
        self.open = first + count
        return batch, count

    def take_back(self, batch: Batch) -> None:
        """Keeps rows that have left the channel until there is room in the gate."""
        self.behind.append(batch)
        self.buffered += batch.nbytes

    def consume_open(self) -> None:
        """Takes the frames that were taken in off the channel."""
        if self.open:
            self.lane.consume_run(self.open)
            self.open = 0

    def buffer(self) -> None:
        """Takes the frames of runs in the gate off the channel, before their rows have gone."""
        if not self.open:
            return
        self.consume_open()
        runs = self.runs
        for at in range(len(runs) - 1, -1, -1):
            run = runs[at]
            if not run.frames:
                break
            self.buffered += run.batch.nbytes
            runs[at] = Run(run.batch, 0, run.columns)

    def release_runs(self, passed: int) -> None:
        """All readers have passed so many runs: releases them."""
        while self.gone < passed:
            run = self.runs.popleft()
            self.gone += 1
            if run.frames:
                self.lane.consume_run(run.frames)
                self.open -= run.frames
            else:
                self.buffered = max(0, self.buffered - run.batch.nbytes)

    def pending(self, runs: int, first: int) -> list[Batch]:
        """Rows that are in memory and in no stretch. runs, first: runs whose rows all are, and rows of the next that are."""
        found = []
        for run in list(self.runs)[runs - self.gone :]:
            found.append(run.batch.slice(first, run.batch.rows - first) if first else run.batch)
            first = 0
        return [*found, *self.behind]
