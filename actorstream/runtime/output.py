"""Edges. An edge leads from one output of one replica to a consumer. Where the consumer has one replica that is reached by a
channel, the sending lane itself is the edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from actorstream.events.sending import own_table
from actorstream.runtime.routing import ByKey, selected
from actorstream.runtime.send_lane import SendLane

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.runtime.ports import EventTaker
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.routing import Router


class OutEdge(Protocol):
    """Leads from one output of one replica to a consumer: to its replicas by channels, or to a neighbour by a call. Barriers and
    ends go by the lanes of the unit, which calls the neighbours itself."""

    def push(self, batch: Batch) -> None: ...
    def advance(self, frontier: int) -> None: ...


@runtime_checkable
class StreamEdge(OutEdge, Protocol):
    """An edge of an order's own kind that knows how far each stream of its source is. It takes a source's single events by a
    way of its own."""

    def event_sender(self, schema: Schema) -> Callable[[Any, int], int] | None:
        """The function that sends what a source has read, if it is a single event of a schema: (what was read, its entry
        time) -> 1 if it was sent, 0 if nothing was changed. None: there is no such function."""

    def takers(self) -> list[EventTaker]:
        """Units in this process that may be given an event directly."""

    def snapshot(self) -> Any:
        """Returns plain values, which the checkpoint of the source keeps for this edge."""

    def restore(self, snapshot: Any) -> None:
        """Restores what `snapshot` returned when the checkpoint was made."""


class RoutedEdge:
    """An edge that reaches the consumer's replicas by channels; the router chooses among them."""

    __slots__ = ("_by_key", "_schema", "lanes", "router")

    def __init__(self, router: Router, lanes: Sequence[SendLane]) -> None:
        self.router, self.lanes = router, lanes
        encodes = any(lane.send_piece is not None for lane in lanes)
        self._by_key = router if isinstance(router, ByKey) and encodes else None
        """The router, if consumers in other processes may get their rows straight from the columns of a batch."""
        self._schema = lanes[0].framing.schemas.plain

    def push(self, batch: Batch) -> None:
        lanes = self.lanes
        if self._by_key is not None and batch.rows > 1 and self._push_shares(self._by_key, batch):
            return
        for consumer, part in self.router(batch):
            lanes[consumer].push(part)

    def _push_shares(self, router: ByKey, batch: Batch) -> bool:
        """Pushes a batch that native code can read row by row (`own_table`): a share for another process is encoded by one call
        of C, without a batch that says which rows it has. False: the batch is another kind of batch."""
        table = own_table(batch, self._schema)
        if table is None or not self.lanes[0].framing.is_plain(batch):
            return False
        index, address, counts = router.shares(batch, table)
        first, rows = 0, batch.rows
        for lane, count in zip(self.lanes, counts):
            if count == rows:
                lane.push(batch)
            elif count and not lane.send_share(batch, table, address + 4 * first, count):
                lane.push(selected(batch, index, first, count))
            first += count
        return True

    def advance(self, frontier: int) -> None:
        for lane in self.lanes:
            lane.advance(frontier)


class DirectEdge:
    """A forward edge inside one process: the neighbour is called with no queue between (AIR section 3.4)."""

    __slots__ = ("consumer", "input")

    def __init__(self, consumer: Replica, input_name: str) -> None:
        self.consumer, self.input = consumer, input_name

    def push(self, batch: Batch) -> None:
        self.consumer.accept(batch, self.input)

    def advance(self, frontier: int) -> None:
        self.consumer.advance(frontier)


def takes_events(edge: OutEdge) -> bool:
    """Whether the consumer behind an edge is handed the very batch, and asks it for events."""
    if isinstance(edge, DirectEdge):
        return not edge.consumer.calls[edge.input].takes_batch
    lanes = (edge,) if isinstance(edge, SendLane) else getattr(edge, "lanes", ())
    return any(not lane.framing.encodes and lane.framing.to_events for lane in lanes)
