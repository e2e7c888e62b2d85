"""MergedPartitions: the partitions of a source in timestamp order, which are read one after the other, as one sequence by time.
Reads through the source's own protocol; knows no files."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.connectors.source import NO_MORE, Source, batch_of
from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.interleaved import Interleaving, Part, interleaved
from actorstream.events.saved import save_rows, saved_rows
from actorstream.native.merge import ENDED, Merge
from actorstream.ordering.timestamp import Ascending, Sorted, Unsorted, joined, placed, times_of
from actorstream.topology.serial import POSITION
from actorstream.topology.timestamp import ORIGIN
from actorstream.windows.watermark import PartitionWatermarks

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

MOST_PARTITIONS = 4096


class _Reader:
    """One partition: a source of its own that reads nothing else, its rows in order."""

    def __init__(self, source: Any, name: str, origin: int, slack: int | None) -> None:
        self.source, self.name, self.origin = source, name, origin
        self.watermarks = PartitionWatermarks(slack or 0, ordered=bool(getattr(source, "ordered", False)))
        self.sequence: Ascending | Sorted = Ascending() if slack is None else Sorted()
        self.sorts = slack is not None
        self.ended = False
        self.unsorted: DataError | None = None
        """A row that was out of order; nothing more is read then."""
        self.late: list[Batch] = []

    def rows(self, max_rows: int) -> Batch | None:
        """The next rows, or none yet; None: it has ended, or has nothing for now (`ended` says which)."""
        while not self.ended and self.unsorted is None:
            batch = batch_of(self.source, self.source.read(max_rows))
            if batch is None:
                self.ended = True
                return self.sequence.release(ENDED)
            if not batch.rows:
                return None
            found = self._in_order(batch)
            if found is not None and found.rows:
                return found
        return None

    def _in_order(self, batch: Batch) -> Batch | None:
        first = self.source.row
        batch = placed(batch, self.origin, first)
        times = times_of(batch)
        if not self.sorts:
            try:
                return self.sequence.take(batch, times)
            except Unsorted as error:
                self.unsorted = error.in_source(batch, first, self.name)
                return None
        marks = self.watermarks.observe(self.origin, times)
        if marks is not None:
            late = marks > -(2**63)
            self.late.append(batch.take(late))
            batch, times = batch.take(~late), times[~late]
        if batch.rows:
            self.sequence.take(batch, times)
        return self.sequence.release(self.watermarks.watermark(self.origin))

    def snapshot(self, waiting: Batch | None) -> Any:
        """What was read and has not gone, `waiting` of it in order already."""
        return {
            "state": self.source.snapshot(),
            "position": self.source.kept_position(),
            "watermarks": self.watermarks.snapshot(),
            "sequence": self.sequence.snapshot(),
            "waiting": None if waiting is None else save_rows(waiting),
        }

    def restore(self, snapshot: Any) -> Batch | None:
        """Returns what is in order already."""
        self.source.take_back(snapshot["position"])
        if snapshot["state"] is not None:
            self.source.restore(snapshot["state"])
        self.watermarks.restore(snapshot["watermarks"])
        schema = self.source.row_schema()
        self.sequence.restore(snapshot["sequence"], schema)
        return None if snapshot["waiting"] is None else saved_rows(schema, snapshot["waiting"])


class MergedPartitions(Source):
    """A source with several partitions as one sequence by (event time, partition, position).

    Args:
        first: a source of the class, opened for nothing. make: makes another one.
        origins: partition -> its place among all of them.
        slack: units of event time that rows may be out of order within a partition; None: they must not be.
    """

    outputs: ClassVar[dict[str, Any]] = {}
    ordered: ClassVar[bool] = True
    is_merged: ClassVar[bool] = True

    def __init__(
        self, first: Source, make: Callable[[], Source], origins: dict[str, int], slack: int | None
    ) -> None:
        self.first, self.make, self.origins, self.slack = first, make, origins, slack
        self.rate, self.idle_timeout, self.max_out_of_orderness = first.rate, first.idle_timeout, None
        self.readers: list[_Reader] = []
        self._merge = Merge([])
        self._filled: list[Batch | None] = []

    def partitions(self) -> list[str]:
        return self.first.partitions()

    def _bind(self, context: Any) -> None:
        super()._bind(context)
        self.first._bind(context)

    def row_schema(self) -> Schema:
        return self.first.row_schema()

    def open(self, partitions: list[str]) -> None:
        for name in partitions:
            source = self.make()
            if self._context is not None:
                source._bind(self._context)
            source.on_bad_row = self.on_bad_row
            source.open([name])
            self.readers.append(_Reader(source, name, self.origins[name], self.slack))
        self._merge = Merge([reader.origin for reader in self.readers])
        self._filled = [None] * len(self.readers)

    def on_start(self) -> Any:
        for reader in self.readers:
            reader.source.on_start()

    def on_stop(self) -> Any:
        for reader in self.readers:
            reader.source.on_stop()

    def read(self, max_rows: int) -> Batch | None:
        merge, filled = self._merge, self._filled
        for at, reader in enumerate(self.readers):
            if filled[at] is None and not reader.ended:
                batch = filled[at] = reader.rows(max_rows)
                if reader.unsorted is not None:  # `take_late` raises it, since it is no failure to read
                    return Batch.of_events(self.row_schema(), [])
                if batch is not None:
                    merge.fill(at, times_of(batch))
            if filled[at] is None and reader.ended:
                merge.promise(at, ENDED)
        rows, only, tags = merge.ready(max_rows)
        if not rows:
            if all(reader.ended for reader in self.readers) and not any(filled):
                return None
            return Batch.of_events(self.row_schema(), [])
        counts = [0] * len(filled)
        if only is not None:
            counts[only] = rows
        else:
            counts = np.bincount(tags, minlength=len(filled)).tolist()
        parts: list[Part | None] = [None] * len(filled)
        for at, count in enumerate(counts):
            batch = filled[at]
            if count and batch is not None:
                parts[at] = (batch, merge.first(at) - count)
                if not merge.left(at):
                    filled[at] = None
        if only is not None:
            batch, first = parts[only]  # type: ignore[misc] # it has rows
            return batch.slice(first, rows)
        schema = self.row_schema().with_system((ORIGIN, POSITION))
        return interleaved(schema, [Interleaving(tags.copy(), parts)])

    def take_late(self) -> Batch | None:
        """Rows that came too late to be sorted, since the last call. DataError: a row was out of order."""
        found: list[Batch] = []
        for reader in self.readers:
            if reader.unsorted is not None:
                raise reader.unsorted
            found += reader.late
            reader.late = []
        return joined(found) if found else None

    def position(self) -> dict[str, int]:
        return {name: row for reader in self.readers for name, row in reader.source.position().items()}

    def seek(self, positions: dict[str, int]) -> None:
        for reader in self.readers:
            reader.source.seek(positions)

    def snapshot(self) -> Any:
        """Of each partition, what was read of it and not handed on; `position` is behind that."""
        found = {}
        for at, (reader, batch) in enumerate(zip(self.readers, self._filled)):
            first = self._merge.first(at)
            waiting = None if batch is None else batch.slice(first, batch.rows - first)
            found[reader.name] = reader.snapshot(waiting)
        return found

    def restore(self, snapshot: Any) -> None:
        for at, reader in enumerate(self.readers):
            if reader.name in snapshot:
                batch = self._filled[at] = reader.restore(snapshot[reader.name])
                if batch is not None:
                    self._merge.fill(at, times_of(batch))

    def lower_bound(self, now_ns: int) -> int | None:
        return NO_MORE if self.readers and all(reader.ended for reader in self.readers) else None

    def progress(self) -> tuple[int, int]:
        found = [reader.source.progress() for reader in self.readers]
        return sum(done for done, _ in found), sum(total for _, total in found)

    @property
    def bad_rows(self) -> int:  # type: ignore[override]
        return sum(reader.source.bad_rows for reader in self.readers)

    def take_dead(self) -> Batch | None:
        found = [dead for reader in self.readers if (dead := reader.source.take_dead()) is not None]
        return joined(found) if found else None
