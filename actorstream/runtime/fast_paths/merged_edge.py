"""The edge to an operator that merges several inputs in one process, such as a union: its producers call it past their channels
while nothing waits there, each with one call a batch.

Marks and promises always go by the channel, so a barrier is aligned and event time is merged as for any other operator. What
does not go at once goes by the channel, too, which comes to the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.lanes import InLane
    from actorstream.runtime.ports import MergingUnit
    from actorstream.runtime.send_lane import SendLane

FEW_ROWS = 64
"""Batches of fewer rows wait in the channel, where they become one batch if several come. By themselves they would cost more."""


class MergedEdge:
    """An edge with a channel that batches may pass by.

    Args:
        lane: the channel's sending end. taker: the unit of the consumer, which is its head. receiver: the lane's other end.

    Attributes:
        batches: how many have passed by the channel.
    """

    __slots__ = ("_receiver", "batches", "lane", "lanes", "taker")

    def __init__(self, lane: SendLane, taker: MergingUnit, receiver: InLane) -> None:
        self.lane, self.taker, self._receiver = lane, taker, receiver
        self.lanes = (lane,)
        self.batches = 0

    def is_open(self, rows: int) -> bool:
        """Whether the consumer can take a batch of so many rows at once."""
        lane = self.lane
        return (
            rows <= lane.batch_size
            and not lane.pending
            and lane.channel.is_empty()
            and self.taker.admits(self._receiver)
        )

    @property
    def marks_rows(self) -> bool:
        """Whether rows may change on their way to the consumer, so that a chain has to end before it."""
        return self._receiver.idles

    def push(self, batch: Batch) -> None:
        rows = batch.rows
        if rows >= FEW_ROWS and self.is_open(rows):
            self._count(rows)
            self.taker.take(batch, self._receiver)
        else:
            self.lane.push(batch)

    def passed(self, rows: int, entered: int) -> None:
        """A chain has taken rows through the consumer, if `is_open` said so. `entered`: when they did."""
        self._count(rows)
        self.taker.came(entered)

    def flush(self) -> None:
        """Sends what waits in the lane at the end of a turn, so that batches can pass by the channel once it is taken."""
        if self.lane.pending and not self.lane.blocked:
            self.lane.flush()

    def reached(self) -> list[Any]:
        """Returns the replicas that a batch on this edge may reach without a channel: the members of the consumer's unit, and
        those behind the merged edges of that unit."""
        unit = self.taker
        return [*unit.members, *(each for edge in unit.merged for each in edge.reached())]

    def advance(self, frontier: int) -> None:
        self.lane.advance(frontier)

    def _count(self, rows: int) -> None:
        self.batches += 1
        self.lane.sizes.count(rows)
