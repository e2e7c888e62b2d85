"""What windows take of rows that are out of order, row by row: the reference that operators are held to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from actorstream import Event

NOT_BEHIND = -1


class Left(Event):
    __event_time__ = "ts"
    ts: int
    key: int | None
    text: str
    row: int


class Right(Event):
    __event_time__ = "ts"
    ts: int
    key: int | None
    text: str
    number: int


@dataclass(frozen=True)
class Windows:
    size: int
    slide: int
    offset: int = 0
    lateness: int = 0

    def table(self) -> dict[str, Any]:
        """As a topology says it."""
        if self.size == self.slide:
            kind: dict[str, Any] = {"type": "tumbling", "size": self.size}
        else:
            kind = {"type": "sliding", "size": self.size, "slide": self.slide}
        return {**kind, "offset": self.offset, "allowed_lateness": self.lateness}

    def of(self, time: int) -> list[int]:
        """Starts of the windows that a time is in."""
        first = (time - self.size - self.offset) // self.slide + 1
        last = (time - self.offset) // self.slide
        return [self.offset + number * self.slide for number in range(first, last + 1)]

    def takes(self, start: int, watermark: int) -> bool:
        return watermark == NOT_BEHIND or watermark < start + self.size + self.lateness


def watermarks(rows: list[Any], slack: int) -> Iterator[tuple[Any, int]]:
    """Each row of a partition with the watermark before it where it is behind that."""
    greatest = None
    for row in rows:
        behind = greatest is not None and row.ts < greatest - slack
        yield row, greatest - slack if behind and greatest is not None else NOT_BEHIND
        greatest = row.ts if greatest is None else max(greatest, row.ts)


def assigned(
    partitions: dict[str, list[Any]], windows: Windows, slack: int
) -> tuple[dict[int, list[Any]], list[Any]]:
    """Window start -> its rows, in order; and the rows that are late for all their windows."""
    found: dict[int, list[Any]] = {}
    late = []
    for rows in partitions.values():
        for row, watermark in watermarks(rows, slack):
            starts = windows.of(row.ts)
            taking = [start for start in starts if windows.takes(start, watermark)]
            if starts and not taking:
                late.append(row)
            for start in taking:
                found.setdefault(start, []).append(row)
    return found, late


def values(event: Any) -> tuple[Any, ...]:
    return tuple(getattr(event, name) for name in event.__struct_fields__)


def arrow_of(kind: type[Event], events: list[Any]) -> pa.Table:
    """Rows of Left or Right for DuckDB, which takes one row after the other slowly."""
    types = {name: pa.string() if name == "text" else pa.int64() for name in kind.__struct_fields__}
    return pa.table({name: pa.array([getattr(e, name) for e in events], types[name]) for name in types})
