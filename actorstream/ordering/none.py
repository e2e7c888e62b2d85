"""Order `none`: FIFO per channel, lanes take turns. The cheapest order, and the one that promises least."""

from __future__ import annotations

from typing import Any


class NoOrder:
    """Takes the next lane, in turn, that has something waiting: no lane starves, whatever the others send."""

    def __init__(self, lanes: list[Any]) -> None:
        self.lanes = lanes
        self._turn = 0

    def next(self) -> Any | None:
        """The lane whose head goes next, or None while nothing may. As in every gate, lanes that are held or ended never go."""
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
