"""Order `timestamp` where rows are sent: those of one output are put in order of time. They are checked, or held back and
sorted. Pure.

What leaves a sequence ascends, and nothing leaves it below what was promised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import DataError, SchemaError
from actorstream.events.batch import Batch
from actorstream.events.representation import shown_rows
from actorstream.events.saved import SavedRows, save_rows, saved_rows
from actorstream.native.ascending import first_descent
from actorstream.native.merge import ENDED
from actorstream.topology.serial import POSITION
from actorstream.topology.timestamp import ORIGIN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.events.schema import Schema

FRONTIER_MIN = -(2**63)


class Unsorted(Exception):
    """A row whose time is below that of the row before it, or below what was promised.

    Attributes:
        row: its number in the batch.
        time, before: event times of the row, and of what it should not be below.
        follows: whether that is the row before it in the batch."""

    def __init__(self, row: int, time: int, before: int, *, follows: bool = False) -> None:
        super().__init__(row, time, before)
        self.row, self.time, self.before, self.follows = row, time, before, follows

    def told(self, batch: Batch) -> tuple[Any, str]:
        """The row, which is in `batch`, and what it comes after."""
        after = f"event time {self.before}"
        if self.follows:
            after = f"row {shown_rows(batch.slice(self.row - 1, 1))[0]!r} of {after}"
        return shown_rows(batch.slice(self.row, 1))[0], after

    def in_source(self, batch: Batch, first: int, file: str, where: str = "") -> DataError:
        """The error for a row of a source. first: number of the batch's first row in its partition, `file`."""
        row, after = self.told(batch)
        return DataError(
            f"{where}row {first + self.row} ({row!r}) has event time {self.time}, but comes after {after}; allowed: event "
            "times that do not descend within a partition, since the source has a consumer in timestamp order (say "
            'max_out_of_orderness = "10s", or how far rows may be out of order, to have them sorted)',
            file=file,
        )


Saved = tuple[int, SavedRows | None]
"""What a sequence keeps in a checkpoint: the time below which nothing leaves it any more, and the rows that wait."""


class Ascending:
    """A sequence of rows that must ascend as they are emitted."""

    def __init__(self) -> None:
        self.last = FRONTIER_MIN
        """Time of the last row, or the promised time if that is later."""

    def take(self, batch: Batch, times: np.ndarray, index: np.ndarray | None = None) -> Batch | None:
        """The rows that may go now, all of them. index: where their times are in `times`. Unsorted: they do not ascend."""
        first = int(times[0 if index is None else index[0]])
        if first < self.last:
            raise Unsorted(0, first, self.last)
        row = first_descent(times, index) if batch.rows > 1 else 0
        if row:
            times = times if index is None else times[index]
            raise Unsorted(row, int(times[row]), int(times[row - 1]), follows=True)
        self.last = int(times[-1 if index is None else index[-1]])
        return batch

    def release(self, frontier: int) -> Batch | None:
        """Nothing below `frontier` will be emitted: the rows that may go because of that, none."""
        if frontier > self.last:
            self.last = frontier
        return None

    def snapshot(self) -> Saved:
        return self.last, None

    def restore(self, snapshot: Saved, schema: Schema) -> None:
        self.last = snapshot[0]


class Sorted:
    """A sequence of rows that come in any order, but not below what was promised. Each waits until no row can precede it."""

    def __init__(self) -> None:
        self.promised = FRONTIER_MIN
        self.rows = 0
        self._held: list[Batch] = []
        self._least = 2**63 - 1

    def take(self, batch: Batch, times: np.ndarray, index: np.ndarray | None = None) -> Batch | None:
        """Holds the rows. index: where their times are in `times`. Unsorted: one is below what was promised."""
        if index is not None:
            times = times[index]
        least = int(times.min())
        if least < self.promised:
            row = int(np.flatnonzero(times < self.promised)[0])
            raise Unsorted(row, int(times[row]), self.promised)
        self._least = min(self._least, least)
        self._held.append(batch)
        self.rows += batch.rows
        return None

    def snapshot(self) -> Saved:
        return self.promised, save_rows(joined(self._held)) if self.rows else None

    def restore(self, snapshot: Saved, schema: Schema) -> None:
        self.promised, waiting = snapshot
        if waiting is not None:
            batch = saved_rows(schema, waiting)
            self.take(batch, times_of(batch))

    def release(self, frontier: int) -> Batch | None:
        """The rows below `frontier`, in order; rows of one time as they came. `ENDED`: all of them."""
        self.promised = max(self.promised, frontier)
        if not self.rows or (self._least >= frontier != ENDED):
            return None
        batch = joined(self._held)
        times = times_of(batch)
        order = np.argsort(times, kind="stable").astype(np.uint32)
        count = batch.rows if frontier == ENDED else int(np.searchsorted(times[order], frontier))
        self._held, self.rows, self._least = [], batch.rows - count, 2**63 - 1
        if self.rows:
            rest = _selected(batch, order[count:]).compact()
            self._held, self._least = [rest], int(times[order[count]])
        return _selected(batch, order[:count])


def placed(batch: Batch, origin: int, first: int) -> Batch:
    """The rows of a source's partition with their places: `origin` is the partition's, `first` the number of the first row."""
    rows = batch.rows
    return batch.with_system(**{ORIGIN: repeated(origin, rows), POSITION: np.arange(first, first + rows)})


_REPEATED: dict[int, np.ndarray] = {}
MOST_REPEATED, LONGEST_REPEATED = 8, 65_536
"""Values that arrays are kept of, and their most rows."""


def repeated(value: int, rows: int) -> np.ndarray:
    """So many rows of one value, int64, not to be changed."""
    found = _REPEATED.get(value)
    if found is None or len(found) < rows:
        found = np.full(rows, value, np.int64)
        if rows <= LONGEST_REPEATED and (value in _REPEATED or len(_REPEATED) < MOST_REPEATED):
            _REPEATED[value] = found
    return found[:rows]


def _selected(batch: Batch, order: np.ndarray) -> Batch:
    """The rows in that order; as they are if that is theirs."""
    if len(order) == batch.rows and bool((order[1:] > order[:-1]).all()):
        return batch
    return batch.selection(order)


def joined(batches: Sequence[Batch]) -> Batch:
    """The rows of several batches as one."""
    if len(batches) == 1:
        return batches[0]
    made = Batch.concat(batches)
    made.began = min((batch.began for batch in batches if batch.began), default=0)
    return made


def last_time(batch: Batch) -> int:
    """The event time of the last row, without a look at the others. SchemaError: the rows have none."""
    times, index = ungathered_times(batch)
    if times is None:
        times = times_of(batch)
    return int(times[batch.rows - 1 if index is None else index[-1]])


def ungathered_times(batch: Batch) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Event times, and if these are of more rows than the batch, the uint32 places of the batch's own among them. No times: there
    are none."""
    name = batch.schema.event_time
    if name is None:
        return batch.event_times(), None
    column, index = batch.ungathered(name)
    return column.data, index


def times_of(batch: Batch) -> np.ndarray:
    """Event times as contiguous int64. SchemaError: the rows have none."""
    times = batch.event_times()
    if times is None:
        raise SchemaError(f"rows of {batch.schema.name} have no event time, which timestamp order needs")
    return np.ascontiguousarray(times, np.int64)
