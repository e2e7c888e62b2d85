"""The order of tied rows that descend from no single row: by what is in them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.interleaved import cut
from actorstream.events.saved import save_rows
from actorstream.operators.joining.order import sort_keys, sorted_rows
from actorstream.ordering.timestamp import joined, times_of
from actorstream.runtime.timestamp.lane_rows import saved_lane
from actorstream.transports.base import FRONTIER_END

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.timestamp.lane_rows import LaneRows

WINDOW = ("window_end", "window_start")


def by_value(batch: Batch, times: np.ndarray, fields: tuple[str, ...] = ()) -> Batch:
    """The rows, which ascend by `times`, with those of one time in the order of (window end, window start, then `fields`,
    or all in the order of the schema). Rows that are alike in these stay as they are."""
    if batch.rows < 2 or bool((times[1:] > times[:-1]).all()):
        return batch
    names = batch.schema.names()
    first = [name for name in WINDOW if name in names]
    ordered = [*first, *(name for name in fields or names if name not in first)]
    keys = [times]
    for name in ordered:
        keys += sort_keys(batch.column(name))
    return batch.selection(sorted_rows(keys).astype(np.uint32))


class ValueTies:
    """Puts the merged rows of one time and input in the order of what is in them, where they have no other. They wait until no
    row of that time can follow."""

    def __init__(self) -> None:
        self.rows: list[Batch] = []
        self._lane: LaneRows | None = None
        """Whose input they are of."""

    def add(self, batch: Batch, lane: LaneRows) -> list[tuple[Batch, str]]:
        """Adds the next rows of the merge; `lane` is one of their input. Returns the batches that go, each with its input."""
        is_other = self._lane is None or self._lane.order.rank != lane.order.rank
        gone = self.settled(FRONTIER_END) if self.rows and is_other else []
        if not lane.order.by_value:
            return [*gone, (batch, lane.input)]
        self.rows.append(batch)
        self._lane = lane
        return gone

    def settled(self, reached: int) -> list[tuple[Batch, str]]:
        """The rows that go, since none below `reached` can follow, each batch with its input; FRONTIER_END: all of them."""
        if not self.rows or self._lane is None or (reached <= self.time() and reached != FRONTIER_END):
            return []
        batch, lane = joined(self.rows), self._lane
        times = times_of(batch)
        rows = batch.rows if reached == FRONTIER_END else int(np.searchsorted(times, reached))
        self.rows = [cut(batch, rows, batch.rows - rows)] if rows < batch.rows else []
        return [(by_value(cut(batch, 0, rows), times[:rows], lane.order.tie_fields), lane.input)]

    def time(self) -> int:
        """The time of the first row that waits; the end of time if there is none."""
        return int(times_of(self.rows[0])[0]) if self.rows else FRONTIER_END

    def snapshot(self) -> Any:
        if not self.rows or self._lane is None:
            return None
        return saved_lane(self._lane, [save_rows(joined(self.rows))])

    def restore(self, batch: Batch, lane: LaneRows) -> None:
        self.rows, self._lane = [batch], lane
