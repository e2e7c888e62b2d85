"""Rows of a lane with timestamp input while they wait, and what a checkpoint keeps of them. Decides nothing about order."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from actorstream.errors import ConfigurationError, Problem
from actorstream.events.batch import Batch
from actorstream.events.saved import SavedRows
from actorstream.ordering.timestamp import repeated
from actorstream.topology.timestamp import ORIGIN
from actorstream.transports.base import FRONTIER_MIN, Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.events.spill import Spill
    from actorstream.runtime.lanes import InLane

SavedLanes = list[tuple[str, int, list[SavedRows]]]
"""In a checkpoint: input, replica of its producer, and its rows that wait, oldest first."""
MOST_RUN = 1024
"""Frames that are taken in at once."""


class RowOrder(msgspec.Struct):
    """What the rows of one lane carry for their order.

    Attributes:
        rank: of the input. replica: which replica of its producer sends.
        columns: they tell apart rows of one time and rank.
        by_value: whether such rows are ordered by what is in them; tie_fields: see `topology.timestamp.Sequenced`.
        shift: is added to the origins of the rows, so that those of several inputs stay apart whenever and with whatever rows
            the actor emits them.
        local: whether the producer is in this process, so that payloads are batches.
    """

    rank: int = 0
    replica: int = 0
    columns: tuple[str, ...] = ()
    by_value: bool = False
    tie_fields: tuple[str, ...] = ()
    shift: int = 0
    local: bool = False

    def prepared(self, batch: Batch, frame: Frame) -> Batch:
        """Rows that have come in a frame, as they are merged."""
        if self.shift:
            batch = batch.with_system(**{ORIGIN: batch.system[ORIGIN].data + self.shift})
        batch.entry_min, batch.entry_max, batch.began = frame.min_entry, frame.max_entry, frame.began
        return batch

    def ties(self, batch: Batch, most: int) -> list[np.ndarray]:
        """The `most` columns that order tied rows; a column that the lane does not have is 0."""
        found = [batch.system[name].data for name in self.columns]
        if len(found) < most:
            found += [repeated(0, batch.rows)] * (most - len(found))
        return found


class Run(NamedTuple):
    """Rows that were taken in together."""

    batch: Batch
    frames: int
    """Frames of the run that are still in the channel and leave it with the run; 0: they have left it."""
    nbytes: int
    """Bytes of the rows, which count in `LaneRows.buffered` once the frames have left the channel."""


class LaneRows:
    """The rows of one lane that were taken in and have not gone.

    The frames of a run stay in the channel until its rows have gone, unless a tie or a barrier keeps these."""

    def __init__(self, lane: InLane, order: RowOrder, spill: Spill) -> None:
        self.lane, self.order = lane, order
        self.index, self.input = lane.index, lane.input
        self.open = 0
        """Frames at the head of the channel that were taken in and not consumed yet."""
        self.runs: deque[Run] = deque()
        """Rows that were taken in and have not gone, oldest first."""
        self.buffered = 0
        """Bytes of the runs that have left the channel."""
        self.spill = spill
        """Rows behind these, which have left the channel too and are too many for memory."""
        self.over = False
        """Whether the merge knows that nothing more comes."""
        self.rests = False
        """Whether the merge does not wait for the lane, since it is idle."""
        self.promised: int | None = None
        """The event time that the merge was last promised for the lane, as far as nothing has changed that since."""
        self.last = self.least = FRONTIER_MIN
        """Time of the last row that was taken in, and the time below which rows come too late since the lane was idle."""
        self.crowded = False
        """Whether rows must leave the channel, so that rows behind them can come."""

    def take_in(self, frame: Frame) -> Batch:
        """Takes in the rows of the first frame that was not taken in, a data frame, and of the frames that follow it in the
        same payload."""
        count, rows = self.lane.channel.run(MOST_RUN, self.open)
        batch = self.order.prepared(self._decoded(frame, rows), frame)
        self.runs.append(Run(batch, count, count * frame.nbytes))
        self.open += count
        return batch

    def _decoded(self, frame: Frame, rows: int) -> Batch:
        """So many rows of the payload of a frame."""
        if self.order.local:
            whole: Batch = frame.payload
            return whole if whole.rows == rows else whole.slice(frame.first, rows)
        own, frame.rows = frame.rows, rows
        batch = self.lane.decode(frame)
        frame.rows = own
        return batch

    def append(self, batch: Batch) -> None:
        """Keeps rows that have left the channel before."""
        self.runs.append(Run(batch, 0, batch.nbytes))
        self.buffered += batch.nbytes

    def buffer(self) -> None:
        """Takes the frames that were taken in off the channel, before their rows have gone."""
        if not self.open:
            return
        self.lane.consume_run(self.open)
        self.open = 0
        runs = self.runs
        for at in range(len(runs) - 1, -1, -1):
            if not runs[at].frames:
                break
            self.buffered += runs[at].nbytes
            runs[at] = runs[at]._replace(frames=0)

    def drop(self) -> None:
        """Drops the rows that were taken in last: none of them is left."""
        run = self.runs.pop()
        if not run.frames:
            self.buffered -= run.nbytes
        self.buffer()

    def is_crowded(self, most: int) -> bool:
        """Whether further rows that leave their channel are too many for memory. most: bytes."""
        return bool(self.spill) or self.buffered > most

    def put_aside(self) -> None:
        """Moves the rows that were taken in last to the spill."""
        self.spill.put(self.runs[-1].batch)
        self.drop()

    def release(self) -> None:
        """Drops the rows that were taken in first: they have gone."""
        run = self.runs.popleft()
        if run.frames:
            self.lane.consume_run(run.frames)
            self.open -= run.frames
        else:
            self.buffered -= run.nbytes


def saved_lane(rows: LaneRows, saved: list[SavedRows]) -> tuple[str, int, list[SavedRows]]:
    """An entry of a checkpoint: rows of a lane, by where they come from."""
    return rows.input, rows.order.replica, saved


def by_lane(
    snapshot: Sequence[Sequence[Any]], all_rows: Sequence[LaneRows]
) -> Iterator[tuple[LaneRows, list[SavedRows]]]:
    """Of each entry of a checkpoint, the lane that it belongs to. ConfigurationError: there is no such lane."""
    known = {(rows.input, rows.order.replica): rows for rows in all_rows}
    for name, replica, saved in snapshot:
        if (name, replica) in known:
            yield known[name, replica], saved
        elif saved:
            raise ConfigurationError(
                Problem(
                    f"input {name!r}",
                    f"rows of replica {replica} of its producer wait in the checkpoint, and the run has no such replica",
                    "the number of replicas that the checkpoint was made with",
                )
            )
