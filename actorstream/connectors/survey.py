"""Survey: what the rows of an input hold in some of its fields, found by reading it before the plan is made: its
streams, the keys of its tags, and how many rows each has. Decides nothing.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.connectors.source import batch_of
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.fields import INTEGERS

if TYPE_CHECKING:
    from actorstream.connectors.source import Source
    from actorstream.events.batch import Batch
    from actorstream.events.column import Column

ROWS = 1 << 16
"""Rows looked at at once."""

Values = tuple[Any, ...]


@dataclass
class Survey:
    """What was found.

    Attributes:
        counts: (number of the partition, values of the fields) -> rows that have them, in the order in which they were
            first seen. Values are as they stand in events.
        first, last: least and greatest event time, in the schema's unit; None without rows or an event time.
        time_unit_ns: nanoseconds of that unit.
        complete: False if the input has more rows than were looked at.
    """

    counts: dict[tuple[int, Values], int] = field(default_factory=dict)
    first: int | None = None
    last: int | None = None
    time_unit_ns: int = 1_000_000
    complete: bool = True

    @property
    def rows(self) -> int:
        return sum(self.counts.values())

    def rates(self) -> dict[tuple[int, Values], float]:
        """Rows a second of event time, as far as it can be told: rows as such where all have one time, or none."""
        span = 0 if self.first is None or self.last is None else self.last - self.first
        seconds = span * self.time_unit_ns / 1e9 or 1.0
        return {found: count / seconds for found, count in self.counts.items()}


def survey(source: Source, columns: Sequence[str], most_rows: int | None = None) -> Survey:
    """Reads a source once, from its beginning, as fast as it can be read.

    Args:
        source: an instance that nobody else uses; it is stopped afterwards. Its `rate` and `repeat` are not heeded.
        columns: the fields to look at; none: rows are only counted.
        most_rows: look at no more than about so many.

    Raises:
        ConfigurationError: a live source, or one without an end where `most_rows` is not given: neither can be read
            twice; its streams and keys have to be listed.
        DataError: a row does not parse, and the source's `on_bad_row` is "fail".
    """
    endless = not hasattr(source, "path") and source.count is None and most_rows is None
    if inspect.iscoroutinefunction(source.read) or inspect.isasyncgenfunction(source.events) or endless:
        raise ConfigurationError(
            Problem(
                type(source).__name__,
                f"cannot be read beforehand to find its values of {', '.join(columns) or 'nothing'}",
                "a source that ends and gives the same rows again",
                "list them: `streams` in the source's table, `keys` or `classes` in the program",
            )
        )
    source.repeat = 1
    source.open(source.partitions())
    schema = source.row_schema()
    found = Survey(time_unit_ns=schema.time_unit_ns)
    rows = 0
    try:
        while most_rows is None or rows < most_rows:
            batch: Any = batch_of(source, source.read(ROWS))  # type: ignore[arg-type] # not async, see above
            if batch is None:
                return found
            rows += batch.rows
            _count(found, source.origin, batch, columns)
            times = batch.time_range() if schema.event_time is not None else None
            if times is not None:
                found.first = times[0] if found.first is None else min(found.first, times[0])
                found.last = times[1] if found.last is None else max(found.last, times[1])
        found.complete = False
        return found
    finally:
        source.on_stop()


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
