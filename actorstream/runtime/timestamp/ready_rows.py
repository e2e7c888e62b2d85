"""Makes batches for a hook of the ready rows of several lanes: slices of one lane, or gathered rows where lanes alternate.

The gate says which rows are ready, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.interleaved import Interleaving, Part, cut, interleaved, runs
from actorstream.runtime.timestamp.lane_rows import LaneRows
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
        schemas: rank of an input -> that of its rows, with the system columns which they keep.
        as_events: whether the hook takes events.
        one_stream: whether the hook takes the rows of all inputs as those of one input.
        together: whether rows that become ready one after the other may become one batch.
    """

    def __init__(
        self,
        gate: TimestampGate,
        lanes: list[LaneRows],
        *,
        batch_size: int,
        schemas: dict[int, Schema],
        as_events: bool,
        one_stream: bool,
        together: bool,
    ) -> None:
        self.gate, self.lanes, self.schemas = gate, lanes, schemas
        self.batch_size, self.as_events, self.together = max(batch_size, LEAST_MERGED), as_events, together
        self._kinds = [lanes[0].order.rank if one_stream else lane.order.rank for lane in lanes]
        self._goes_on = not any(lane.idles for lane in lanes)
        """Whether rows may be taken in before those that went are known: a lane that was idle asks what they were."""

    def next(self, take_in: Callable[[LaneRows], None]) -> Found:
        """The next rows in order, and a lane of the input that each batch is of; none: nothing is ready.

        take_in: called with a lane whose rows here have gone and whose head is data, to take it in."""
        if self.together:
            return self._merged(take_in)
        rows, only, tags = self.gate.ready(self.batch_size)
        if not rows:
            return []
        if only is not None:
            return [(self._slice(only, rows), self.lanes[only])]
        return list(self._by_input(tags))

    def _merged(self, take_in: Callable[[LaneRows], None]) -> Found:
        """What is ready, and what comes right behind it, as one batch; a long run of one lane by itself."""
        gate, lanes = self.gate, self.lanes
        room = min(gate.rows(), self.batch_size)
        interleavings: list[Interleaving] = []
        found: Found = []
        while room > 0:
            rows, only, tags = gate.ready(room, LONG_RUN)
            if not rows:
                break
            if only is not None:
                found = [(self._slice(only, rows), lanes[only])]
                break
            interleavings.append(Interleaving(tags.copy(), self._taken()))
            room -= rows
            if not self._goes_on:
                break
            for lane in gate.due():
                if lane.head().kind == FrameKind.DATA:
                    take_in(lane)
        if not interleavings:
            return found
        schema = self.schemas[self._kinds[0]]
        return [(interleaved(schema, interleavings, as_events=self.as_events), lanes[0]), *found]

    def _by_input(self, tags: np.ndarray) -> Iterator[tuple[Batch, LaneRows]]:
        """Rows that several lanes have, as runs of rows of one input."""
        interleaving = Interleaving(tags.copy(), self._taken())
        for batch, at in runs(self.schemas, interleaving, self._kinds, as_events=self.as_events):
            yield batch, self.lanes[at]

    def _taken(self) -> list[Part | None]:
        """Where the rows are that went last; lanes whose rows have all gone are released."""
        gate, lanes, parts = self.gate, self.lanes, list[Part | None]()
        for at, count in enumerate(gate.taken):
            if not count:
                parts.append(None)
                continue
            parts.append((lanes[at].runs[0].batch, gate.first(at) - count))
            if not gate.left(at):
                lanes[at].release()
        return parts

    def _slice(self, at: int, rows: int) -> Batch:
        """The `rows` of a lane that went last; what is used up is given back."""
        lane, gate = self.lanes[at], self.gate
        batch = lane.runs[0].batch
        part = cut(batch, gate.first(at) - rows, rows)
        if not gate.left(at):
            lane.release()
        return part
