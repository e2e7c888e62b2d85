"""Order `serial`: an actor's input as in a sequential run, by serial number (ordered-multicore section 3).

Between processes the reordering buffer is a merge: each lane brings ascending numbers, so the least one of all heads and
promises comes next. Pure: no clock, no I/O; it decides, and whoever owns the lanes takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorstream.native.merge import ENDED, MOST_LANES, MOST_TIES, Merge, Tags
from actorstream.ordering.none import NoOrder

NO_BOUND = 2**63 - 1
HEARTBEAT = 2


class SerialGate:
    """Merges lanes that bring rows in ascending serial numbers.

    A lane of a side input brings no serial order, and goes whenever no number is open. A number is `open_number` from when its
    first frame was taken until `close`, and nothing of another number goes meanwhile. It is complete as soon as every lane has
    brought a greater number, promised one (`lane.frontier()`), ended, or come to a barrier. What follows a barrier has greater
    numbers than what comes before it on any lane, since the point that numbers sent it in between: so a lane that waits for
    alignment holds nothing up.

    Args:
        sides: decides between the lanes of side inputs.
        strict_from: numbers from this one on come lane after lane, since several lanes have rows of one without positions.
        phases: numbers that are no multiple of it come lane after lane too: what replicas fired at one heartbeat.

    Attributes:
        bound: as of the last `next`, no frame of a lower number will come before a barrier does.
        reached: as of the last `next`, no frame of a lower number will ever come; what can be promised further on.
    """

    def __init__(
        self, lanes: list[Any], sides: Any = None, *, strict_from: int = NO_BOUND, phases: int = 1
    ) -> None:
        self.bound = self.reached = 0
        self.open_number: int | None = None
        self.strict_from, self.phases = strict_from, phases
        self._numbered, self._sides = lanes, sides or NoOrder([])
        self._floors = [0] * len(self._numbered)
        """The number that each lane brought last: it may bring more of that, never of a lower one. Numbers are 0 and
        more, so the first of them waits for no promise."""
        self._side_due = True
        """Whether a side input may go before the next number: one frame a number, so that neither starves."""

    def next(self) -> Any | None:
        bound = NO_BOUND
        first = ready = -1
        mark: Any = None
        pausing = False
        lanes, floors = self._numbered, self._floors
        for at, lane in enumerate(lanes):
            if lane.ended:
                continue
            if lane.held:
                pausing = True
                continue
            head = lane.head()
            if head is None:
                number = max(lane.frontier(), floors[at])
                head = lane.head()  # it may have come before the promise was made
            if head is not None:
                if head.kind > HEARTBEAT:
                    pausing = True
                    mark = mark or lane
                    continue
                number = head.serial
            if number < bound:
                bound, first, ready = number, at, -1
            if number == bound and head is not None and ready < 0:
                ready = at
        self.bound = bound
        if not pausing:
            self.reached = bound
        if self.open_number is not None and bound > self.open_number:
            return None
        if self.open_number is None and self._side_due:
            self._side_due = False
            side = self._sides.next()
            if side is not None:
                return side
        if ready >= 0:
            if ready == first or not (bound % self.phases or bound >= self.strict_from):
                if self.open_number is None:
                    self.open_number = bound
                floors[ready] = bound
                return lanes[ready]
            return None
        if mark is not None and (self.open_number is None):
            return mark
        return self._sides.next() if self.open_number is None else None

    @property
    def is_complete(self) -> bool:
        """Whether the open number has come whole, as of the last `next`."""
        return self.open_number is not None and self.bound > self.open_number

    def close(self) -> None:
        """The open number was dealt with: the next may be opened, and this one be promised never to come again."""
        assert self.open_number is not None
        self.reached = max(self.reached, self.open_number + 1)
        self.open_number = None
        self._side_due = True


def merged_tags(pieces: Sequence[Sequence[np.ndarray]], ranks: Sequence[int]) -> Tags | None:
    """The piece of each row of a serial number, in order; None: a piece has its own rows in another order (`merge_order`).

    Args:
        pieces: for each piece, in the order of lanes and arrival, the columns that place its rows: the position, then
            ordinals; int64, one value a row. Pieces of one input have equally many.
        ranks: of the input of each piece. Rows of one position come in the order of their inputs.
    """
    ordinals = max(len(piece) for piece in pieces) - 1
    if ordinals > MOST_TIES or len(pieces) > MOST_LANES:
        return None
    merge, rows = Merge(ranks, ordinals), 0
    for at, piece in enumerate(pieces):
        columns = [np.ascontiguousarray(column) for column in piece]
        columns += [np.zeros(len(piece[0]), np.int64)] * (ordinals + 1 - len(piece))
        merge.fill(at, columns[0], columns[1:])
        if not merge.is_sorted(at):
            return None
        merge.promise(at, ENDED)
        rows += len(piece[0])
    return merge.ready(rows, rows + 1)[2]


def merge_order(pieces: Sequence[Sequence[np.ndarray]], ranks: Sequence[int]) -> np.ndarray:
    """The order of the rows of one serial number, whatever their order in each piece; arguments as of `merged_tags`.

    Returns row numbers of the pieces laid end to end, stable for rows that have the same place.
    """
    keys = [
        _laid_end_to_end(pieces, 0),
        np.repeat(np.asarray(ranks, np.int64), [len(piece[0]) for piece in pieces]),
    ]
    keys += [_laid_end_to_end(pieces, number) for number in range(1, max(len(piece) for piece in pieces))]
    return np.lexsort(keys[::-1])


def _laid_end_to_end(pieces: Sequence[Sequence[np.ndarray]], number: int) -> np.ndarray:
    """Ordinal `number` of all rows; 0 for those of an input that has fewer."""
    return np.concatenate(
        [piece[number] if number < len(piece) else np.zeros(len(piece[0]), np.int64) for piece in pieces]
    )
