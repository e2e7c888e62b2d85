"""Survey: what the rows of an input hold in some of its fields, found by reading it before the plan is made: its
streams, the keys of its tags, and how many rows each has. Decides nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.connectors.files import is_stream
from actorstream.connectors.memory import MemorySource
from actorstream.connectors.source import batch_of
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.fields import INTEGERS

if TYPE_CHECKING:
    from actorstream.connectors.source import Source
    from actorstream.events.batch import Batch
    from actorstream.events.column import Column

ROWS = 1 << 16
"""Rows looked at at once."""

MOST_ROWS = 1 << 27
"""Rows that a source makes, at the most, if all of them are to be read before the start."""

LEAST = 256
"""Rows of a partition that a sample has at least, if there are so many."""

Values = tuple[Any, ...]


class Survey(msgspec.Struct):
    """What was found.

    Attributes:
        counts: (number of the partition, values of the fields) -> rows that have them, in the order in which they were
            first seen. Values are as they stand in events.
        spans: number of the partition -> its least and greatest event time, in the schema's unit; none without rows or
            an event time.
        time_unit_ns: nanoseconds of that unit.
        complete: False if the input has more rows than were looked at.
    """

    counts: dict[tuple[int, Values], int] = {}
    spans: dict[int, tuple[int, int]] = {}
    time_unit_ns: int = 1_000_000
    complete: bool = True

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    @property
    def first(self) -> int | None:
        """The least event time; None: there is none."""
        return min((first for first, _ in self.spans.values()), default=None)

    @property
    def last(self) -> int | None:
        """The greatest event time."""
        return max((last for _, last in self.spans.values()), default=None)

    def rates(self) -> dict[tuple[int, Values], float]:
        """Rows a second of event time, as far as it can be told: rows as such where all have one time, or none. Of a
        sample those of each partition over its own time: as many rows of each may be of very different times."""
        whole = self._seconds(self.first, self.last) or 1.0
        seconds = {}
        if not self.complete:
            seconds = {number: self._seconds(*span) or whole for number, span in self.spans.items()}
        return {found: count / seconds.get(found[0], whole) for found, count in self.counts.items()}

    def _seconds(self, first: int | None, last: int | None) -> float:
        return 0.0 if first is None or last is None else (last - first) * self.time_unit_ns / 1e9

    def add(self, partition: int, batch: Batch, columns: Sequence[str]) -> None:
        """The rows of a batch."""
        _count(self, partition, batch, columns)
        times = batch.time_range() if batch.schema.event_time is not None else None
        if times is not None:
            before = self.spans.get(partition, times)
            self.spans[partition] = min(before[0], times[0]), max(before[1], times[1])


def is_at_rest(source: Source) -> bool:
    """Whether it ends, and gives the same rows to whoever reads it: files, and lists in memory."""
    if (path := getattr(source, "path", None)) is not None:
        return not is_stream(path)
    return isinstance(source, MemorySource)


def survey(source: Source, columns: Sequence[str], most_rows: int | None = None) -> Survey:
    """Reads a source once, from its beginning, as fast as it can be read.

    Args:
        source: an instance that nobody else uses; it is stopped afterwards. Its `rate` and `repeat` are not heeded.
        columns: the fields to look at; none: rows are only counted.
        most_rows: look at no more than about so many, as many of each partition.

    Raises:
        ConfigurationError: a live source, or one without an end (or of more than MOST_ROWS rows) where `most_rows` is
            not given: neither can be read twice; its streams and keys have to be listed.
        DataError: a row does not parse, and the source's `on_bad_row` is "fail".
    """
    ends = is_at_rest(source) or (source.count is not None and source.count <= MOST_ROWS)
    endless = not ends and most_rows is None
    endless = endless or is_stream(getattr(source, "path", ""))  # what is read of a pipe is gone
    if inspect.iscoroutinefunction(source.read) or inspect.isasyncgenfunction(source.events) or endless:
        raise ConfigurationError(
            Problem(
                type(source).__name__,
                f"cannot be read beforehand to find its values of {', '.join(columns) or 'nothing'}",
                f"a source that ends, after {MOST_ROWS:,} rows at the most, and gives the same rows again",
                "list them: `streams` in the source's table, `keys` or `classes` in the program",
            )
        )
    source.repeat = source._most_passes = 1
    names = list(source.partitions())
    found = Survey()
    try:
        if most_rows is None:
            _read(source, names, columns, found, None)
        else:
            for name in names:
                _read(source, [name], columns, found, max(LEAST, most_rows // len(names)))
    finally:
        source.on_stop()
    return found


def _read(
    source: Source, partitions: list[str], columns: Sequence[str], found: Survey, most_rows: int | None
) -> None:
    """Adds what some partitions hold."""
    source.open(partitions)
    found.time_unit_ns = source.row_schema().time_unit_ns
    rows = 0
    while most_rows is None or rows < most_rows:
        most = ROWS if most_rows is None else min(ROWS, most_rows - rows)
        batch: Any = batch_of(source, source.read(most))  # type: ignore[arg-type] # not async, see `survey`
        if batch is None:
            return
        rows += batch.rows
        found.add(source.origin, batch, columns)
    found.complete = False


def _count(found: Survey, partition: int, batch: Batch, columns: Sequence[str]) -> None:
    coded = [_coded(batch.column(name)) for name in columns]
    codes = np.zeros(batch.rows, np.int64)
    for own, known in coded:
        _, codes = np.unique(codes * len(known) + own, return_inverse=True)
    _, firsts, counts = np.unique(codes, return_index=True, return_counts=True)
    for at in np.argsort(firsts):
        key = partition, tuple(known[own[firsts[at]]] for own, known in coded)
        found.counts[key] = found.counts.get(key, 0) + int(counts[at])


def _coded(column: Column) -> tuple[np.ndarray, list[Any]]:
    """Each row's value as a number, and the values by that number."""
    if column.field.plain and column.field.kind in INTEGERS:
        values, own = np.unique(column.numpy(), return_inverse=True)
        return own, values.tolist()
    numbers: dict[Any, int] = {}
    own = np.fromiter(
        (numbers.setdefault(value, len(numbers)) for value in column.tolist()), np.int64, column.length
    )
    return own, list(numbers)
