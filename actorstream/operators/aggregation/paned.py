"""Paned: tumbling and sliding windows, and the whole stream as one, put together from panes (AIR section 4.2). A row is
added to one cell, however many windows it is in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.cuts import MOST_ROWS
from actorstream.events.fields import WATERMARK
from actorstream.events.representation import known_times
from actorstream.native.cells import USER
from actorstream.native.panes import ALL, UNKNOWN, Panes, PanesStep, latest_of
from actorstream.operators.aggregation.admission import admit, times_of, valid_rows
from actorstream.operators.aggregation.inputs import AggregateInputs
from actorstream.operators.aggregation.saved_panes import restore_panes, save_panes
from actorstream.operators.aggregation.windowed_rows import WindowedRows
from actorstream.operators.chain import LinkedRows, Linking, UnlinkedError
from actorstream.operators.chain_end import Admission
from actorstream.windows.sliding import SlidingWindows
from actorstream.windows.spec import TUMBLING, WindowSpec
from actorstream.windows.watermark import AT_END, NOTHING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.actors.actor import Actor
    from actorstream.events.batch import Batch
    from actorstream.operators.aggregation.definition import Definition

_WHOLE = WindowSpec(TUMBLING, size=1, slide=1)
LONGEST = 1 << 62
"""A watermark that no event time passes."""


class PaneReader:
    """What results read beside the cells of panes."""

    def __init__(self, panes: Panes) -> None:
        self.texts, self.text_sizes, self.quantile = panes.texts, panes.text_sizes, panes.quantile
        self.sums, self.rows = panes.sums, panes.rows

    def distinct(self, step: int, which: np.ndarray, words: np.ndarray) -> np.ndarray:
        return words.view(np.int64)


class Paned:
    """The panes of one replica; `snapshot`: to go on from.

    Attributes:
        due: the watermark at which something may have to come out; nothing does below it.
        fills: whether rows alone let something come out.
    """

    fills = False

    def __init__(self, actor: Actor, definition: Definition, snapshot: Any = None) -> None:
        self.actor, self.definition = actor, definition
        layout = definition.layout
        self.whole = definition.window is None
        self.windows = SlidingWindows(definition.window or _WHOLE)
        windows = self.windows
        self.panes = Panes(
            definition.hows,
            layout.program,
            origin=0 if self.whole else windows.origin,
            width=0 if self.whole else windows.width,
        )
        timed = not self.whole or definition.schema.event_time is not None
        self._inputs = AggregateInputs(
            definition.schema, definition.key, layout.values, timed=timed, orders=layout.program.columns
        )
        self._rows = WindowedRows(actor, definition, self.panes.groups, PaneReader(self.panes))
        self.closed = windows.first(0) - 1
        self._ended = self.closed
        self._frontier = NOTHING
        self._latest = NOTHING
        self._early = 0
        self._marking = definition.early or definition.updates
        saved = None
        if snapshot is not None:
            self.closed, self._ended, self._frontier, self._latest, self._early = snapshot["places"]
            saved = snapshot["panes"]
        restore_panes(self.panes, definition.fields, saved, marking=self._marking)
        self._settle()

    def _settle(self) -> None:
        """Notes from when on rows are late, and when the next window may close."""
        windows = self.windows
        self._low = max(windows.pane_start(windows.open_pane(self.closed)), 0)
        self.due = LONGEST * 2 if self.whole else windows.end(self.closed + 1) + windows.lateness
        if self.definition.updates:
            self.due = NOTHING
        elif self.definition.period is not None:
            self.due = min(self.due, (self._early + 1) * self.definition.period)

    # -- rows

    def add(self, batch: Batch) -> Batch | None:
        """Takes rows; answers those that are late, None: none is. RowErrors: a value cannot be computed, and nothing
        was taken."""
        if self.whole:
            self._add_whole(batch)
            return None
        if WATERMARK not in batch.carried():
            known = known_times(batch) or UNKNOWN
            if self.panes.add(self._inputs.fill(batch), batch.rows, self._low, ALL, known):
                return None
        self._inputs.fill(batch)  # what fails, fails before anything is taken
        batch, times = valid_rows(self.actor, batch, times_of(batch))
        admitted = admit(batch, times, self.windows, self.closed)
        for tag, rows in [(ALL, admitted.whole), *admitted.narrowed]:
            if rows.rows:
                self.panes.add(self._inputs.fill(rows), rows.rows, 0, tag)
        return admitted.late

    def job(self, batch: Batch) -> Any:
        """`add` as a job of a pool; None: some rows are behind their watermark. RowErrors as for `add`."""
        if self.whole:
            return self.panes.job(self._inputs.fill(batch), batch.rows, 0)
        if WATERMARK in batch.carried():
            return None
        return self.panes.job(self._inputs.fill(batch), batch.rows, self._low, known_times(batch) or UNKNOWN)

    def link(self, chain: Linking, rows: LinkedRows) -> PanesStep:
        """`add` as the last step of a chain. UnlinkedError: it is none."""
        time, given = _time_column(rows), _time_column(chain.rows)
        if time != given and (time is None or not self.whole):
            raise UnlinkedError  # its event time is no column, or not the one of which the step is told the bounds
        if any(step.what == USER for step in self.panes.program.steps):
            raise UnlinkedError  # a function that fails has changed the state, and the hook would add the rows again
        step = PanesStep(self.panes, self._inputs.operands)
        chain.add(rows, self._inputs.link(chain, rows), step)
        return step

    def admission(self, room: int) -> Admission:
        """What may be added now by `link`: at most `room` rows."""
        return Admission(room, NOTHING if self.whole else self._low, min(self.due, AT_END))

    def job_added(self, batch: Batch) -> bool:
        """Whether the job of a batch has taken it; False: some rows are late, and the batch is to be added."""
        if self.whole:
            self._note_latest(batch)
        return self.panes.job_added()

    def _add_whole(self, batch: Batch) -> None:
        self._note_latest(batch)
        self.panes.add(self._inputs.fill(batch), batch.rows, 0)

    def _note_latest(self, batch: Batch) -> None:
        """Of rows whose event time is no field of theirs; that of others the panes note."""
        if batch.schema.event_time is None and (times := batch.event_times()) is not None and len(times):
            self._latest = max(self._latest, int(times.max()))

    # -- results

    def fire(self, frontier: int) -> Iterator[Batch]:
        """What the watermark `frontier` lets out, by window: those that are over; of updates also those whose end has
        come, and what late rows have changed since; of early results what rows have changed in all others."""
        definition, windows = self.definition, self.windows
        frontier = min(frontier, LONGEST)  # at the end of input: numbers of later windows may not fit 64 bits
        self._frontier = frontier
        early = definition.period is not None and frontier // definition.period > self._early
        if early and definition.period is not None:
            self._early = frontier // definition.period
        if not self.whole:
            closed = max(windows.closed(frontier), self.closed)
            ended = max(windows.ended(frontier), self._ended) if definition.updates else closed
            yield from self._close(closed, ended, early)
        elif early:
            yield from self.changed()
        self._settle()

    def changed(self) -> Iterator[Batch]:
        """The rows of groups that were added to since the last time, of windows that are not over."""
        if self.whole:
            yield from self._window(0, marked=True)
        else:
            yield from self._windows(self.panes.numbers(), self.closed, LONGEST, marked=True)
        self.panes.unmark()

    def full(self) -> Iterator[Batch] | None:
        return None

    def promise(self, frontier: int) -> int:
        """The event time below which nothing will come out from now on, once `fire(frontier)` has."""
        return max(frontier - self.windows.lateness, NOTHING)

    def end(self) -> Iterator[Batch]:
        """All that has not come out."""
        if self.whole:
            if getattr(
                self.actor.context, "in_order", False
            ):  # what it has heard of event time by now is up to when it came
                self._frontier = AT_END
            yield from self._window(0, marked=False)
            self.panes.drop(1)
            return
        numbers = self.panes.numbers()
        if len(numbers):
            last = self.windows.last(int(self.windows.pane_start(int(numbers[-1]))))
            yield from self._close(max(last, self.closed), max(last, self._ended), early=False)

    def _close(self, closed: int, ended: int, early: bool) -> Iterator[Batch]:
        """Of windows up to `ended` all groups come out once, up to `closed` for the last time."""
        updates, early_too = self.definition.updates, self.definition.early
        if closed == self.closed and ended == self._ended and not early and not updates:
            return
        numbers = self.panes.numbers()
        if (
            updates
        ):  # what late rows have changed; of early results only at their pace, or when it is the last time
            until = self._ended if early or not early_too else min(closed, self._ended)
            yield from self._windows(numbers, self.closed, until, marked=True)
        yield from self._windows(numbers, max(self.closed, self._ended), ended, marked=False)
        if early:
            yield from self._windows(numbers, ended, LONGEST, marked=True)
        if early or (updates and not early_too):
            self.panes.unmark()
        self._ended = ended
        if closed > self.closed:
            self.closed = closed
            self.panes.drop(self.windows.open_pane(closed))

    def _windows(self, numbers: np.ndarray, low: int, high: int, *, marked: bool) -> Iterator[Batch]:
        """Windows low + 1 .. high that have one of the panes `numbers`."""
        for window in self.windows.windows_of(numbers, low, high).tolist():
            yield from self._window(window, marked=marked)

    def _window(self, window: int, *, marked: bool) -> Iterator[Batch]:
        windows, panes = self.windows, self.panes
        if self.whole:
            most = panes.open(0, 1, 0, marked=marked)
        else:
            most = panes.open(windows.first_pane(window), windows.window_panes, window, marked=marked)
        while most > 0:
            room = min(most, MOST_ROWS)
            groups, own = np.empty(room, np.uint32), np.empty((room, panes.words), np.uint64)
            found = panes.take(groups, own)
            if found:
                yield from self._made(groups[:found], own[:found], window)
            if found < room:
                return

    def _made(self, groups: np.ndarray, own: np.ndarray, window: int) -> Iterator[Batch]:
        if self.whole:
            latest = self._greatest()
            times = np.full(len(groups), max(latest, self._frontier)) if latest > NOTHING else None
            return self._rows.batches(groups, groups, own, None, times)
        start, end = self.windows.start(window), self.windows.end(window)
        bounds = np.full(len(groups), start), np.full(len(groups), end)
        return self._rows.batches(groups, groups, own, bounds, np.full(len(groups), end - 1))

    def _greatest(self) -> int:
        """The greatest event time of all rows; NOTHING: none is known."""
        return max(self._latest, latest_of(self.panes))

    # -- state

    @property
    def nbytes(self) -> int:
        return self.panes.nbytes

    def snapshot(self) -> Any:
        places = [self.closed, self._ended, self._frontier, self._greatest(), self._early]
        return {
            "places": places,
            "panes": save_panes(self.panes, self.definition.fields),
        }


def _time_column(rows: LinkedRows) -> int | None:
    """The number of the column of the rows' event time; None: they have none."""
    name = rows.schema.event_time
    return None if name is None else rows.columns[name].number
