"""The shortest way from a source to its only consumer, in another process: past all that batches in general need.

Only for what goes by itself and has nothing before it: a single event, or a batch that is a jumbo tuple in shared
memory. What it does not take goes the way of batches, which comes to the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.events.batch import BATCHES, Batch
from actorstream.events.event_codec import rows_of
from actorstream.runtime.output import StreamEdge
from actorstream.runtime.replica import Replica
from actorstream.runtime.send_lane import POLL_EVERY, SendLane

if TYPE_CHECKING:
    from collections.abc import Callable

NO_CLASS: Any = type("NoClass", (), {})
"""A class that no event is of itself."""


def direct_sender(replica: Replica, output: str = "default") -> Callable[[Any, int], int] | None:
    """The function that sends what a source has read at once: (what was read, its entry time) -> how many rows were sent; 0:
    none, and nothing was changed. None: all that is emitted to the output goes the way of batches."""
    edges = replica.edges[output]
    if len(edges) == 1 and isinstance(edges[0], StreamEdge):
        return edges[0].event_sender(replica.schemas[output]) if _is_plain(replica) else None
    lane = edges[0] if len(edges) == 1 and type(edges[0]) is SendLane else None
    if lane is None or lane.send_jumbo is None or lane.runs or not _is_plain(replica):
        return None
    if lane.framing.schemas.marked is not None:  # rows may be behind their watermark
        return None
    frame_schema, poll, count = lane.framing.schemas.plain, lane.channel.poll, lane.sizes.count
    send_event, send_jumbo = lane.send_event, lane.send_jumbo
    schema = frame_schema.user
    event_class = NO_CLASS if send_event is None else rows_of(frame_schema).event_class

    def send(read: Any, entered: int) -> int:
        if lane.pending:
            return 0
        kind = type(read)
        sequence = lane.sequence
        if kind is event_class:
            if not send_event(read, sequence, entered):  # type: ignore[misc] # there is one if there is a class
                return 0
            rows = 1
        elif kind in BATCHES:
            jumbo, rows = read._jumbo, read.rows
            if (
                jumbo is None
                or read._frame_schema is not frame_schema
                or read.schema is not schema
                or rows != jumbo._rows
                or not lane.passing <= rows <= lane.batch_size
            ):
                return 0
            if not sequence % POLL_EVERY:
                poll()
            if kind is not Batch:
                read.sealed()
            if not send_jumbo(jumbo, rows, sequence, entered, entered, 0):
                return 0
            count(rows)
        else:
            return 0
        lane.sequence = sequence + 1
        return rows  # type: ignore[no-any-return]

    return send


def _is_plain(replica: Replica) -> bool:
    """Whether nothing but their values belongs to the rows that it emits."""
    return replica.descent is None and replica.stamp is None
