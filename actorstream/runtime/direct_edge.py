"""An edge whose consumer is called directly: a neighbour in the same unit, with no queue between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from actorstream.runtime.hooks import EventCall
from actorstream.runtime.portions import widths_of

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.output import Edge
    from actorstream.runtime.replica import Replica
    from actorstream.transports.base import FrameKind


class DirectEdge:
    """A forward edge inside one process: the neighbour is called with no queue between (AIR section 3.4).

    Ends and barriers go through the unit that runs both, see `Unit`."""

    __slots__ = ("consumer", "input")

    def __init__(self, consumer: Replica, input_name: str) -> None:
        self.consumer, self.input = consumer, input_name

    def push(self, batch: Batch) -> None:
        self.consumer.accept(batch, self.input)

    def flush(self) -> None:
        """Nothing waits here; the neighbour's own edges are flushed by the unit."""

    def control(self, kind: FrameKind, barrier: int) -> None:
        """The unit walks its replicas itself."""

    def advance(self, frontier: int) -> None:
        self.consumer.advance(frontier)


def takes_events(edge: Edge) -> bool:
    """Whether the consumer behind an edge is handed the very batch, and asks it for events."""
    if isinstance(edge, DirectEdge):
        return not edge.consumer.calls[edge.input].takes_batch
    return any(not lane.framing.encodes and lane.framing.to_events for lane in getattr(edge, "lanes", ()))


def connected(replica: Replica) -> None:
    """All edges are known. Where no consumer takes events, event hooks give columns at once; where several neighbours
    take the same ones, these are made once for all."""
    replica.shared = {output for output, edges in replica.edges.items() if sum(map(takes_events, edges)) > 1}
    widths = widths_of(replica.schemas, replica.edges)
    for each in replica.calls.values():
        each.bound(widths)
    schema = replica.schemas.get("default")
    calls = [call for call in replica.calls.values() if isinstance(call, EventCall)]
    if (
        schema is not None
        and replica.descent is None
        and len(calls) == len(replica.calls)
        and not any(map(takes_events, replica.edges["default"]))
    ):
        for call in calls:
            call.gather(schema.user)
