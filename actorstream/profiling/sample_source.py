"""A source that gives a sample again and again, so that an operator can be measured alone. It reads nothing."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.connectors.source import NO_MORE, Source
from actorstream.events.batch import Batch
from actorstream.events.fields import Kind
from actorstream.events.values import LAST_TIME

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

FARTHEST = 1 << 62
"""Of event times that are numbers: windows take none beyond."""


class Sample:
    """Rows that an upstream operator has made, in the order in which they came.

    Attributes:
        batch: the rows; None: there were none. schema: theirs.
        times: the event time of each row; None: they have none.
    """

    def __init__(self, schema: Schema, batches: list[Batch]) -> None:
        self.schema = schema
        self.batch = Batch.concat(batches) if batches else None
        self.times = None if self.batch is None else self.batch.event_times()

    @property
    def rows(self) -> int:
        return 0 if self.batch is None else self.batch.rows

    @property
    def row_bytes(self) -> float:
        """N: bytes of a row in a jumbo tuple."""
        return self.batch.nbytes / self.rows if self.batch is not None and self.rows else 0.0

    def later(self, first: int, rows: int, shift: int) -> Batch:
        """Some of the rows, `shift` units of event time later."""
        assert self.batch is not None
        piece = self.batch.slice(first, rows)
        if self.times is None or shift == 0:
            return piece
        times = self.times[first : first + rows] + shift
        name = self.schema.event_time
        return piece.with_system(_time=times) if name is None else piece.with_columns(**{name: times})


class SampleSource(Source):
    """Gives a sample.

    Args:
        sample: what it gives.
        passes: how often; 0: as often as its event time allows, without end if it has none. Each pass is later than the one
            before by the time that the sample spans, so event time goes on and nothing is late that was not late in the sample.
    """

    clocked: ClassVar[bool] = False

    def __init__(self, sample: Sample, passes: int = 0) -> None:
        super().__init__(repeat=passes)
        self.sample = sample
        self._at = self._pass = 0
        times = sample.times
        if times is not None and len(times):
            greatest = np.maximum.accumulate(times)
            slack = int((greatest - times).max()) * sample.schema.time_unit_ns
            self.max_out_of_orderness = timedelta(microseconds=-(-slack // 1000))
            self._least = np.minimum.accumulate(times[::-1])[::-1]
            self._span = int(greatest[-1]) - int(times.min()) + 1
            # Half of the time that is left: windows and intervals of consumers reach beyond their rows.
            most = 1 + max(latest_time(sample.schema) - int(greatest[-1]), 0) // 2 // self._span
            self.repeat = min(self.repeat or most, most)

    def row_schema(self) -> Schema:
        return self.sample.schema

    def position(self) -> dict[str, int]:
        return {}

    def kept_position(self) -> dict[str, Any]:
        return {}

    def read(self, max_rows: int) -> Batch | None:
        sample = self.sample
        if self._at == sample.rows:
            self._at, self._pass = 0, self._pass + 1
        if sample.rows == 0 or self._pass == self.repeat > 0:
            return None
        rows = min(max_rows, sample.rows - self._at)
        shift = 0 if sample.times is None else self._pass * self._span
        batch = sample.later(self._at, rows, shift)
        self._at += rows
        return batch

    def lower_bound(self, now_ns: int) -> int | None:
        sample = self.sample
        if sample.rows == 0 or (self.repeat and self._pass + (self._at == sample.rows) >= self.repeat):
            return NO_MORE
        if sample.times is None:
            return None
        ended = self._at == sample.rows
        least = int(self._least[0] if ended else self._least[self._at])
        return least + (self._pass + ended) * self._span


def latest_time(schema: Schema) -> int:
    """The greatest event time that rows of a schema can have, in its unit."""
    if schema.event_time is None:
        return FARTHEST
    field = schema.field(schema.event_time)
    if field.kind is Kind.DATETIME:
        return LAST_TIME
    assert field.dtype is not None  # an integer
    return min(int(np.iinfo(field.dtype).max), FARTHEST)
