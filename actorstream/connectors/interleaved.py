"""InterleavedSource: several streams that are made by rule, side by side. A base class; knows nothing of what is in the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import numpy as np
from msgspec import Meta

from actorstream.connectors.source import NO_MORE, Source
from actorstream.native.generate import ShardNumbering

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch


Shards = Annotated[int, Meta(ge=1, le=65535, description="a whole number from 1 to 65535")]


class InterleavedSource(Source):
    """Streams without end, a partition each, whose rows differ in time: row i of stream k has event time i * shards + k,
    if the class of the rows, which is the one in `outputs`, has an event time. What else is in them a subclass says in
    `columns`; after `kept` rows a stream begins with the same again, at later times, so making rows costs a slice and the
    times.

    Args:
        count: rows in all, of all streams. rate: rows a second.
        shards: how many streams there are, named s0, s1, …
    """

    kept: ClassVar = 1 << 16

    def __init__(self, count: int | None = None, rate: float | None = None, shards: Shards = 2) -> None:
        super().__init__(count=count, rate=rate)
        self.shards = shards
        self._made: dict[int, int] = {}
        """Stream -> rows made of it."""
        self._turn = -1
        self._time: str | None = None
        """The field that is the event time."""
        self._rows: dict[int, Batch] = {}
        """Stream -> its first rows, at no time."""
        self._numbers: dict[int, ShardNumbering] = {}
        """Stream -> the times of its rows."""

    def columns(self, stream: int, name: str) -> Mapping[str, Any]:
        """The fields but the event time of the first `kept` rows of a stream."""
        raise NotImplementedError(f"{type(self).__name__} does not define columns()")

    def partitions(self) -> list[str]:
        return [f"s{number}" for number in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        from actorstream.events.batch import Batch

        super().open(partitions)
        names = self.partitions()
        self._made = dict.fromkeys(map(names.index, partitions), 0)
        schema = self.row_schema()
        self._time = schema.event_time
        for stream in self._made:
            columns = dict(self.columns(stream, names[stream]))
            if self._time is not None:
                self._numbers[stream] = ShardNumbering(first=stream, stride=self.shards)
                columns[self._time] = np.zeros(self.kept, np.int64)
            self._rows[stream] = Batch.of_columns(schema, columns)

    def read(self, max_rows: int) -> Batch | None:
        """Rows of the next stream in turn that has any."""
        for _ in self._made:
            self._turn = (self._turn + 1) % self.shards
            while self._turn not in self._made:
                self._turn = (self._turn + 1) % self.shards
            stream, first = self._turn, self._made[self._turn]
            rows = min(max_rows, self.kept - first % self.kept, self._end(stream) - first)
            if rows > 0:
                self.origin, self.row = stream, first
                self._made[stream] = first + rows
                made = self._rows[stream].slice(first % self.kept, rows)
                if self._time is None:
                    return made.with_columns()
                times = self._numbers[stream].event_times(first, rows)
                return made.with_columns(**{self._time: times})
        return None

    def lower_bound(self, now_ns: int) -> int:
        going = [made * self.shards + of for of, made in self._made.items() if made < self._end(of)]
        return min(going, default=NO_MORE)

    def position(self) -> dict[str, int]:
        names = self.partitions()
        return {names[stream]: made for stream, made in self._made.items()}

    def seek(self, positions: dict[str, int]) -> None:
        names = self.partitions()
        self._made = {stream: positions.get(names[stream], 0) for stream in self._made}

    def _end(self, stream: int) -> int:
        return NO_MORE if self.count is None else max(0, -(-(self.count - stream) // self.shards))
