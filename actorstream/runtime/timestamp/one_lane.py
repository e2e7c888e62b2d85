"""Timestamp input of a single lane: there is nothing to merge, and its frames pass whole."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from actorstream.events.saved import saved_rows
from actorstream.ordering.timestamp import last_time
from actorstream.runtime.idleness import Idleness
from actorstream.runtime.timestamp.lane_rows import LaneRows, by_lane, saved_lane
from actorstream.transports.base import FRONTIER_END, FRONTIER_MIN, Frame, FrameKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.runtime.inbox import Ports


class OneLane:
    """The sequence of one lane, with the methods of `merge.MergeReader`."""

    def __init__(self, rows: LaneRows, ports: Ports) -> None:
        self.rows, self.mark, self.lanes = rows, rows.lane, [rows.lane]
        self.idleness = Idleness(self.lanes, ports)
        self.runs: deque[tuple[Batch, str]] = deque()
        self.frontier = self._last = FRONTIER_MIN
        self._newest: Batch | None = None
        """The last batch, until its time is read."""

    @property
    def last(self) -> int:
        """The event time of the last row that came, or a later one that was promised."""
        if self._newest is not None:  # rows of one lane ascend
            self._last, self._newest = max(self._last, last_time(self._newest)), None
        return self._last

    @last.setter
    def last(self, time: int) -> None:
        self._last = time

    def next(self) -> Frame | None:
        lane = self.mark
        if lane.ended or lane.held or (frame := lane.channel.peek()) is None:
            return None
        if frame.kind != FrameKind.DATA:
            return frame
        self.idleness.wake()
        self._add(self.rows.take_in(frame))
        return None

    def _add(self, batch: Batch) -> None:
        self._newest = batch
        self.runs.append((batch, self.rows.input))

    def look(self) -> None:
        """Nothing is merged, so no promise rises."""

    def done(self) -> None:
        if self.rows.runs:
            self.rows.release()

    def passed(self) -> None:
        """No barrier is kept here."""

    def reached(self) -> int:
        lane = self.mark
        if lane.ended:
            self._last = self.last  # and the last batch is let go
            return FRONTIER_END
        if lane.is_idle():
            return self.last
        frontier = lane.channel.frontier(0)  # before the head: what it covers is there
        return self.last if lane.channel.peek() is not None else max(self.last, frontier)

    def reached_at_barrier(self) -> int:
        return FRONTIER_MIN  # the lane may have brought a promise from behind the barrier

    def latest(self) -> int:
        return self.last

    def snapshot(self) -> dict[str, Any]:
        return {"lanes": [saved_lane(self.rows, [])], "tied": None}

    def restore(self, snapshot: Any, schemas: Mapping[str, Schema]) -> None:
        for _, saved in by_lane(snapshot["lanes"], [self.rows]):
            for each in saved:
                self._add(saved_rows(schemas[self.rows.input], each))
