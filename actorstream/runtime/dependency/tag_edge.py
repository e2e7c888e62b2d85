"""The sending side of dependency edges. A batch is divided by implementation tag, whole columns at a time, and each slice goes
to the worker that is responsible for its tag. The source's heartbeats go along.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import DataError
from actorstream.native.ascending import first_descent
from actorstream.runtime.dependency.single_events import single_sender
from actorstream.topology.serial import POSITION
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN

if TYPE_CHECKING:
    from actorstream.dgs.classifier import Classifier
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.plan.program_channels import StreamWords
    from actorstream.runtime.dependency.unit import ProgramUnit
    from actorstream.runtime.send_lane import SendLane


@dataclass(slots=True, eq=False)
class TagStream:
    """One stream of a producer's replica.

    Attributes:
        name: for errors.
        words: the frontier words that speak of it.
        partition: the source's partition that it is; -1: a field of the rows tells.
        owners: number of each of its tags -> the worker's lane, by index.
        to_tickers: lanes to workers that make ticks, by index: they ask for the times of its first and last row.
        first, time, rows: times of its first and last row, and how many there were.
        promised: nothing before follows.
    """

    name: str
    words: StreamWords
    partition: int
    owners: Mapping[int, int]
    to_tickers: Sequence[int] = ()
    first: int = FRONTIER_END
    time: int = FRONTIER_MIN
    rows: int = 0
    promised: int = FRONTIER_MIN

    def count(self, first: int, last: int, rows: int) -> None:
        """Notes rows that were sent, and the times of the first and the last of them."""
        if first < self.first:
            self.first = first
        self.time = last
        self.rows += rows

    def check(self, times: np.ndarray, where: str) -> None:
        """Raises DataError, which names both rows, if times decrease (Definition 3.3)."""
        first = int(times[0])
        if first < self.time:
            raise DataError(self._decreases(where, 0, first, self.time))
        at = first_descent(times)
        if at:
            raise DataError(self._decreases(where, at, int(times[at]), int(times[at - 1])))

    def _decreases(self, where: str, at: int, time: int, before: int) -> str:
        row = self.rows + at
        return (
            f"{where}, stream {self.name!r}: row {row} has time {time}, row {row - 1} before it {before}; allowed: times "
            "that do not decrease along a stream (dgs-flumina Definition 3.3); sort the source by its event time"
        )


class TagEdge:
    """An edge from one replica to the workers of a plan.

    The rows of a stream promise that nothing before the last of them follows: a heartbeat by count. Source and clock may
    promise more (`advance`).

    Args:
        classifier: tells the tags of rows.
        lanes: by index of the worker.
        streams: that the replica brings.
        origin: partition of the rows that are pushed.
        promises: whether `advance` holds for each stream.
        positioned: whether rows must carry their place in the stream.
        where: "PRODUCER -> ACTOR", for errors.
    """

    def __init__(
        self,
        classifier: Classifier,
        lanes: Sequence[SendLane],
        streams: Sequence[TagStream],
        origin: Callable[[], int],
        *,
        promises: bool,
        positioned: bool,
        where: str,
    ) -> None:
        self.classifier, self.lanes, self.streams = classifier, lanes, streams
        self.origin, self.promises, self.positioned, self.where = origin, promises, positioned, where
        self.direct: dict[int, Any] = {}
        """Tag -> the `DirectEvents` that takes its single events past the lane, to a worker in this process."""
        self._one = streams[0] if len(streams) == 1 else None
        self._by_partition = {each.partition: each for each in streams if each.partition >= 0}
        self._by_tag = {tag: each for each in streams for tag in each.owners}
        self._lanes_of = {each: sorted({*each.owners.values(), *each.to_tickers}) for each in streams}
        """Stream -> lanes to the workers that are responsible for some of its tags, or for ticks, by index."""
        self._all_lanes = sorted(set().union(*self._lanes_of.values()))
        self._only = {each.partition: classifier.only(each.partition) for each in streams if not positioned}
        """Partition -> the tag of all its rows; None: columns tell."""
        self.least = FRONTIER_MIN
        """What is promised for all streams."""
        self.row = 0
        """How many rows were pushed."""

    def push(self, batch: Batch) -> None:
        rows = batch.rows
        if not rows:
            return
        origin = self.origin()
        alone = self._by_partition.get(origin)
        times: Any = batch.event_times()
        if alone is not None:
            alone.check(times, self.where)
        only = self._only.get(origin)
        if alone is not None and only is not None:  # whole, as it is
            self.row += rows
            self.lanes[alone.owners[only]].push(batch, only)
            self._sent(alone, times)
            self._promise_all()
            return
        parts = self._parts(batch, origin)
        sent = {alone: times} if alone is not None else self._times(batch, times, parts)
        if alone is None:
            for stream, found in sent.items():
                stream.check(found, self.where)
        self.row += rows
        for tag, part in parts:
            if part is not batch:
                part.entry_min, part.entry_max, part.began = batch.entry_min, batch.entry_max, batch.began
            self.lanes[self._by_tag[tag].owners[tag]].push(part, tag)
        for stream, found in sent.items():
            self._sent(stream, found)
        self._promise_all()

    def _sent(self, stream: TagStream, times: np.ndarray) -> None:
        """Notes rows with these times as sent, and promises that no later row of the stream is earlier than the last of them."""
        last = int(times[-1])
        stream.count(int(times[0]), last, len(times))
        if stream.to_tickers:
            self._tell(stream)
        self._promise(stream, last)

    def _times(
        self, batch: Batch, times: np.ndarray, parts: Sequence[tuple[int, Batch]]
    ) -> dict[TagStream, np.ndarray]:
        """The times of the rows of each stream, in their order, where a field of the rows tells the stream."""
        found: dict[TagStream, list[Any]] = {}
        for tag, part in parts:
            found.setdefault(self._by_tag[tag], []).append(part.event_times())
        if len(found) == len(parts) or not first_descent(times):
            return {
                stream: np.sort(np.concatenate(each)) if each[1:] else each[0]
                for stream, each in found.items()
            }
        rows: dict[TagStream, list[Any]] = {}
        placed = batch.with_system(**{POSITION: np.arange(batch.rows, dtype=np.int64)})
        for tag, part in self.classifier.split(placed, self.origin()):
            rows.setdefault(self._by_tag[tag], []).append(part.system[POSITION].data)
        return {stream: times[np.sort(np.concatenate(each))] for stream, each in rows.items()}

    def event_sender(self, schema: Schema) -> Callable[[Any, int], int] | None:
        """See `output.StreamEdge`; None: tags depend on columns."""
        return single_sender(self, schema)

    def takers(self) -> list[ProgramUnit]:
        return [each.unit for each in self.direct.values()]

    def _parts(self, batch: Batch, origin: int) -> list[tuple[int, Batch]]:
        """The rows of each tag, with their places in the stream if they must carry these."""
        if not self.positioned:
            return self.classifier.split(batch, origin)
        placed = batch.with_system(**{POSITION: np.arange(self.row, self.row + batch.rows, dtype=np.int64)})
        return self.classifier.split(placed, origin)

    def advance(self, frontier: int) -> None:
        """Sends a heartbeat of the source for all its streams."""
        if self.promises:
            for stream in self.streams:
                self._promise(stream, frontier)
            self._promise_all()

    def snapshot(self) -> dict[str, Any]:
        """What a checkpoint keeps with the source: how far each stream is, by its name, and how many rows there were."""
        streams = {each.name: (each.first, each.time, each.rows, each.promised) for each in self.streams}
        return {"row": self.row, "streams": streams}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on behind the rows of a checkpoint, and repeats the promises that were made about them."""
        self.row = snapshot["row"]
        for stream in self.streams:
            if stream.name not in snapshot["streams"]:
                continue
            stream.first, stream.time, stream.rows, promised = snapshot["streams"][stream.name]
            self._tell(stream)
            self._promise(stream, promised)
        self._promise_all()

    def _tell(self, stream: TagStream) -> None:
        """Tells where a stream begins and how far its rows go, even if these still wait, so that ticks become certain."""
        if stream.rows:
            for lane in stream.to_tickers:
                channel = self.lanes[lane].channel
                channel.advance(stream.words.first, stream.first)
                channel.advance(stream.words.last, stream.time)

    def _promise(self, stream: TagStream, bound: int) -> None:
        """Promises to the workers that are responsible for tags of a stream."""
        if bound > stream.promised:
            stream.promised = bound
            if stream.words.promise:
                for lane in self._lanes_of[stream]:
                    self.lanes[lane].promise(stream.words.promise, bound)

    def _promise_all(self) -> None:
        """Promises the least time of all streams to the workers that hear of any of them."""
        one = self._one
        least = (
            min((each.promised for each in self.streams), default=FRONTIER_MIN)
            if one is None
            else one.promised
        )
        if least > self.least:
            self.least = least
            for lane in self._all_lanes:
                self.lanes[lane].promise(0, least)
