"""The order of tied rows that descend from no single row: by what is in them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.operators.joining.order import sort_keys, sorted_rows

if TYPE_CHECKING:
    from actorstream.events.batch import Batch

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
