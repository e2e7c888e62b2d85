"""Order `timestamp`: an actor's input as one sequence by event time (viper-scalegate section 3), whatever arrives first.

Between processes ScaleGate is a merge at the reader: lanes that are in order, one for each producer, and what each
promises. Pure: no clock, no I/O; it sees the times of rows and what tells tied ones apart, never the rows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from actorstream.native.merge import ENDED, NOTHING, Merge, Tags
from actorstream.ordering.base import Gate

_Columns = tuple[np.ndarray, Sequence[np.ndarray]]


class TimestampGate(Gate):
    """Merges lanes that bring rows in the order (event time, ties).

    `next` says which lane's head is to be taken in: of a lane that has none of its rows in here any more; of every lane
    while a barrier is being aligned; and of a lane all of whose rows here are tied at the time that is waited on, so that
    a tie never keeps a channel full. Whoever takes rows in `put`s their times; `ready` says which rows go.

    The total order is (event time, rank of the lane's input, ties). A row goes when every lane of lower or equal rank
    that has no row here promises nothing more at its time, and every other nothing more below it.

    Args:
        ranks: of the inputs that the lanes belong to; without it all have rank 0.
        ties: int64 columns that tell apart rows of equal time and rank.
    """

    name: ClassVar[str] = "timestamp"

    def __init__(self, lanes: list[Any], ranks: Sequence[int] | None = None, ties: int = 0) -> None:
        super().__init__(lanes)
        count = len(lanes)
        self.ties = ties
        self._merge = Merge(ranks if ranks is not None else [0] * count, ties)
        self._left = [0] * count
        self.taken = [0] * count
        """Rows of each lane among those that the last `ready` answered with tags."""
        self._behind: list[deque[_Columns]] = [deque() for _ in lanes]
        """Rows of a lane that come behind those that the merge has."""
        self._last = [NOTHING] * count
        """Time of the last row that each lane brought."""
        self._passed = [NOTHING] * count
        """The same, also of rows that have left their channel and are to be brought later."""
        self._bounds = [NOTHING] * count
        self._times: list[np.ndarray] = [np.empty(0, np.int64)] * count
        self._waited: int | None = None
        """The time of the row that is waited on, as of the last `ready`; None: none is."""

    # -- what comes in

    def next(self) -> Any | None:
        lanes, left, behind = self.lanes, self._left, self._behind
        for at, lane in enumerate(lanes):
            if not (lane.held or left[at] or lane.ended or behind[at]) and lane.head() is not None:
                return lane
        for at in self.crowded():
            lane = lanes[at]
            if not lane.held and not lane.ended and lane.head() is not None:
                return lane
        return None

    def due(self) -> list[Any]:
        """All lanes that have no row here and whose head may be taken in, as of now."""
        left, behind = self._left, self._behind
        return [
            lane
            for at, lane in enumerate(self.lanes)
            if not (lane.held or left[at] or lane.ended or behind[at]) and lane.head() is not None
        ]

    def put(self, at: int, time: np.ndarray, ties: Sequence[np.ndarray] = ()) -> None:
        """Takes in the next rows of lane `at`: contiguous int64 columns, sorted by (time, ties).

        Raises:
            ValueError: no such columns, or a time below the lane's last."""
        rows = len(time)
        if not rows:
            return
        if time[0] < self._last[at]:
            raise ValueError(f"lane {at} brings time {time[0]} behind {self._last[at]}")
        self._last[at] = int(time[-1])
        self._passed[at] = max(self._passed[at], self._last[at])
        if self._bounds[at] == ENDED:  # it was idle, and is waited for again once these have gone
            self._bounds[at] = self._last[at]
            self._merge.promise(at, self._last[at])
        if self._left[at] or self._behind[at]:
            self._behind[at].append((time, ties))
        else:
            self._merge.fill(at, time, ties)
            self._times[at], self._left[at] = time, rows

    def passed(self, at: int, time: int) -> None:
        """Rows of lane `at` up to `time` have left its channel, behind those that are here, and are put in later. Until
        then its head is the first of them."""
        self._passed[at] = time

    # -- what goes

    def ready(self, limit: int, shortest: int = 64) -> tuple[int, int | None, Tags]:
        """The next rows in order: how many, at most `limit`, and of which lanes (see `Merge.ready`)."""
        self.refresh()
        merge, left = self._merge, self._left
        rows, only, tags = merge.ready(limit, shortest)
        if only is not None:
            left[only] -= rows
        elif rows:
            for at, before in enumerate(left):
                if before:
                    left[at] = merge.left(at)
                self.taken[at] = before - left[at]
        self._waited = None if rows else self._least()
        return rows, only, tags

    def refresh(self) -> None:
        """Looks at what lanes promise that have no rows here, so that `reached` is up to date."""
        left = self._left
        for at, lane in enumerate(self.lanes):
            if left[at]:
                continue
            if self._behind[at]:
                self._times[at], ties = self._behind[at].popleft()
                self._merge.fill(at, self._times[at], ties)
                left[at] = len(self._times[at])
            else:
                self._look(at, lane)

    def _look(self, at: int, lane: Any) -> None:
        """What follows on a lane that has no rows here. The promise is read before the head: what it covers is there."""
        if lane.ended:
            bound = ENDED
        elif lane.held:
            bound = self._bounds[at]
        else:
            bound = lane.frontier()
            if lane.head() is not None:
                bound = self._bounds[at]
        bound = self._bounds[at] = max(bound, self._last[at]) if bound != ENDED else bound
        self._merge.promise(at, bound)

    def _least(self) -> int | None:
        heads = [self._head(at) for at, left in enumerate(self._left) if left]
        return min(heads) if heads else None

    def _head(self, at: int) -> int:
        return int(self._times[at][self._merge.first(at)])

    def crowded(self) -> list[int]:
        """Lanes whose rows here are to leave their channels, so that what is behind them can come: all of them are tied
        at the time that is waited on, or a barrier is waited for."""
        waited = self._waited
        if any(lane.held for lane in self.lanes):
            return [at for at, lane in enumerate(self.lanes) if not lane.held]
        return [] if waited is None else [at for at, last in enumerate(self._passed) if last == waited]

    def first(self, at: int) -> int:
        """The row of what the merge has of lane `at` that goes next."""
        return self._merge.first(at)

    def left(self, at: int) -> int:
        """Rows of what the merge has of lane `at`."""
        return self._left[at]

    def reached(self) -> int:
        """As of the last `ready` or `refresh`: no row below it will go any more."""
        found = ENDED
        for at, left in enumerate(self._left):
            if left:
                bound = self._head(at)
            elif self._behind[at]:
                bound = int(self._behind[at][0][0][0])
            else:
                bound = ENDED if self.lanes[at].ended else self._bounds[at]
            if bound < found:
                found = bound
        return found

    def rows(self) -> int:
        """That are here and have not gone."""
        return sum(self._left) + sum(len(time) for queue in self._behind for time, _ in queue)

    def latest(self) -> int:
        """The greatest time that came in."""
        return max(self._last, default=NOTHING)
