"""Ranking: the first rows of each group by some columns, ties broken by the others, so that it is always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from actorstream.operators.joining.order import changes, sort_keys, sorted_rows

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.column import Column


class Ranking:
    """The best `n` rows of each group.

    Args:
        keys: columns that, with the numbers given for each row, tell groups apart.
        by: (column, whether the greatest come first), the most significant first; nulls and NaN come last.
        ties: columns that decide, ascending, between rows that `by` does not tell apart.
    """

    def __init__(
        self, n: int, keys: Sequence[str], by: Sequence[tuple[str, bool]], ties: Sequence[str]
    ) -> None:
        self.n, self.keys, self.by, self.ties = n, list(keys), list(by), list(ties)

    def best(self, rows: Batch, groups: np.ndarray, index: np.ndarray | None = None) -> np.ndarray:
        """Numbers of the best in `groups` (int64), by group number, key and rank. index: the row that each is, of `rows`, one
        of which may be in several groups; None: they are all the rows."""
        if len(groups) == 0:
            return np.empty(0, np.int64)
        within = [groups, *(array for name in self.keys for array in _keys(rows.column(name), index))]
        by = [
            array
            for name, greatest in self.by
            for array in _keys(rows.column(name), index, descending=greatest)
        ]
        order = sorted_rows([*within, *by])
        starts, level = _runs([key[order] for key in within], [key[order] for key in by])
        begin = np.flatnonzero(starts)
        ends = np.append(begin[1:], len(order))
        lowest = level[np.minimum(begin + self.n, ends) - 1]  # of the levels that may be among the best
        chosen = order[level <= np.repeat(lowest, ends - begin)]
        if self.ties and len(chosen) > 1:
            picked = chosen if index is None else index[chosen]
            rest = [array for name in self.ties for array in _keys(rows.column(name), picked)]
            keys = [*(key[chosen] for key in within), *(key[chosen] for key in by), *rest]
            chosen = chosen[sorted_rows(keys)]
        begin = np.flatnonzero(_runs([key[chosen] for key in within], [])[0])
        rank = np.arange(len(chosen)) - np.repeat(begin, np.diff(np.append(begin, len(chosen))))
        best: np.ndarray = chosen[rank < self.n]
        return best


def _keys(column: Column, index: np.ndarray | None, *, descending: bool = False) -> list[np.ndarray]:
    """The sort keys of the rows at `index`. Of a variable field each row is read once, however often it is there."""
    if index is None or column.field.dtype is not None:
        return sort_keys(column if index is None else column.take(index), descending=descending)
    numbers, place = np.unique(index, return_inverse=True)
    return [array[place] for array in sort_keys(column.take(numbers), descending=descending)]


def _runs(within: list[np.ndarray], by: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of sorted rows: where groups start, and a number that rises with each group and each other value of `by`."""
    starts = changes(within[0])
    for key in within[1:]:
        starts |= changes(key)
    levels = starts.copy()
    for key in by:
        levels |= changes(key)
    return starts, np.cumsum(levels)
