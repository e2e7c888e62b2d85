"""A single event on a channel between processes: it travels as a few bytes in the ring, with no jumbo tuple around it.

Only where nothing but its values belongs to a row, and nothing waits before it; all else goes the way of batches.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from actorstream.events.batch import Batch
from actorstream.events.row_format import UNFIT, RowFormat
from actorstream.events.rows import rows_of
from actorstream.runtime.output import LaneEdge, OutLane
from actorstream.runtime.replica import Replica

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema
    from actorstream.runtime.wire import Wire
    from actorstream.transports.base import Frame, ReceiveChannel, SendChannel
    from actorstream.transports.rows import EventSender

SendSingle = Callable[[Batch, int], bool]
TakeSingle = Callable[[], "tuple[Event, int, int] | None"]


def row_format(wire: Wire, order: str, most: int) -> RowFormat | None:
    """How rows of an edge travel by themselves in at most so many bytes; None: they never do."""
    return RowFormat.of(wire.plain, most) if wire.marked is None and order == "none" else None


def single_sender(
    channel: SendChannel, rows: RowFormat | None, schema: int, producer: int
) -> SendSingle | None:
    """A function (batch, sequence) that sends a batch of one event by itself. It answers False where that cannot be:
    it has no event, or the consumer has something to do, or the event fits only as columns, or not at all."""
    send = None if rows is None else channel.rows(rows.layout)
    if rows is None or send is None:
        return None
    values_of = rows.values

    def send_single(batch: Batch, sequence: int) -> bool:
        event = batch.only_event()
        if event is None:
            return False
        try:
            return send(
                values_of(event), schema, producer, sequence, batch.entry_min, batch.entry_max, batch.began
            )
        except UNFIT:
            return False

    return send_single


class Outlet:
    """The shortest way of an event from a replica to the only consumer of an output, past everything that batches need.

    Attributes:
        event_class: the class of the events that go so.
        lane: the way, if nothing waits on it.
        send: sends one by itself: (event, its sequence in the lane, entry time) -> whether it could go so.
    """

    __slots__ = ("event_class", "lane", "send")

    def __init__(self, event_class: type[Event], lane: OutLane, send: EventSender) -> None:
        self.event_class, self.lane, self.send = event_class, lane, send

    @classmethod
    def of(cls, replica: Replica, output: str = "default") -> Outlet | None:
        """The outlet of an output; None: its events always go in batches."""
        edges = replica.edges[output]
        lane = edges[0].lane if len(edges) == 1 and type(edges[0]) is LaneEdge else None
        if (
            lane is None
            or type(lane) is not OutLane
            or lane.send_event is None
            or lane.runs
            or replica.descent is not None
            or replica.stamp is not None
            or type(replica).forward is not Replica.forward
            or type(replica).dispatch is not Replica.dispatch
        ):
            return None
        return cls(rows_of(lane.wire.plain).event_class, lane, lane.send_event)


def single_taker(channel: ReceiveChannel, rows: RowFormat | None) -> TakeSingle | None:
    """A function that takes an event that came by itself: (event, entry time, when the first operator took it), and
    None if the head is something else."""
    take = None if rows is None else channel.rows(rows.layout)
    if rows is None or take is None:
        return None
    event_of = rows.event

    def take_single() -> tuple[Event, int, int] | None:
        row = take()
        return None if row is None else (event_of(row[0]), row[2], row[3])

    return take_single


def single_decoder(schema: Schema, rows: RowFormat) -> Callable[[Frame], Batch]:
    """Frame -> batch on a channel where single events may come by themselves among jumbo tuples of `schema`."""
    unpack = Struct(f"<{rows.layout}").unpack_from

    def decode(frame: Frame) -> Batch:
        payload = frame.payload
        if type(payload) is bytes:
            return Batch.of_events(schema, [rows.event(unpack(payload))])
        return Batch.from_jumbo(schema, payload, frame.first, frame.rows)

    return decode
