"""Order `none`: FIFO per channel, lanes take turns. The cheapest order, and the one that promises least."""

from __future__ import annotations

from typing import Any, ClassVar

from actorstream.ordering.base import Gate


class NoOrder(Gate):
    """Takes the next lane, in turn, that has something waiting: no lane starves, whatever the others send."""

    name: ClassVar[str] = "none"

    def __init__(self, lanes: list[Any]) -> None:
        super().__init__(lanes)
        self._turn = 0

    def next(self) -> Any | None:
        lanes = self.lanes
        count = len(lanes)
        at = self._turn
        for _ in range(count):
            lane = lanes[at]
            at = at + 1 if at + 1 < count else 0
            if not lane.held and not lane.ended and lane.head() is not None:
                self._turn = at
                return lane
        return None
