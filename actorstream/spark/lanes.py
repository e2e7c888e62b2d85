"""Lanes: the rows that the tasks of a range push, merged by time into one sequence. Pure: no sockets, no threads.

The order is (event time, lane, place in the lane). Each lane comes by time. A row can be given once no lane that has not
ended can still bring a row before it, so every such lane must have a row here; what is given does not depend on when
batches arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from actorstream.errors import DataError
from actorstream.spark.frames import NOTHING

DAY_US = 86_400_000_000
"""Microseconds of a day. The field of a date is a datetime, so these are the unit of its event time."""


def times_of(column: Any) -> np.ndarray:
    """A column of Arrow that is an event time, as int64 in the unit of its field."""
    import pyarrow as pa

    if pa.types.is_date32(column.type):
        column = column.cast(pa.timestamp("us"))
    found: np.ndarray = column.cast(pa.int64()).to_numpy()
    return found


class MergedRows(NamedTuple):
    """A piece of the merged sequence.

    Attributes:
        lanes: the lane of each row; a number: of all rows.
    """

    rows: Any
    times: np.ndarray
    lanes: np.ndarray | int


@dataclass
class HeldBatch:
    """A batch that has arrived and has not been given whole."""

    number: int
    rows: Any
    times: np.ndarray
    before: bytes
    """The digest of the batches before it."""
    first: int = 0
    """Rows of it that lie in the merged sequence already."""


@dataclass
class TaskLane:
    """One task's rows.

    Attributes:
        batch, digest: how many batches have arrived, and their digest.
        drop: rows at the beginning of the next batch that were given before a restart.
        given: batches (their number, rows, and the digest before them) of which rows are still to be given, and how many of
            these rows were given: what a checkpoint must be able to name.
    """

    batch: int = 0
    digest: bytes = NOTHING
    drop: int = 0
    ended: bool = False
    latest: int | None = None
    held: deque[HeldBatch] = field(default_factory=deque)
    given: deque[list[Any]] = field(default_factory=deque)


class Lanes:
    """The lanes of one range.

    Args:
        count: of lanes.
        kept: what `kept` said before a restart; None: from the beginning.
    """

    def __init__(self, count: int, kept: list[Mapping[str, Any]] | None = None) -> None:
        self.lanes = [TaskLane() for _ in range(count)]
        for lane, saved in zip(self.lanes, kept or ()):
            lane.batch, lane.drop = saved["batch"], saved["drop"]
            lane.digest = bytes.fromhex(saved["digest"])
        self._merged: deque[MergedRows] = deque()
        self._at = 0
        """Rows of the first piece that were given."""

    def put(self, number: int, rows: Any, times: np.ndarray, digest: bytes) -> None:
        """A batch of a lane has arrived. DataError: its times descend."""
        lane = self.lanes[number]
        if len(times) and (
            np.any(times[1:] < times[:-1]) or (lane.latest is not None and times[0] < lane.latest)
        ):
            raise DataError(f"Spark sent rows of lane {number} that do not come by time")
        held = HeldBatch(lane.batch, rows, times, lane.digest)
        lane.given.append([lane.batch, rows.num_rows, lane.digest, lane.drop])
        held.first, lane.drop = lane.drop, 0
        lane.batch, lane.digest = lane.batch + 1, digest
        lane.latest = int(times[-1]) if len(times) else lane.latest
        lane.held.append(held)

    def end(self, number: int) -> None:
        """No more batches follow in a lane."""
        self.lanes[number].ended = True

    @property
    def ended(self) -> bool:
        """Whether everything was given."""
        return not self._merged and all(each.ended and not each.held for each in self.lanes)

    def waiting(self, number: int) -> int:
        """Batches of a lane that have arrived, and whose rows are not all in the merged sequence."""
        return len(self.lanes[number].held)

    def take(self, most: int) -> tuple[Any, int] | None:
        """The next rows of the merged sequence, at most so many, and the time of the last one; None: the next row is not
        known yet, or there is none."""
        if not self._merged and not self._merge():
            return None
        piece, first = self._merged[0], self._at
        end = self._at = min(first + most, len(piece.times))
        if isinstance(piece.lanes, int):
            self._give(self.lanes[piece.lanes], end - first)
        else:
            for number, count in enumerate(np.bincount(piece.lanes[first:end], minlength=len(self.lanes))):
                self._give(self.lanes[number], int(count))
        if end == len(piece.times):
            self._merged.popleft()
            self._at = 0
        return piece.rows.slice(first, end - first), int(piece.times[end - 1])

    def kept(self) -> list[dict[str, Any]]:
        """How far each lane was given: the first batch that was not given whole, how many of its rows were, and the digest
        of the batches before it."""
        found = []
        for lane in self.lanes:
            if lane.given:
                batch, _, digest, drop = lane.given[0]
                found.append({"batch": batch, "drop": drop, "digest": digest.hex()})
            else:
                found.append({"batch": lane.batch, "drop": lane.drop, "digest": lane.digest.hex()})
        return found

    def _give(self, lane: TaskLane, rows: int) -> None:
        while rows:
            first = lane.given[0]
            step = min(rows, first[1] - first[3])
            first[3] += step
            rows -= step
            if first[3] == first[1]:
                lane.given.popleft()
        if lane.given and lane.given[0][3] == lane.given[0][1]:
            lane.given.popleft()

    def _merge(self) -> bool:
        """Puts the rows that can be given now in order; whether there are some."""
        open_lanes = [
            (each.latest if each.held else None, number)
            for number, each in enumerate(self.lanes)
            if not each.ended
        ]
        if any(latest is None for latest, _ in open_lanes):
            return False
        bound = min(((latest, number) for latest, number in open_lanes if latest is not None), default=None)
        parts: list[MergedRows] = []
        for number, lane in enumerate(self.lanes):
            while lane.held:
                held = lane.held[0]
                end = len(held.times)
                if bound is not None:
                    side = "right" if number <= bound[1] else "left"
                    end = int(np.searchsorted(held.times, bound[0], side=side))  # type: ignore[call-overload]
                if end > held.first:
                    rows = held.rows.slice(held.first, end - held.first)
                    parts.append(MergedRows(rows, held.times[held.first : end], number))
                    held.first = end
                if end < len(held.times):
                    break
                lane.held.popleft()
        self._merged.extend(parts if len({part.lanes for part in parts}) < 2 else [_sorted(parts)])
        return bool(parts)


def _sorted(parts: list[MergedRows]) -> MergedRows:
    """The rows of several lanes by time, those of equal times as they are given."""
    import pyarrow as pa

    times = np.concatenate([part.times for part in parts])
    lanes = np.concatenate([np.full(len(part.times), part.lanes, np.int64) for part in parts])
    order = np.argsort(times, kind="stable")
    (rows,) = pa.Table.from_batches([part.rows for part in parts]).combine_chunks().to_batches()
    return MergedRows(rows.take(pa.array(order)), times[order], lanes[order])
