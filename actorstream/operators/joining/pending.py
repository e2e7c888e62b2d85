"""Pending: rows of one input that wait until the watermark has passed the windows they are in (AIR section 4.2).

A row is kept once, however many windows it is in, and let go with the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.fields import WATERMARK
from actorstream.events.saved import save_rows, saved_rows
from actorstream.native.lookup import NONE
from actorstream.operators.joining.whole import WholeStream
from actorstream.windows.sliding import GREATEST_TIME
from actorstream.windows.watermark import NOTHING

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.column import Column
    from actorstream.events.schema import Schema
    from actorstream.windows.sliding import SlidingWindows

CHUNK_ROWS = 4096
"""Batches are put together until they have so many rows."""
CHUNK_PARTS = 64
"""Or until they are so many: each keeps the memory of the jumbo tuple that it came in."""


class Closing(msgspec.Struct, frozen=True):
    """What windows that close have: `window[i]` has row `index[i]` of `rows` (None: row i), in the order of arrival."""

    rows: Batch
    index: np.ndarray | None
    window: np.ndarray

    def column(self, name: str) -> Column:
        """A column with one value for each of `window`."""
        column = self.rows.column(name)
        return column if self.index is None else column.take(self.index)

    def row(self, number: np.ndarray) -> np.ndarray:
        """The rows of numbers in `window`; NONE stays NONE."""
        if self.index is None:
            return number
        return np.where(number == NONE, NONE, self.index.take(number, mode="clip")).astype(np.uint32)


class _Chunk(NamedTuple):
    rows: Batch
    times: np.ndarray
    first: np.ndarray | None
    """The first window that takes each row (NOTHING: all it is in)."""
    low: int
    high: int
    nbytes: int


class Pending:
    """The rows of one input that open windows need. `closed`: the last window that is over, and takes nothing more."""

    def __init__(self, windows: SlidingWindows | WholeStream, schema: Schema) -> None:
        self.windows: Any = windows
        self.schema = schema
        self.timed = not isinstance(windows, WholeStream)
        self.closed = NOTHING
        self._chunks: list[_Chunk] = []
        self._fresh: list[tuple[Batch, np.ndarray, np.ndarray | None]] = []
        self._fresh_rows = self._fresh_bytes = 0
        self._fresh_low = NOTHING

    def add(self, batch: Batch) -> Batch | None:
        """Keeps the rows that some open window takes; answers those that are late for all their windows, None: none is.

        DataError, and nothing is kept: rows without event time, or with one before 1970."""
        windows = self.windows
        times = event_times(batch) if self.timed else np.zeros(batch.rows, np.int64)
        last = windows.last(times)
        watermarks = batch.system.get(WATERMARK) if self.timed else None
        gone: np.ndarray = last <= self.closed
        first = None
        if watermarks is not None:
            late, first = windows.admitted(times, watermarks.data)
            gone = gone | late
        if windows.slide > windows.size:  # a row between two windows is in none, and so not late for one
            between = windows.first(times) > last
            late_rows = batch.take(gone & ~between) if (gone & ~between).any() else None
            gone = gone | between
        else:
            late_rows = batch.take(gone) if gone.any() else None
        if gone.any():
            kept = ~gone
            batch, times = batch.take(kept), times[kept]
            first = None if first is None else first[kept]
        if batch.rows:
            low = max(int(windows.first(int(times.min()))), self.closed + 1)
            self._fresh_low = low if not self._fresh else min(low, self._fresh_low)
            self._fresh.append((batch, times, first))
            self._fresh_rows += batch.rows
            self._fresh_bytes += batch.nbytes
            if self._fresh_rows >= CHUNK_ROWS or len(self._fresh) >= CHUNK_PARTS:
                self._settle()
        return late_rows

    @property
    def low(self) -> int | None:
        """The first window that has a row; None: there is no row."""
        lows = [chunk.low for chunk in self._chunks]
        if self._fresh:
            lows.append(self._fresh_low)
        return min(lows, default=None)

    @property
    def high(self) -> int:
        """The last window that has a row; NOTHING: there is no row."""
        self._settle()
        return max((chunk.high for chunk in self._chunks), default=NOTHING)

    def close(self, high: int) -> Closing:
        """Rows of the windows up to `high` that have not been closed before. They are over now."""
        self._settle()
        parts: list[Batch] = []
        indexes: list[np.ndarray] = []
        numbers: list[np.ndarray] = []
        left: list[_Chunk] = []
        offset = 0
        repeated = False
        for chunk in self._chunks:
            if chunk.low > high:
                left.append(chunk)
                continue
            index, window, several = self._windows_of(chunk, high)
            if len(index) == 0:
                left.append(chunk)
                continue
            whole = len(index) == chunk.rows.rows and not several
            if not whole and not several:
                rows = chunk.rows.take(index)
                index = np.arange(rows.rows, dtype=np.uint32)
            else:
                rows = chunk.rows
            parts.append(rows)
            indexes.append(index + np.uint32(offset))
            numbers.append(window)
            offset += rows.rows
            repeated = repeated or several
            self._leave(chunk, high, left)
        self._chunks = left
        self.closed = max(self.closed, high)
        if not parts:
            nothing = Batch.of_columns(self.schema, {name: [] for name in self.schema.names()})
            return Closing(nothing, None, np.empty(0, np.int64))
        index = np.concatenate(indexes)
        return Closing(Batch.concat(parts), index if repeated else None, np.concatenate(numbers))

    def _windows_of(self, chunk: _Chunk, high: int) -> tuple[np.ndarray, np.ndarray, bool]:
        """Row numbers and windows, of each row in its windows up to `high`; and whether rows may repeat."""
        windows = self.windows
        last = np.minimum(windows.last(chunk.times), high)
        first = np.maximum(windows.first(chunk.times), self.closed + 1)
        if chunk.first is not None:
            first = np.maximum(first, chunk.first)
        counts = np.maximum(last - first + 1, 0)
        if windows.size <= windows.slide:
            index = np.flatnonzero(counts).astype(np.uint32)
            return index, last[index], False
        index = np.repeat(np.arange(len(counts), dtype=np.uint32), counts)
        ends = np.cumsum(counts)
        steps = np.arange(len(index)) - np.repeat(ends - counts, counts)
        return index, np.repeat(first, counts) + steps, True

    def _leave(self, chunk: _Chunk, high: int, left: list[_Chunk]) -> None:
        """Keeps what later windows need of a chunk, in memory of its own once that is half of it or less."""
        if chunk.high <= high:
            return
        needed = self.windows.last(chunk.times) > high
        count = int(np.count_nonzero(needed))
        if 2 * count <= chunk.rows.rows:
            first = None if chunk.first is None else chunk.first[needed]
            chunk = self._chunk(chunk.rows.take(needed).compact(), chunk.times[needed], first)
        left.append(chunk._replace(low=max(chunk.low, high + 1)))

    def _settle(self) -> None:
        """Puts the batches that came in together, in memory of their own."""
        if not self._fresh:
            return
        parts, self._fresh, self._fresh_rows, self._fresh_bytes = self._fresh, [], 0, 0
        batches = [batch for batch, _, _ in parts]
        rows = Batch.concat(batches) if len(parts) > 1 else batches[0].compact()
        first = None
        if any(each is not None for _, _, each in parts):
            first = np.concatenate(
                [np.full(len(times), NOTHING) if each is None else each for _, times, each in parts]
            )
        chunk = self._chunk(rows, np.concatenate([times for _, times, _ in parts]), first)
        self._chunks.append(chunk._replace(low=max(chunk.low, self.closed + 1)))

    def _chunk(self, rows: Batch, times: np.ndarray, first: np.ndarray | None) -> _Chunk:
        low, high = self.windows.first(int(times.min())), self.windows.last(int(times.max()))
        return _Chunk(rows, times, first, low, high, rows.nbytes + times.nbytes)

    @property
    def rows(self) -> int:
        """Rows that wait."""
        return self._fresh_rows + sum(chunk.rows.rows for chunk in self._chunks)

    def reduce(self, chosen: Callable[[Batch, np.ndarray], np.ndarray]) -> None:
        """Lets go of rows that nobody will need. `chosen` gets all rows with one integer each, the same for rows that
        are in the same windows, and answers the numbers of those to keep, ascending."""
        self._settle()
        if not self._chunks:
            return
        rows = Batch.concat([chunk.rows for chunk in self._chunks])
        times = np.concatenate([chunk.times for chunk in self._chunks])
        first = np.concatenate(
            [np.full(len(c.times), NOTHING) if c.first is None else c.first for c in self._chunks]
        )
        first = np.maximum(np.maximum(first, self.windows.first(times)), self.closed + 1)
        last = self.windows.last(times)
        alive = np.flatnonzero(last >= first)
        spread = (last - first)[alive]
        numbers = first[alive] * np.int64(int(spread.max(initial=0)) + 1) + spread
        kept = alive[chosen(rows.take(alive), numbers)]
        if len(kept) == 0:
            self._chunks = []
            return
        narrowed = None if all(chunk.first is None for chunk in self._chunks) else first[kept]
        self._chunks = [self._chunk(rows.take(kept).compact(), times[kept], narrowed)]
        self._chunks[0] = self._chunks[0]._replace(low=int(first[kept].min()))

    @property
    def nbytes(self) -> int:
        """Of the rows that wait."""
        return self._fresh_bytes + sum(chunk.nbytes for chunk in self._chunks)

    # -- snapshots

    def snapshot(self) -> dict[str, Any]:
        """Plain values of everything that waits."""
        self._settle()
        chunks = [
            {
                "rows": save_rows(chunk.rows),
                "times": chunk.times.tobytes(),
                "first": None if chunk.first is None else chunk.first.tobytes(),
            }
            for chunk in self._chunks
        ]
        return {"closed": self.closed, "chunks": chunks}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.closed = snapshot["closed"]
        self._chunks = []
        for each in snapshot["chunks"]:
            first = None if each["first"] is None else np.frombuffer(each["first"], np.int64)
            times = np.frombuffer(each["times"], np.int64)
            chunk = self._chunk(saved_rows(self.schema, each["rows"]), times, first)
            self._chunks.append(chunk._replace(low=max(chunk.low, self.closed + 1)))


def event_times(batch: Batch) -> np.ndarray:
    """The event times of the rows as int64; DataError names the first that windows cannot place."""
    times = batch.event_times()
    if times is None:
        raise DataError(
            f"rows of {batch.schema.name} have no event time; say event_time = FIELD at their source, and keep it "
            "where rows are changed (batch.take, with_columns, Batch.of(..., origin=rows))"
        )
    if times.dtype != np.int64:
        times = times.astype(np.int64)
    if len(times) and (int(times.min()) < 0 or int(times.max()) >= GREATEST_TIME):
        row = int(np.flatnonzero((times < 0) | (times >= GREATEST_TIME))[0])
        raise DataError(
            f"row {row} of {batch.schema.name} has the event time {int(times[row])}; allowed: 0 (1970) to "
            f"{GREATEST_TIME - 1} {batch.schema.time_unit}"
        )
    return times
