"""Which right row is as of each left row, once enough is known: the matching of an as-of join, without its actor.

Rows are settled once the watermark has passed them: then all rows before them are known. A left row waits until its
answer cannot change any more, and answers leave in the order of the left's time, so results do not depend on batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.cuts import cuts, sizes_of
from actorstream.events.saved import save_rows, saved_rows
from actorstream.native.lookup import NONE
from actorstream.operators.joining.joined import beside
from actorstream.operators.joining.latest import KeyLookup, Latest, key_columns
from actorstream.operators.joining.order import sorted_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.events.schema import Schema
    from actorstream.operators.joining.keys import Pairs

BACKWARD, FORWARD, NEAREST = "backward", "forward", "nearest"
FAR = np.int64(2**62)
"""More than any distance of event times."""


class Answers(NamedTuple):
    """Left rows in order, and the right row of each: number `row[i]` of `right[source[i]]`; a source below -1: none."""

    left: Batch
    right: dict[int, Batch]
    source: np.ndarray
    row: np.ndarray
    schema: Schema
    """Of the right rows."""

    def batches(self, schema: Schema, names: list[str]) -> Iterator[Batch]:
        """The left rows, each with the fields `names` of its right row, as batches of `schema` that are bounded."""
        sizes = sizes_of(self.left.ungathered(field.name) for field in self.left.schema.fields)
        for source, places in self.right.items():
            found = sizes_of((places.column(name), None) for name in names)
            if found is not None:
                here = np.flatnonzero(self.source == source)
                sizes = np.zeros(len(self.row), np.int64) if sizes is None else sizes
                sizes[here] += found[self.row[here]]
        for first, rows in cuts(len(self.row), schema.row_bytes, sizes):
            right, index = self._right(slice(first, first + rows))
            columns = [right.column(name) for name in names]
            yield beside(self.left.slice(first, rows), schema, columns, index, outer=True)

    def _right(self, part: slice) -> tuple[Batch, np.ndarray]:
        """The right rows of some left rows, put together from several places: rows, and the number of each in them."""
        source, row = self.source[part], self.row[part]
        parts: list[Batch] = []
        index = np.full(len(row), NONE, np.uint32)
        offset = 0
        for each in np.unique(source[source >= -1]).tolist():
            here = np.flatnonzero(source == each)
            parts.append(self.right[each].take(row[here]))
            index[here] = np.arange(offset, offset + len(here), dtype=np.uint32)
            offset += len(here)
        return Batch.concat(parts) if parts else _none(self.schema), index


class _Rows(NamedTuple):
    """Rows ordered by time."""

    rows: Batch
    times: np.ndarray


class AsOf:
    """The left rows that wait, and the right rows that they or later ones may need.

    Args:
        left, right: schemas. by: (left's field, right's field) that must be equal.
        direction: "backward": the last right row at or before a left row; "forward": the first at or after it;
            "nearest": the closer of both, the former if they are equally far.
        tolerance: how far away at the most; None: any.
    """

    def __init__(self, left: Schema, right: Schema, by: Pairs, direction: str, tolerance: int | None) -> None:
        self.left, self.right = left, right
        self.direction, self.tolerance = direction, tolerance
        self._left_keys = [name for name, _ in by]
        self._right_keys = [name for _, name in by]
        self.latest = Latest(right, self._right_keys, [left.field(name) for name in self._left_keys])
        self.waiting = _Rows(_none(left), np.empty(0, np.int64))
        self.window = _Rows(_none(right), np.empty(0, np.int64))
        """Right rows at or after the first left row that waits."""

    def settle(
        self,
        left: Batch,
        left_times: np.ndarray,
        right: Batch,
        right_times: np.ndarray,
        frontier: int,
        *,
        end: bool,
    ) -> Answers | None:
        """Takes the rows that have settled, in the order of arrival, and answers the left rows that wait no longer.

        frontier: nothing below it will settle any more. end: nothing at all will."""
        self.waiting = _joined(self.waiting, left, left_times)
        self.window = _joined(self.window, right, right_times)
        rows, times = self.waiting
        answers = None
        if rows.rows:
            source, row, decided = self._match(rows, times, frontier, end)
            ready = int(decided.argmin()) if not decided.all() else len(decided)
            if ready:
                answers = self._answers(rows.slice(0, ready), source[:ready], row[:ready])
                rest = rows.slice(ready, rows.rows - ready).compact()
                self.waiting = _Rows(rest, times[ready:].copy())
        self._let_go(frontier)
        return answers

    @property
    def low(self) -> int | None:
        """The time of the first left row that waits."""
        return int(self.waiting.times[0]) if len(self.waiting.times) else None

    @property
    def rows(self) -> int:
        """Rows that the next `settle` looks at again."""
        return self.waiting.rows.rows + self.window.rows.rows

    @property
    def nbytes(self) -> int:
        return self.waiting.rows.nbytes + self.window.rows.nbytes + self.latest.nbytes + 8 * self.rows

    # -- inside

    def _match(
        self, rows: Batch, times: np.ndarray, frontier: int, end: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For each left row where its right row is (-2: none, -1: in the window, else in that level), which row it is
        there, and whether that is final."""
        asked = key_columns(rows, self._left_keys)
        before, before_at, after, after_at = self._in_window(asked, times)
        source = np.full(len(times), -2, np.int64)
        row = np.full(len(times), NONE, np.uint32)
        back = np.full(len(times), FAR)
        if self.direction != FORWARD:
            here = before != NONE
            source[here], row[here], back[here] = -1, before[here], times[here] - before_at[here]
            if not here.all():
                self._from_latest(asked, times, ~here, source, row, back)
        final = np.ones(len(times), np.bool_)
        if self.direction != BACKWARD:
            ahead = np.where(after != NONE, after_at - times, FAR)
            closer = ahead < back
            source[closer], row[closer] = -1, after[closer]
            # a later right row lies at the frontier at the least: it cannot be closer than what is known, or is too far
            bound = np.minimum(back, FAR if self.tolerance is None else np.int64(self.tolerance) + 1)
            final = (after != NONE) | (frontier - times >= bound) | end
            for column in asked:
                final |= ~column.valid()  # a null key has no partner
            back = np.minimum(back, ahead)
        if self.tolerance is not None:
            far = back > self.tolerance
            source[far], row[far] = -2, NONE
        return source, row, final

    def _in_window(self, asked: list[Any], times: np.ndarray) -> tuple[np.ndarray, ...]:
        """Of each left row the last row of the window at or before it and the first at or after it (NONE), and their
        times."""
        rows, window_times = self.window
        nothing = np.full(len(times), NONE, np.uint32)
        if rows.rows == 0:
            return nothing, times, nothing, times
        own = key_columns(rows, self._right_keys)
        keys = KeyLookup(own, [column.field for column in asked])
        key = keys.find(asked)
        own_key = KeyLookup(own, [column.field for column in own]).find(own)
        order = np.flatnonzero(own_key != NONE)  # a null key has no partner
        if len(order) == 0:
            return nothing, times, nothing, times
        order = order[sorted_rows([own_key[order], window_times[order]])]
        left_code, right_code = _codes(key, times, own_key[order], window_times[order])
        found = key != NONE
        before = after = nothing
        if self.direction != FORWARD:
            at = np.searchsorted(right_code, left_code, side="right") - 1
            before = _same_key(order, own_key, key, at, found)
        if self.direction != BACKWARD:
            at = np.searchsorted(right_code, left_code, side="left")
            after = _same_key(order, own_key, key, at, found)
        clipped = (np.minimum(each, rows.rows - 1) for each in (before, after))
        before_at, after_at = (window_times[each] for each in clipped)
        return before, before_at, after, after_at

    def _from_latest(
        self,
        asked: list[Any],
        times: np.ndarray,
        wanted: np.ndarray,
        source: np.ndarray,
        row: np.ndarray,
        back: np.ndarray,
    ) -> None:
        numbers = np.flatnonzero(wanted).astype(np.uint32)
        level, found = self.latest.find([column.take(numbers) for column in asked])
        for each in np.unique(level[level >= 0]):
            here = level == each
            at = numbers[here]
            source[at], row[at] = each, found[here]
            back[at] = times[at] - self.latest.levels[each].times[found[here]]

    def _answers(self, left: Batch, source: np.ndarray, row: np.ndarray) -> Answers:
        places = np.unique(source[source >= -1]).tolist()
        rows = {each: self.window.rows if each == -1 else self.latest.levels[each].rows for each in places}
        return Answers(left, rows, source, row, self.right)

    def _let_go(self, frontier: int) -> None:
        """Keeps of the right rows before every left row that waits, or may still come, the last of each key."""
        low = self.low
        keep_from = frontier if low is None else min(low, frontier)
        rows, times = self.window
        gone = int(np.searchsorted(times, keep_from, side="left"))
        if gone == 0:
            return
        if self.direction != FORWARD:
            oldest = None if self.tolerance is None else keep_from - self.tolerance
            self.latest.add(rows.slice(0, gone), times[:gone], oldest)
        self.window = _Rows(rows.slice(gone, rows.rows - gone).compact(), times[gone:].copy())

    # -- snapshots

    def snapshot(self) -> dict[str, Any]:
        return {
            "latest": self.latest.snapshot(),
            "waiting": _packed(self.waiting),
            "window": _packed(self.window),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        self.latest.restore(snapshot["latest"])
        self.waiting = _unpacked(snapshot["waiting"], self.left)
        self.window = _unpacked(snapshot["window"], self.right)


def _none(schema: Schema) -> Batch:
    return Batch.of_columns(schema, {name: [] for name in schema.names()})


def _joined(own: _Rows, rows: Batch, times: np.ndarray) -> _Rows:
    """The rows of both; those that come in are ordered by time first, and are not before the others."""
    if rows.rows == 0:
        return own
    if len(times) > 1 and (times[1:] < times[:-1]).any():
        order = sorted_rows([times])
        rows, times = rows.take(order), times[order]
    if own.rows.rows == 0:
        return _Rows(rows, times)
    return _Rows(Batch.concat([own.rows, rows]), np.concatenate([own.times, times]))


def _codes(
    key: np.ndarray, times: np.ndarray, other: np.ndarray, other_times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Keys (row numbers, or NONE) and times of two inputs as numbers that compare like both, the key first."""
    every = np.concatenate([times, other_times])
    least, greatest = int(every.min()), int(every.max())
    if (greatest - least + 1) << 32 >= 1 << 63:  # their ranks are less than their differences
        every = np.unique(every, return_inverse=True)[1]
        least, greatest = 0, len(every)
    span = np.int64(greatest - least + 1)
    every = every - least
    first, second = every[: len(times)], every[len(times) :]
    return key.astype(np.int64) * span + first, other.astype(np.int64) * span + second


def _same_key(
    order: np.ndarray, own: np.ndarray, key: np.ndarray, at: np.ndarray, found: np.ndarray
) -> np.ndarray:
    """The rows at `at` of the order, NONE where that is outside or of another key."""
    inside = found & (at >= 0) & (at < len(order))
    row = order[np.where(inside, at, 0)].astype(np.uint32)
    return np.where(inside & (own[row] == key), row, NONE).astype(np.uint32)


def _packed(rows: _Rows) -> dict[str, Any]:
    return {"rows": save_rows(rows.rows), "times": rows.times.tobytes()}


def _unpacked(snapshot: dict[str, Any], schema: Schema) -> _Rows:
    return _Rows(saved_rows(schema, snapshot["rows"]), np.frombuffer(snapshot["times"], np.int64))
