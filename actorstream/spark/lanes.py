"""Lanes: the rows that the tasks of a range push, merged by time into one sequence. Pure: no sockets, no threads.

The order is (event time, lane, place in the lane). Each lane comes by time. A row can be given once no lane that has not
ended can still bring a row before it, so every such lane must have a row here; what is given does not depend on when
batches arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorstream.errors import DataError
from actorstream.spark.frames import NOTHING


@dataclass
class Held:
    """A batch that has arrived and has not been given whole."""

    number: int
    rows: Any
    times: np.ndarray
    before: bytes
    """The digest of the batches before it."""
    first: int = 0
    """Rows of it that lie in the merged sequence already."""


@dataclass
class Lane:
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
    held: deque[Held] = field(default_factory=deque)
    given: deque[list[Any]] = field(default_factory=deque)


class Lanes:
    """The lanes of one range.

    Args:
        count: of lanes.
        kept: what `kept` said before a restart; None: from the beginning.
    """

    def __init__(self, count: int, kept: list[Mapping[str, Any]] | None = None) -> None:
        self.lanes = [Lane() for _ in range(count)]
        for lane, saved in zip(self.lanes, kept or ()):
            lane.batch, lane.drop = saved["batch"], saved["drop"]
            lane.digest = bytes.fromhex(saved["digest"])
        self._merged: Any = None
        self._times = np.empty(0, np.int64)
        self._of_lane = np.empty(0, np.int64)
        self._at = 0

    def put(self, number: int, rows: Any, times: np.ndarray, digest: bytes) -> None:
        """A batch of a lane has arrived. DataError: its times descend."""
        lane = self.lanes[number]
        if len(times) and (
            np.any(times[1:] < times[:-1]) or (lane.latest is not None and times[0] < lane.latest)
        ):
            raise DataError(f"Spark sent rows of lane {number} that do not come by time")
        held = Held(lane.batch, rows, times, lane.digest)
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
        return self._at == len(self._times) and all(each.ended and not each.held for each in self.lanes)

    def waiting(self, number: int) -> int:
        """Batches of a lane that have arrived, and whose rows are not all in the merged sequence."""
        return len(self.lanes[number].held)

    def take(self, most: int) -> tuple[Any, int] | None:
        """The next rows of the merged sequence, at most so many, and the time of the last one; None: the next row is not
        known yet, or there is none."""
        if self._at == len(self._times) and not self._merge():
            return None
        end = min(self._at + most, len(self._times))
        rows, time = self._merged.slice(self._at, end - self._at), int(self._times[end - 1])
        for number, count in enumerate(np.bincount(self._of_lane[self._at : end], minlength=len(self.lanes))):
            self._give(self.lanes[number], int(count))
        self._at = end
        return rows, time

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

    def _give(self, lane: Lane, rows: int) -> None:
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
        import pyarrow as pa

        open_lanes = [
            (each.latest if each.held else None, number)
            for number, each in enumerate(self.lanes)
            if not each.ended
        ]
        if any(latest is None for latest, _ in open_lanes):
            return False
        bound = min(((latest, number) for latest, number in open_lanes if latest is not None), default=None)
        parts, times, of_lane = [], [], []
        for number, lane in enumerate(self.lanes):
            while lane.held:
                held = lane.held[0]
                end = len(held.times)
                if bound is not None:
                    side = "right" if number <= bound[1] else "left"
                    end = int(np.searchsorted(held.times, bound[0], side=side))  # type: ignore[call-overload]
                if end > held.first:
                    parts.append(held.rows.slice(held.first, end - held.first))
                    times.append(held.times[held.first : end])
                    of_lane.append(np.full(end - held.first, number, np.int64))
                    held.first = end
                if end < len(held.times):
                    break
                lane.held.popleft()
        if not parts:
            return False
        unsorted, lanes = np.concatenate(times), np.concatenate(of_lane)
        order = np.argsort(unsorted, kind="stable")
        whole = pa.Table.from_batches(parts).combine_chunks().to_batches()
        self._merged = whole[0].take(pa.array(order)) if len(parts) > 1 else parts[0]
        self._times, self._of_lane, self._at = unsorted[order], lanes[order], 0
        return True
