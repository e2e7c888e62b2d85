"""Edges. An edge leads from one output of one replica to a consumer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.routing import Router
    from actorstream.runtime.send_lane import SendLane
    from actorstream.transports.base import FrameKind


class Edge(Protocol):
    """Leads from one output of one replica to a consumer: to its replicas by channels, or to a neighbour by a call."""

    def push(self, batch: Batch) -> None: ...
    def flush(self) -> None: ...
    def control(self, kind: FrameKind, barrier: int) -> None: ...
    def advance(self, frontier: int) -> None: ...


class ChannelEdge:
    """An edge that reaches the consumer's replicas by channels; the router chooses among them."""

    __slots__ = ("lanes", "router")

    def __init__(self, router: Router, lanes: list[SendLane]) -> None:
        self.router, self.lanes = router, lanes

    def push(self, batch: Batch) -> None:
        lanes = self.lanes
        for consumer, part in self.router(batch):
            lanes[consumer].push(part)

    def flush(self) -> None:
        for lane in self.lanes:
            if lane.pending and not lane.blocked:
                lane.flush()

    def control(self, kind: FrameKind, barrier: int) -> None:
        for lane in self.lanes:
            lane.control(kind, barrier)

    def advance(self, frontier: int) -> None:
        for lane in self.lanes:
            lane.advance(frontier)


class LaneEdge:
    """An edge to one replica: no route to decide."""

    __slots__ = ("advance", "control", "lane", "push")

    def __init__(self, lane: SendLane) -> None:
        self.lane = lane
        self.push, self.control, self.advance = lane.push, lane.control, lane.advance

    @property
    def lanes(self) -> tuple[SendLane, ...]:
        return (self.lane,)

    def flush(self) -> None:
        if self.lane.pending and not self.lane.blocked:
            self.lane.flush()
