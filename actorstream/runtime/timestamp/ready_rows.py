"""Makes batches for a hook of the ready rows of several lanes: slices of one lane, or gathered rows where lanes alternate.

The gate says which rows are ready, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from actorstream.runtime.timestamp.lane_rows import LaneRows, interleaved
from actorstream.runtime.timestamp.merged_rows import MergedRows
from actorstream.transports.base import FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema
    from actorstream.ordering.timestamp import TimestampGate

LONG_RUN = 512
"""So many rows of one lane that go before those of all others are a slice; fewer rows are copied into a batch with others."""
LEAST_MERGED = 1024
"""The least number of rows that are merged at once, however few a jumbo tuple has."""

Found = list[tuple["Batch", LaneRows]]


class ReadyRows:
    """Takes what is ready off the lanes.

    Args:
        batch_size: rows that are merged at once, LEAST_MERGED at least.
        wanted: rank of an input -> system columns that its rows keep when they are gathered.
        as_events: whether the hook takes events.
        one_stream: whether the hook takes the rows of all inputs as those of one input.
        schema: of the rows of all lanes, if it is the same, of fixed width, and they may become one batch; else None.
    """

    def __init__(
        self,
        gate: TimestampGate,
        lanes: list[LaneRows],
        *,
        batch_size: int,
        wanted: dict[int, tuple[str, ...]],
        as_events: bool,
        one_stream: bool,
        schema: Schema | None,
    ) -> None:
        self.gate, self.lanes = gate, lanes
        self.batch_size, self.wanted = max(batch_size, LEAST_MERGED), wanted
        self.as_events, self.one_stream = as_events, one_stream
        self._together = MergedRows(gate.kernel, schema) if schema is not None and len(lanes) > 1 else None
        self._goes_on = not any(lane.idles for lane in lanes)
        """Whether rows may be taken in before those that went are known: a lane that was idle asks what they were."""

    def next(self, take_in: Callable[[LaneRows], None]) -> Found:
        """The next rows in order, and a lane of the input that each batch is of; none: nothing is ready.

        take_in: called with a lane whose rows here have gone and whose head is data, to take it in."""
        if self._together is not None:
            return self._merged(self._together, take_in)
        rows, only, tags = self.gate.ready(self.batch_size)
        if not rows:
            return []
        if only is not None:
            return [(self._slice(only, rows), self.lanes[only])]
        return list(self._by_input(rows, tags))

    def _merged(self, merged: MergedRows, take_in: Callable[[LaneRows], None]) -> Found:
        """What is ready, and what comes right behind it, as one batch; a long run of one lane by itself."""
        gate, lanes = self.gate, self.lanes
        room = min(gate.rows(), self.batch_size)
        while (left := room - merged.rows) > 0:
            rows, only, tags = gate.ready(left, LONG_RUN)
            if not rows:
                break
            if only is not None:
                found: Found = [(merged.take(), lanes[only])] if merged.rows else []
                return [*found, (self._slice(only, rows), lanes[only])]
            if not merged.rows:
                merged.begin(room)
            taken = [at for at, count in enumerate(gate.taken) if count]
            for at in taken:
                merged.draw(at, lanes[at].batches[0])
            merged.put(tags)
            for at in taken:
                if not gate.left(at):
                    merged.release(at)
                    lanes[at].release()
            if not self._goes_on:
                break
            for lane in gate.due():
                if lane.head().kind == FrameKind.DATA:
                    take_in(lane)
        return [(merged.take(), lanes[0])] if merged.rows else []

    def _by_input(self, rows: int, tags: np.ndarray) -> Iterator[tuple[Batch, LaneRows]]:
        """Rows that several lanes have, as runs of rows of one input."""
        lanes = self.lanes
        counts = self.gate.taken
        parts = [self._slice(at, count) if count else None for at, count in enumerate(counts)]
        ranks = {lanes[at].order.rank for at, count in enumerate(counts) if count}
        if len(ranks) == 1 or self.one_stream:
            yield self._gathered(tags, parts)
            return
        by_rank = np.array([lane.order.rank for lane in lanes])[tags]
        taken = [0] * len(lanes)
        cuts = [0, *(np.flatnonzero(by_rank[1:] != by_rank[:-1]) + 1).tolist(), rows]
        for first, end in pairwise(cuts):
            own = tags[first:end]
            some: list[Batch | None] = [None] * len(lanes)
            for at, count in enumerate(np.bincount(own, minlength=len(lanes)).tolist()):
                part = parts[at]
                if count and part is not None:
                    some[at] = cut(part, taken[at], count)
                    taken[at] += count
            yield self._gathered(own, some)

    def _gathered(self, tags: np.ndarray, parts: list[Batch | None]) -> tuple[Batch, LaneRows]:
        lanes = self.lanes
        given = [at for at, part in enumerate(parts) if part is not None]
        lane = lanes[given[0]]
        if len(given) == 1:
            part = parts[given[0]]
            assert part is not None
            return part, lane
        return interleaved(tags, parts, self.wanted[lane.order.rank], self.as_events), lane

    def _slice(self, at: int, rows: int) -> Batch:
        """The `rows` of a lane that went last; what is used up is given back."""
        lane, gate = self.lanes[at], self.gate
        batch = lane.batches[0]
        part = cut(batch, gate.first(at) - rows, rows)
        if not gate.left(at):
            lane.release()
        return part


def cut(batch: Batch, first: int, rows: int) -> Batch:
    """Rows first .. first + rows - 1, with the batch's entry times."""
    if rows == batch.rows:
        return batch
    part = batch.slice(first, rows)
    part.entry_min, part.entry_max, part.began = batch.entry_min, batch.entry_max, batch.began
    return part
