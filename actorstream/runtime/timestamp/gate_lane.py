"""Channels into a ScaleGate, with the rows of each that are in the gate. Decides nothing about order."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from actorstream.runtime.timestamp.lane import MOST_RUN, TimestampInLane
from actorstream.runtime.timestamp.merged_rows import packed
from actorstream.topology.timestamp import ORIGIN
from actorstream.transports.base import DATA, FRONTIER_MIN, follows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from actorstream.events.batch import Batch


class Run(NamedTuple):
    """Rows in the gate, whose columns stay until all readers have passed them."""

    batch: Batch
    frames: int
    """Frames of the run that are still in the channel and leave it with the run; 0: they have left it."""
    columns: Sequence[np.ndarray]


class GateLane(TimestampInLane):
    """A source of a ScaleGate: the channel of a replica in the same process.

    The frames of a run stay in the channel until all readers have passed it, unless a tie or a barrier keeps them."""

    __slots__ = ("added", "behind", "crowded", "gone", "last", "runs")

    def __init__(self, *ends: Any, **options: Any) -> None:
        super().__init__(*ends, **options)
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
        channel, first = self.channel, self.open
        head = channel.peek(first)
        assert head is not None and head.kind == DATA
        count, rows = 1, head.rows
        while count < MOST_RUN:
            each = channel.peek(first + count)
            if each is None or not follows(each, head, head.first + rows):
                break
            count += 1
            rows += each.rows
        batch: Batch = self.decode(head)
        if rows != batch.rows:
            batch = batch.slice(head.first, rows)
        assert self.packs is not None
        batch = packed(batch, self.packs)
        if self.shift:
            batch = batch.with_system(**{ORIGIN: batch.system[ORIGIN].data + self.shift})
        batch.entry_min, batch.entry_max, batch.began = head.min_entry, head.max_entry, head.began
        self.open = first + count
        return batch, count

    def take_back(self, batch: Batch) -> None:
        """Keeps rows that have left the channel until there is room in the gate."""
        self.behind.append(batch)
        self.buffered += batch.nbytes

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
                self.channel.consume_run(run.frames)
                self.open -= run.frames
                self.taken += run.frames
            else:
                self.buffered = max(0, self.buffered - run.batch.nbytes)

    def pending(self, runs: int, first: int) -> list[Batch]:
        """Rows that are in memory and in no stretch. runs, first: runs whose rows all are, and rows of the next that are."""
        found = []
        for run in list(self.runs)[runs - self.gone :]:
            found.append(run.batch.slice(first, run.batch.rows - first) if first else run.batch)
            first = 0
        return [*found, *self.behind]
