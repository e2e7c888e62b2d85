"""The order of tied rows that descend from no single row: by what is in them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.interleaved import cut
from actorstream.events.saved import save_rows
from actorstream.operators.joining.order import sort_keys, sorted_rows
from actorstream.runtime.timestamp.lane_rows import times_of
from actorstream.runtime.timestamp.lane_snapshots import saved_lane
from actorstream.runtime.timestamp.sequence import joined
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
    selected = batch.selection(sorted_rows(keys).astype(np.uint32))
    selected.began = batch.began
    return selected


class ValueTies:
    """Puts the merged rows of one time and input in the order of what is in them, where they have no other. They wait until no
    row of that time can follow."""

    def __init__(self) -> None:
        self.rows: list[Batch] = []
        self._of: LaneRows | None = None

    def took(self, batch: Batch, of: LaneRows) -> list[tuple[Batch, str]]:
        """The next rows of the merge, and a lane of their input: returns the batches that go, each with its input."""
        other = self._of is None or self._of.order.rank != of.order.rank
        gone = self.settled(FRONTIER_END) if self.rows and other else []
        if not of.order.by_value:
            return [*gone, (batch, of.input)]
        self.rows.append(batch)
        self._of = of
        return gone

    def settled(self, reached: int) -> list[tuple[Batch, str]]:
        """The rows that go, since none below `reached` can follow, each batch with its input; FRONTIER_END: all of them."""
        if not self.rows or self._of is None or (reached <= self.time() and reached != FRONTIER_END):
            return []
        batch, of = joined(self.rows), self._of
        times = times_of(batch)
        rows = batch.rows if reached == FRONTIER_END else int(np.searchsorted(times, reached))
        self.rows = [cut(batch, rows, batch.rows - rows)] if rows < batch.rows else []
        return [(by_value(cut(batch, 0, rows), times[:rows], of.order.tie_fields), of.input)]

    def time(self) -> int:
        """Of the first row that waits; the end of time if there is none."""
        return int(times_of(self.rows[0])[0]) if self.rows else FRONTIER_END

    def snapshot(self) -> Any:
        if not self.rows or self._of is None:
            return None
        return saved_lane(self._of, [save_rows(joined(self.rows))])

    def restore(self, batch: Batch, of: LaneRows) -> None:
        self.rows, self._of = [batch], of
