"""The sending side of dependency edges. A batch is divided by implementation tag, whole columns at a time, and each slice goes
to the worker that is responsible for its tag. The source's heartbeats go along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.fields import Kind
from actorstream.native.ascending import first_descent
from actorstream.topology.serial import POSITION
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame

if TYPE_CHECKING:
    from actorstream.dgs.classifier import Classifier
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema
    from actorstream.plan.program_channels import StreamWords
    from actorstream.runtime.dependency.short_way import ShortWay
    from actorstream.runtime.send_lane import SendLane


class TagStream:
    """One stream of a producer's replica.

    Attributes:
        name: for errors.
        words: the frontier words that speak of it.
        partition: the source's partition that it is; -1: a field of the rows tells.
        owners: number of each of its tags -> the worker's lane, by index.
        told: lanes to workers that ask for the times of its first and last row, by index: they make ticks.
        first, time, rows: times of its first and last row, and how many there were.
        promised: nothing before follows.
    """

    __slots__ = ("first", "heard", "name", "owners", "partition", "promised", "rows", "time", "told", "words")

    def __init__(
        self,
        name: str,
        words: StreamWords,
        partition: int,
        owners: Mapping[int, int],
        told: Iterable[int] = (),
    ) -> None:
        self.name, self.words, self.partition, self.owners = name, words, partition, owners
        self.told = sorted(set(told))
        self.heard = sorted({*owners.values(), *self.told})
        """Lanes to the workers that are responsible for some of the stream's tags, or for ticks."""
        self.time = self.promised = FRONTIER_MIN
        self.first = FRONTIER_END
        self.rows = 0

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

    __slots__ = (
        "_by_partition",
        "_by_tag",
        "_heard",
        "_least",
        "_only",
        "_row",
        "classifier",
        "lanes",
        "origin",
        "positioned",
        "promises",
        "streams",
        "ways",
        "where",
    )

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
        self.ways: dict[int, ShortWay] = {}
        """Tag -> the way of its single events past the lane, to a worker in this process."""
        self._by_partition = {each.partition: each for each in streams if each.partition >= 0}
        self._by_tag = {tag: each for each in streams for tag in each.owners}
        self._heard = sorted({lane for each in streams for lane in each.heard})
        """Lanes to the workers that hear of a stream."""
        self._only = {each.partition: classifier.only(each.partition) for each in streams if not positioned}
        """Partition -> the tag of all its rows; None: columns tell."""
        self._least = FRONTIER_MIN
        self._row = 0

    def push(self, batch: Batch) -> None:
        if not batch.rows:
            return
        origin = self.origin()
        alone = self._by_partition.get(origin)
        times: Any = batch.event_times()
        if alone is not None:
            alone.check(times, self.where)
            tag = self._only.get(origin)
            if tag is not None:
                self._row += batch.rows
                self.lanes[alone.owners[tag]].push(batch, tag)
                self._gone(alone, times, batch.rows)
                return
        if self.positioned:
            began, row = batch.began, self._row
            batch = batch.with_system(**{POSITION: np.arange(row, row + batch.rows, dtype=np.int64)})
            batch.began = began
        self._row += batch.rows
        moved: dict[TagStream, int] = {}
        for tag, part in self.classifier.split(batch, origin):
            stream = self._by_tag[tag]
            if part is not batch:
                part.entry_min, part.entry_max, part.began = batch.entry_min, batch.entry_max, batch.began
                if alone is None:
                    times = part.event_times()
            if alone is None:
                stream.check(times, self.where)
                if stream.time == FRONTIER_MIN:
                    stream.first = min(stream.first, int(times[0]))
                moved[stream] = max(moved.get(stream, FRONTIER_MIN), int(times[-1]))
                stream.rows += part.rows
            self.lanes[stream.owners[tag]].push(part, tag)
        if alone is not None:
            self._gone(alone, times, batch.rows)
            return
        for stream, time in moved.items():
            self._moved(stream, time)
        self._promise_all()

    def _gone(self, stream: TagStream, times: np.ndarray, rows: int) -> None:
        """Notes rows that were sent of a stream that is a partition."""
        if not stream.rows:
            stream.first = min(stream.first, int(times[0]))
        stream.rows += rows
        self._moved(stream, int(times[-1]))
        self._promise_all()

    def _moved(self, stream: TagStream, time: int) -> None:
        """Notes that the rows of a stream have reached a time."""
        if stream.told:
            self._tell(stream, time)
        stream.time = time
        self._promise(stream, time)

    def single(self, schema: Schema) -> Callable[[Event, int], int] | None:
        """A function that gives a single event to a worker in this process without making a batch: (event, entry time) -> 1 if
        it was sent, 0 if nothing was changed. None: tags depend on columns, so there is no such function."""
        streams = self.streams
        time_field = schema.event_time
        if (
            len(streams) != 1
            or streams[0].partition < 0
            or streams[0].told
            or self.positioned
            or time_field is None
        ):
            return None
        stream, field = streams[0], schema.field(time_field)
        tag = self.classifier.only(stream.partition)
        if (
            tag is None
            or stream.heard != [stream.owners.get(tag)]
            or field.kind is not Kind.INT64
            or not field.plain
        ):
            return None
        lane, way = self.lanes[stream.owners[tag]], self.ways.get(tag)
        if lane.framing.encodes or lane.framing.schemas.plain.system:
            return None
        channel, nbytes, fingerprint = (
            lane.channel,
            lane.framing.schemas.plain.row_bytes,
            lane.framing.schemas.plain.fingerprint,
        )
        partition, word, columns = stream.partition, stream.words.promise, len(schema.fields)
        time_of = attrgetter(time_field)

        def send(event: Event, entered: int) -> int:
            time = time_of(event)
            if (
                type(time) is not int
                or not stream.time <= time < FRONTIER_END
                or time == FRONTIER_MIN
                or lane.pending
                or lane.blocked
                or lane._encoded is not None
                or self.origin() != partition
            ):
                return 0
            batch = Batch(schema, 1, [None] * columns, [event])
            offered = way is not None and channel.is_empty() and way.is_free()
            if offered:
                batch.entry_min = batch.entry_max = entered
                way.offer(time, batch)  # type: ignore[union-attr]
            else:
                frame = Frame.data(batch, 1, 0, nbytes, fingerprint, lane.producer, entered, entered)
                frame.serial, frame.sequence = tag, lane.sequence
                frame.min_time = frame.max_time = time
                if not channel.send_nowait(frame):
                    return 0
            lane.sequence += 1
            self._row += 1
            stream.rows += 1
            stream.time = time
            if time < stream.first:
                stream.first = time
            if time > stream.promised:
                self._least = stream.promised = time
                if offered:  # the way promises for it
                    return 1
                channel.advance(0, time, ring=False)  # the frame rings for it
                if word:
                    channel.advance(word, time, ring=False)
            return 1

        return send

    def advance(self, frontier: int) -> None:
        """Sends a heartbeat of the source for all its streams."""
        if self.promises:
            for stream in self.streams:
                self._promise(stream, frontier)
            self._promise_all()

    def snapshot(self) -> dict[str, Any]:
        """What a checkpoint keeps with the source: how far each stream is, by its name, and how many rows there were."""
        streams = {each.name: (each.first, each.time, each.rows, each.promised) for each in self.streams}
        return {"row": self._row, "streams": streams}

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Goes on behind the rows of a checkpoint, and repeats the promises that were made about them."""
        self._row = snapshot["row"]
        for stream in self.streams:
            if stream.name not in snapshot["streams"]:
                continue
            stream.first, stream.time, stream.rows, promised = snapshot["streams"][stream.name]
            if stream.rows:
                self._tell(stream, stream.time)
            self._promise(stream, promised)
        self._promise_all()

    def _tell(self, stream: TagStream, last: int) -> None:
        """Tells where a stream begins and how far its rows go, before the rows are sent, so that ticks become certain."""
        for lane in stream.told:
            channel = self.lanes[lane].channel
            channel.advance(stream.words.first, stream.first)
            channel.advance(stream.words.last, last)

    def _promise(self, stream: TagStream, bound: int) -> None:
        """Promises to the workers that are responsible for tags of a stream."""
        if bound > stream.promised:
            stream.promised = bound
            if stream.words.promise:
                for lane in stream.heard:
                    self.lanes[lane].promise(stream.words.promise, bound)

    def _promise_all(self) -> None:
        if len(self.streams) == 1:
            least = self.streams[0].promised
        else:
            least = min((stream.promised for stream in self.streams), default=FRONTIER_MIN)
        if least > self._least:
            self._least = least
            for lane in self._heard:
                self.lanes[lane].promise(0, least)
