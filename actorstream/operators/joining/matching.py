"""Pairs of rows of two closing inputs that have equal keys in the same window, by a lookup over whole columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.native.lookup import NONE, Lookup, kinds
from actorstream.operators.joining.keys import Pairs, how_of, key_table, table_hows

if TYPE_CHECKING:
    from actorstream.operators.joining.pending import Closing

_WINDOW = Field("window", Kind.INT64)


class Matches(NamedTuple):
    """Pair i is number `left[i]` and `right[i]` of the inputs' closing rows (NONE: no partner), in window `window[i]`.
    uint32, uint32, int64; in the order of the left, then the right; rows that only the right has come last."""

    left: np.ndarray
    right: np.ndarray
    window: np.ndarray


def matches(left: Closing, right: Closing, pairs: Pairs, how: str) -> Matches:
    """The pairs of a join: "inner", "left", "right" or "outer"."""
    asked = [left.column(name) for name, _ in pairs]
    table = [right.column(name) for _, name in pairs]
    hows = table_hows([column.field for column in table], [column.field for column in asked])
    if not _one_window(left.window, right.window):
        asked.insert(0, Column(_WINDOW, len(left.window), None, left.window, None))
        table.insert(0, Column(_WINDOW, len(right.window), None, right.window, None))
        hows.insert(0, how_of(_WINDOW))
    lookup = Lookup([column.descriptor for column in table], hows, len(right.window))
    found = lookup.find(key_table(asked), kinds([how_of(column.field) for column in asked]), len(left.window))
    parts = list(lookup.expand(found, outer=how in ("left", "outer")))
    nothing = np.empty(0, np.uint32)
    first = np.concatenate([one for one, _ in parts]) if parts else nothing
    second = np.concatenate([other for _, other in parts]) if parts else nothing
    if how in ("right", "outer"):
        alone = np.ones(len(right.window), np.bool_)
        alone[second[second != NONE]] = False
        rest = np.flatnonzero(alone).astype(np.uint32)
        first = np.concatenate([first, np.full(len(rest), NONE, np.uint32)])
        second = np.concatenate([second, rest])
    return Matches(first, second, _windows(first, left.window, second, right.window))


def _one_window(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether all rows of both are in the same window, so that it need not be compared."""
    if len(left) == 0 or len(right) == 0:
        return True
    return bool(left.min() == left.max() == right.min() == right.max())


def _windows(first: np.ndarray, left: np.ndarray, second: np.ndarray, right: np.ndarray) -> np.ndarray:
    if len(left) == 0:
        return right.take(second)
    windows = left.take(first, mode="clip")
    if len(right):
        windows = np.where(first == NONE, right.take(second, mode="clip"), windows)
    return windows
