"""Single events from a source to a worker of a plan in its process: each as a frame of its own, without the steps that batches
need, or past the channel where nothing waits before it. Events that do not fit go as batches, with the same result."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from actorstream.events.batch import Batch
from actorstream.events.event_codec import rows_of
from actorstream.events.fields import Kind
from actorstream.runtime.dependency.tag_lane import HeldFrame
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.schema import Schema
    from actorstream.runtime.dependency.tag_edge import TagEdge
    from actorstream.runtime.dependency.tag_lane import TagLane
    from actorstream.runtime.dependency.unit import ProgramUnit
    from actorstream.runtime.dependency.workers import TreeWorker


class DirectEvents:
    """Hands events of one tag, which comes on no other lane and has its stream to itself, to its worker past the channel.

    `offer` leaves an event if the unit rests; the source's unit then calls `ProgramUnit.take_event` at the end of its own
    work, which is a turn of the program's unit. There is never more than one event that is not worked on.

    Args:
        tree_worker: the worker that is responsible for the tag.
        lane: where its events come otherwise.
        word: the frontier word that promises for it there.
    """

    __slots__ = ("_held", "_time", "lane", "tag", "tree_worker", "unit", "word")

    def __init__(
        self, unit: ProgramUnit, tree_worker: TreeWorker, lane: TagLane, tag: int, word: int
    ) -> None:
        self.unit, self.tree_worker, self.lane, self.tag, self.word = unit, tree_worker, lane, tag, word
        self._held: HeldFrame | None = None
        self._time = 0

    def offer(self, time: int, batch: Batch, entered: int) -> bool:
        """Leaves an event, in a batch of its own, where the lane's channel is empty. False: it may not be left; the unit is about
        to do something else, earlier events are neither worked on nor in its mailbox, or a checkpoint needs to know of it."""
        held, unit = self._held, self.unit
        if (held is not None and held.left) or unit.ready or not unit.is_free or unit.checkpoints.cuts:
            return False
        batch.entry_min = batch.entry_max = entered
        self._held, self._time = HeldFrame(batch, (time,), batch._events), time
        unit.offered = self
        return True

    def take(self) -> bool:
        """Gives the worker the event that was left; returns whether it has worked on it, or requested what it needs."""
        time, lane, protocol = self._time, self.lane, self.tree_worker.protocol
        lane.promised(self.word, time)
        if protocol.begin(self.tag, time, self._held):
            return True
        protocol.insert(self.tag, (time,), self._held, checked=True)
        return False


def single_sender(edge: TagEdge, schema: Schema) -> Callable[[Any, int], int] | None:
    """A function that gives a single event to a worker in this process without making a batch: (what was read, its entry time)
    -> 1 if it was sent, 0 if it is no event or nothing was changed. None: tags depend on columns, so there is no such
    function."""
    if len(edge.streams) != 1 or edge.positioned or schema.event_time is None:
        return None
    (stream,) = edge.streams
    field, tag = schema.field(schema.event_time), edge.classifier.only(stream.partition)
    if (
        stream.to_tickers
        or tag is None
        or len(stream.owners) != 1
        or field.kind is not Kind.INT64
        or not field.plain
    ):
        return None
    lane, direct = edge.lanes[stream.owners[tag]], edge.direct.get(tag)
    plain = lane.framing.schemas.plain
    if lane.framing.encodes or plain.system:
        return None
    channel, nbytes, fingerprint = lane.channel, plain.row_bytes, plain.fingerprint
    partition, word, columns = stream.partition, stream.words.promise, len(schema.fields)
    time_of, event_class = attrgetter(field.name), rows_of(schema).event_class

    def send(event: Any, entered: int) -> int:
        if type(event) is not event_class:
            return 0
        time = time_of(event)
        if (
            type(time) is not int
            or not stream.time <= time < FRONTIER_END
            or time == FRONTIER_MIN
            or lane.pending
            or edge.origin() != partition
        ):
            return 0
        batch = Batch(schema, 1, [None] * columns, [event])
        offered = direct is not None and channel.is_empty() and direct.offer(time, batch, entered)
        if not offered:
            frame = Frame.data(batch, 1, 0, nbytes, fingerprint, lane.producer, entered, entered)
            frame.serial, frame.sequence = tag, lane.sequence
            frame.min_time = frame.max_time = time
            if not channel.send_nowait(frame):
                return 0
        lane.sequence += 1
        edge.row += 1
        stream.count(time, time, 1)
        if time > stream.promised:
            edge.least = stream.promised = time
            if not offered:  # `DirectEvents` promises for its event, and the frame rings for its promise
                channel.advance(0, time, ring=False)
                if word:
                    channel.advance(word, time, ring=False)
        return 1

    return send
