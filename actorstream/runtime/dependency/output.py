"""The sending side of dependency edges: slices by implementation tag, each to the worker that is responsible for it,
and the source's heartbeats. One look at a batch's columns, however many rows it has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import DataError
from actorstream.runtime.output import OutLane
from actorstream.topology.serial import POSITION
from actorstream.transports.base import Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.dgs.classifier import Classifier
    from actorstream.events.batch import Batch


class TagLane(OutLane):
    """Slices that wait for one worker of a plan; rows of two tags never share a jumbo tuple."""

    __slots__ = ()

    def push_slice(self, tag: int, batch: Batch) -> None:
        """Sends at once, or queues behind what waits."""
        if not self.pending and self._encoded is None and not self.blocked and batch.rows <= self.batch_size:
            frame = self._whole(batch)
            if frame is not None:
                frame.serial = tag
                self._send(frame)
                return
        self.pending.append((tag, batch))
        self.rows += batch.rows
        if not self.blocked:
            self.flush()

    def _next_frame(self) -> Frame | None:
        item = self.pending[0]
        if isinstance(item, Frame):
            self.pending.popleft()
            return item
        tag, batch = item
        nbytes, rows = batch.nbytes, min(batch.rows, self.batch_size)
        if nbytes > self.byte_limit:
            rows = max(1, min(rows, batch.rows * self.byte_limit // nbytes))
        if not self.channel.admits(nbytes * rows // batch.rows):
            return None
        part = batch
        if rows < batch.rows:
            part = batch.slice(0, rows)
            rest = batch.slice(rows, batch.rows - rows)
            part.began = rest.began = batch.began
            self.pending[0] = (tag, rest)
        else:
            self.pending.popleft()
        self.rows -= rows
        frame = self._whole(part) or self._parts([part], part.nbytes)
        frame.serial = tag
        return frame


class TagEdge:
    """An edge from one replica to the workers of a plan.

    Each batch promises that nothing before its last row follows: a heartbeat by count, for all tags that come this way.

    Args:
        classifier: tells the tags of rows.
        owners: number of a tag -> its worker's lane, by index.
        lanes: by index of the worker.
        origin: partition of the rows that are pushed.
        promises: whether there is one partition, so that its rows promise for all.
        positioned: whether rows must carry their place in the stream.
        where: "PRODUCER -> ACTOR", for errors.
    """

    __slots__ = (
        "_before",
        "_heard",
        "_row",
        "classifier",
        "lanes",
        "origin",
        "owners",
        "positioned",
        "promises",
        "where",
    )

    def __init__(
        self,
        classifier: Classifier,
        owners: Mapping[int, int],
        lanes: Sequence[TagLane],
        origin: Callable[[], int],
        *,
        promises: bool,
        positioned: bool,
        where: str,
    ) -> None:
        self.classifier, self.owners, self.lanes = classifier, owners, lanes
        self.origin, self.promises, self.positioned, self.where = origin, promises, positioned, where
        self._heard = [lanes[each] for each in sorted(set(owners.values()))]
        self._before: dict[int, int] = {}
        self._row: dict[int, int] = {}

    def push(self, batch: Batch) -> None:
        if not batch.rows:
            return
        origin = self.origin()
        last = self._check(batch, origin)
        row = self._row.get(origin, 0)
        self._row[origin] = row + batch.rows
        if self.positioned:
            began = batch.began
            batch = batch.with_system(**{POSITION: np.arange(row, row + batch.rows, dtype=np.int64)})
            batch.began = began
        for tag, part in self.classifier.split(batch, origin):
            if part is not batch:
                part.entry_min, part.entry_max, part.began = batch.entry_min, batch.entry_max, batch.began
            self.lanes[self.owners[tag]].push_slice(tag, part)
        if self.promises:
            self.advance(last)

    def _check(self, batch: Batch, origin: int) -> int:
        """The last row's time. DataError: times decrease (Definition 3.3)."""
        times: Any = batch.event_times()
        before = self._before.get(origin)
        if before is not None and times[0] < before:
            raise DataError(self._decreases(origin, 0, int(times[0]), before))
        if len(times) > 1 and bool((times[1:] < times[:-1]).any()):
            at = int(np.argmax(times[1:] < times[:-1])) + 1
            raise DataError(self._decreases(origin, at, int(times[at]), int(times[at - 1])))
        last = self._before[origin] = int(times[-1])
        return last

    def _decreases(self, origin: int, at: int, time: int, before: int) -> str:
        row = self._row.get(origin, 0) + at
        return (
            f"{self.where}: row {row} has time {time}, row {row - 1} before it {before}; allowed: times that do not "
            "decrease along a stream (dgs-flumina Definition 3.3); sort the source by its event time"
        )

    def flush(self) -> None:
        for lane in self.lanes:
            if lane.pending and not lane.blocked:
                lane.flush()

    def control(self, kind: FrameKind, barrier: int) -> None:
        for lane in self.lanes:
            lane.control(kind, barrier)

    def advance(self, frontier: int) -> None:
        """A heartbeat, to the workers that are responsible for something that comes this way."""
        for lane in self._heard:
            lane.advance(frontier)
