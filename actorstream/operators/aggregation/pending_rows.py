"""Held: rows behind their partition's watermark that wait until the merged watermark is above it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.jumbo import decode, from_bytes, to_bytes
from actorstream.operators.aggregation.admission import times_of

if TYPE_CHECKING:
    from actorstream.events.schema import Schema


class PendingRows:
    """Rows of one schema, each with its watermark and event time."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._parts: list[tuple[Batch, np.ndarray, np.ndarray]] = []
        self._least = 0

    def add(self, batch: Batch, marks: np.ndarray) -> None:
        """Keeps rows, in memory of their own."""
        least = int(marks.min())
        self._least = least if not self._parts else min(least, self._least)
        self._parts.append((batch.compact(), marks, times_of(batch).copy()))

    def take(self, below: int) -> tuple[Batch, np.ndarray] | None:
        """Takes out the rows whose watermark is under `below`, with these: by watermark, then the latest first."""
        if not self._parts or self._least >= below:
            return None
        batch = Batch.concat([rows for rows, _, _ in self._parts])
        marks = np.concatenate([marks for _, marks, _ in self._parts])
        times = np.concatenate([times for _, _, times in self._parts])
        over = marks < below
        self._parts = []
        if not over.all():
            rows = batch.take(~over).compact()
            self._parts = [(rows, marks[~over], times[~over])]
            self._least = int(marks[~over].min())
        order = np.flatnonzero(over)
        order = order[np.lexsort((-times[order], marks[order]))]
        return batch.take(order), marks[order]

    @property
    def nbytes(self) -> int:
        return sum(rows.nbytes + marks.nbytes + times.nbytes for rows, marks, times in self._parts)

    def snapshot(self) -> Any:
        return [(to_bytes(rows), marks.tobytes(), times.tobytes()) for rows, marks, times in self._parts]

    def restore(self, snapshot: Any) -> None:
        self._parts = []
        for rows, marks, times in snapshot:
            own = np.frombuffer(marks, np.int64)
            batch = decode(self._schema, from_bytes(rows)).with_system(_time=np.frombuffer(times, np.int64))
            self._parts.append((batch, own, np.frombuffer(times, np.int64)))
        self._least = min((int(marks.min()) for _, marks, _ in self._parts), default=0)
