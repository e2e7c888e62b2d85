"""A single event on a channel between processes: it travels as a few bytes in the ring, with no jumbo tuple around it.

Only where nothing but its values belongs to a row, and nothing waits before it; all else goes the way of batches.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from actorstream.events.batch import Batch
from actorstream.events.row_format import UNFIT, RowFormat

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema
    from actorstream.plan.edge_schemas import EdgeSchemas
    from actorstream.transports.base import Frame, ReceiveChannel, SendChannel

SendSingle = Callable[[Batch, int], bool]
TakeSingle = Callable[[], "tuple[Event, int, int] | None"]


def row_format(schemas: EdgeSchemas, order: str, most: int) -> RowFormat | None:
    """How rows of an edge travel by themselves in at most so many bytes; None: they never do."""
    travels = schemas.marked is None and order == "none" and schemas.plain.names_attributes
    return RowFormat.of(schemas.plain, most) if travels else None


def single_sender(
    channel: SendChannel, rows: RowFormat | None, schema: int, producer: int
) -> SendSingle | None:
    """A function (batch, sequence) that sends a batch of one event by itself. It returns False where that cannot be:
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
