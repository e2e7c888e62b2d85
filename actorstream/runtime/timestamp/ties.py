"""The order of tied rows that descend from no single row: by what is in them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.operators.joining.order import sort_keys, sorted_rows

if TYPE_CHECKING:
    from actorstream.events.batch import Batch

START = "window_start"


def by_value(batch: Batch, times: np.ndarray) -> Batch:
    """The rows, which ascend by `times`, with those of one time in the order of (window start, then all fields in the
    order of the schema): of rows that windows fire that is (window end, window start, key)."""
    if batch.rows < 2 or bool((times[1:] > times[:-1]).all()):
        return batch
    names = batch.schema.names()
    ordered = [START, *(name for name in names if name != START)] if START in names else list(names)
    keys = [times]
    for name in ordered:
        keys += sort_keys(batch.column(name))
    selected = batch.selection(sorted_rows(keys).astype(np.uint32))
    selected.began = batch.began
    return selected
