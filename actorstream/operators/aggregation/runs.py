"""Runs: sessions, windows of so many rows, and keys that are let go of once they are idle: runs of rows of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.cuts import MOST_ROWS
from actorstream.events.fields import WATERMARK
from actorstream.native.sessions import EVERYTHING, Sessions
from actorstream.operators.aggregation.admission import times_of, valid_rows
from actorstream.operators.aggregation.inputs import AggregateInputs
from actorstream.operators.aggregation.pending_rows import PendingRows
from actorstream.operators.aggregation.saved_runs import restore_runs, save_runs
from actorstream.operators.aggregation.windowed_rows import WindowedRows
from actorstream.windows.spec import COUNT
from actorstream.windows.watermark import AT_END, NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.actors.actor import Actor
    from actorstream.operators.aggregation.definition import Definition


class RunReader:
    """What results read beside the cells of sessions."""

    def __init__(self, sessions: Sessions) -> None:
        self.texts, self.text_sizes, self.quantile = sessions.texts, sessions.text_sizes, sessions.quantile
        self.sums, self.rows = sessions.sums, sessions.lists
        self._sessions = sessions

    def distinct(self, step: int, which: np.ndarray, words: np.ndarray) -> np.ndarray:
        return self._sessions.distinct(step, which)


class KeyRuns:
    """The runs of one replica; `snapshot`: to go on from.

    Rows behind their partition's watermark wait until the merged watermark is above it: then all rows that can be in
    a session with them are there, and which ones they join does not depend on who came first.

    Attributes:
        due: the watermark at which something may have to come out; nothing does below it.
        fills: whether rows alone let something come out.
    """

    def __init__(self, actor: Actor, definition: Definition, snapshot: Any = None) -> None:
        self.actor, self.definition = actor, definition
        window, layout = definition.window, definition.layout
        self.counted = window is not None and window.type == COUNT
        self.fills = self.counted
        self.timed = (
            not self.counted or definition.ttl is not None or definition.schema.event_time is not None
        )
        gap = -1 if definition.ttl is None else definition.ttl
        if window is not None and not self.counted:
            gap = window.gap
        self._gap, self._lateness = gap, 0 if window is None else window.lateness
        self._size = window.size if window is not None and self.counted else 0
        self.sessions = Sessions(
            definition.hows,
            layout.program,
            gap=gap,
            lateness=self._lateness,
            size=self._size,
            timed=self.timed,
        )
        self._inputs = AggregateInputs(
            definition.schema, definition.key, layout.values, timed=self.timed, orders=layout.program.columns
        )
        self._rows = WindowedRows(actor, definition, self.sessions.groups, RunReader(self.sessions))
        self._held = PendingRows(definition.schema)
        self._frontier = NOTHING
        self.due = NOTHING
        if snapshot is not None:
            self._frontier = snapshot["frontier"]
            self._held.restore(snapshot["held"])
            restore_runs(self.sessions, definition.fields, snapshot["runs"])

    # -- rows

    def add(self, batch: Batch) -> Batch | None:
        """Takes rows; answers those that are late, None: none is. RowErrors: a value cannot be computed, and nothing
        was taken."""
        if not self.timed:
            self.sessions.add(self._inputs.fill(batch), batch.rows, NOTHING)
            return None
        self._inputs.fill(batch)  # what fails, fails before anything is taken
        batch, _ = valid_rows(self.actor, batch, times_of(batch))
        marks = None if self.counted else batch.system.get(WATERMARK)
        if marks is not None:
            behind = marks.data > NOTHING
            if behind.any():
                self._held.add(batch.take(behind), marks.data[behind])
                batch = batch.take(~behind)
        late = self.sessions.add(self._inputs.fill(batch), batch.rows, self._frontier)
        return None if late is None else batch.take(late)

    def _add_held(self, below: int) -> None:
        """Adds the rows that wait for a watermark above theirs, now that it is `below`."""
        found = self._held.take(below)
        if found is None:
            return
        batch, marks = found
        late = self.sessions.add(self._inputs.fill(batch), batch.rows, self._frontier, marks)
        if late is not None:
            rows = batch.take(late)
            self.actor.context.count_late(rows.rows)
            self.actor.emit(rows, "late")

    # -- results

    def fire(self, frontier: int) -> Iterator[Batch]:
        """The runs that are over at the watermark `frontier`."""
        self._add_held(frontier)
        if self._gap >= 0 and frontier > NOTHING // 2:
            yield from self._over(min(frontier - self._lateness, EVERYTHING - 1))
        self._frontier = frontier

    def full(self) -> Iterator[Batch] | None:
        """The windows that have all their rows."""
        return self._over(NOTHING)

    def changed(self) -> Iterator[Batch]:
        return iter(())

    def promise(self, frontier: int) -> int:
        if self.counted:
            return frontier
        if self.definition.window is None:
            return max(frontier - self._gap, NOTHING)
        return max(frontier - self._lateness - 1, NOTHING)

    def end(self) -> Iterator[Batch]:
        """All runs."""
        self._add_held(EVERYTHING)
        yield from self._over(EVERYTHING)

    def _over(self, bound: int) -> Iterator[Batch]:
        groups, start, last = self.sessions.due(bound)
        if len(groups) == 0:
            return
        rank = np.empty(self.sessions.groups.count, np.uint32)
        order = self.sessions.groups.order()
        rank[order] = np.arange(len(order), dtype=np.uint32)
        which = np.lexsort((rank[groups], start, last)).astype(np.uint32)
        for first in range(0, len(which), MOST_ROWS):
            some = which[first : first + MOST_ROWS]
            yield from self._made(groups[some], some, start[some], last[some], bound)
        self.sessions.release()

    def _made(
        self, groups: np.ndarray, which: np.ndarray, start: np.ndarray, last: np.ndarray, bound: int
    ) -> Iterator[Batch]:
        own = self.sessions.cells(which)
        if self.definition.window is None:
            return self._rows.batches(groups, which, own, None, last)
        end = last + 1 if self.counted else last + self._gap
        time = None
        if self.timed:
            time = self._counted_time(own[:, 0], last, bound) if self.counted else end - 1
        return self._rows.batches(groups, which, own, (start, end), time)

    def _counted_time(self, rows: np.ndarray, last: np.ndarray, bound: int) -> np.ndarray:
        """Event times of count windows with so many rows, which do not depend on when watermarks came: that of the last
        row where it filled the window, when the key was let go of (by a watermark or by its next row), or the end."""
        if bound == EVERYTHING:
            return np.full(len(last), AT_END)
        return np.maximum(np.where(rows < self._size, last + self._gap, last), self._frontier)

    # -- state

    @property
    def nbytes(self) -> int:
        return self.sessions.nbytes + self._held.nbytes

    def snapshot(self) -> Any:
        return {
            "frontier": self._frontier,
            "held": self._held.snapshot(),
            "runs": save_runs(self.sessions, self.definition.fields),
        }
