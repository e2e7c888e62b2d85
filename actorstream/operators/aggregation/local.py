"""Local: the first of two steps of an aggregation (AIR section 4.3). Each replica of the producer aggregates what it has
by key and pane; what is emitted are rows of cells, which the second step merges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.events.batch import Batch
from actorstream.events.cuts import cuts
from actorstream.events.fields import WATERMARK, Field, Kind
from actorstream.events.schema import Schema
from actorstream.native import cells
from actorstream.native.kernels import BYTES, SIGNED
from actorstream.native.panes import ALL, PanesStep
from actorstream.operators.aggregation.admission import times_of
from actorstream.operators.aggregation.definition import Definition, define
from actorstream.operators.aggregation.inputs import key_operands
from actorstream.operators.aggregation.keys import fixed_column, key_columns, key_sizes
from actorstream.operators.aggregation.paned import Paned
from actorstream.operators.aggregation.parts import put_parts, split
from actorstream.operators.aggregation.repeats import Repeats
from actorstream.operators.chain import LinkedRows, Linking
from actorstream.operators.chain_end import Admission
from actorstream.operators.expressions import RowErrors
from actorstream.operators.failed_rows import without_failed
from actorstream.windows.sliding import GREATEST_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.events.column import Column

PANE, TAG, WORD = "pane ", "tag ", "word "
"""Fields of partial rows beside the key; no field of an event is named so."""
LOCAL_BYTES = 4 << 20
"""Cells that are sent on before any window asks for them: more would not stay in the second-level cache."""
LOOK_ROWS = 1 << 18
"""Rows after which their size is looked at again, at least."""
MOST_LOOK_ROWS = 4 * LOOK_ROWS
"""The same at most: the number doubles while there are hardly any cells, up to FEW_BYTES."""
FEW_BYTES = LOCAL_BYTES // 16
LOOK_BYTES_A_ROW = 16
"""So many bytes of rows with text keys count as a row."""
WIDE_ROWS = 16
"""As so many rows counts one with text keys in a chain, which does not know its bytes."""

_APART = (cells.DISTINCT, cells.VALUES, cells.ROWS)


def partial_schema(definition: Definition) -> Schema | None:
    """What the first step of an aggregation emits: the key, the start of the pane, the first window that takes it, and
    the words of the cell. None: some aggregate cannot be merged from cells, or must be seen before windows close."""
    window = definition.window
    if window is None or not definition.paned or definition.updates or definition.early:
        return None
    layout = definition.layout
    for step in layout.program.steps:
        text = step.what in (cells.FIRST, cells.LAST) and layout.program.hows[step.value] == BYTES
        if step.what in _APART or text:
            return None
    fields = [*definition.fields, Field(PANE, Kind.INT64), Field(TAG, Kind.INT64)]
    fields += [Field(f"{WORD}{word}", Kind.UINT64) for word in range(layout.program.words)]
    return Schema("Partial", tuple(fields), PANE, definition.schema.time_unit)


class LocalAggregate(Actor):
    """The first step of `aggregate`, with its keys."""

    contract: ClassVar[Contract] = Contract(uses_event_time=True)

    def __init__(self, **keys: Any) -> None:
        self.keys = keys

    def on_start(self) -> None:
        definition, problems = define(self.keys, next(iter(self.context.inputs.values())))
        assert definition is not None, problems
        self.repeats = Repeats()
        self.cells = LocalPanes(self, definition, self.repeats, self.state)
        self.state = None
        self._until_look = self._look_rows = LOOK_ROWS
        self._wide = any(field.dtype is None for field in definition.fields)

    def on_batch(self, batch: Batch) -> Any:
        try:
            if not self.repeats.on:
                single = self.cells.single(batch)
                if single is not None:
                    self.repeats.pass_on(batch.rows)
                    return single
            late = self.cells.add(batch)
        except RowErrors as errors:
            return self.on_batch(without_failed(self, batch, errors))
        if late is not None:
            self.context.count_late(late.rows)
            self.emit(late, "late")
        self._until_look -= max(batch.rows, batch.nbytes // LOOK_BYTES_A_ROW) if self._wide else batch.rows
        if self._until_look > 0:
            return None
        return self.cells.end() if self._look() else None

    def _look(self) -> bool:
        """Looks at the size of the cells, and decides when to look again. Returns whether they are to be sent on now."""
        size = self.cells.nbytes
        self._look_rows = min(2 * self._look_rows, MOST_LOOK_ROWS) if size <= FEW_BYTES else LOOK_ROWS
        self._until_look = self._look_rows
        return size > LOCAL_BYTES

    def link_end(self, chain: Linking, rows: LinkedRows) -> PanesStep:
        """`on_batch` as the last step of a chain; UnlinkedError: it is none."""
        return self.cells.link(chain, rows)

    def admits(self) -> Admission:
        room = max(self._until_look, 0) if self.repeats.on else 0
        return self.cells.admission(room // WIDE_ROWS if self._wide else room)

    def took(self, rows: int) -> None:
        self._until_look -= rows * WIDE_ROWS if self._wide else rows
        if self._until_look <= 0 and self.cells.nbytes <= LOCAL_BYTES:
            self._look()  # else the next batch goes to `on_batch`, which lets the cells out

    def on_heartbeat(self, frontier: int) -> Iterator[Batch] | None:
        return self.cells.fire(frontier) if frontier >= self.cells.due else None

    def on_end(self) -> Iterator[Batch] | None:
        return self.cells.end()

    @property
    def state_bytes(self) -> int:
        """Of the cells that have not been sent."""
        return self.cells.nbytes

    @property
    def passed_rows(self) -> int:
        """Rows that were passed on as cells of their own, because keys hardly repeat."""
        return self.repeats.passed

    def snapshot(self) -> Any:
        return self.cells.snapshot()


class LocalPanes(Paned):
    """Panes that are emitted as they are, once a window closes that they are in."""

    def __init__(self, actor: Actor, definition: Definition, repeats: Repeats, snapshot: Any = None) -> None:
        super().__init__(actor, definition, snapshot)
        schema = partial_schema(definition)
        assert schema is not None
        self._schema, self._repeats = schema, repeats

    def single(self, batch: Batch) -> Batch | None:
        """Each row as a cell of its own, those of a pane together; None: some rows are behind or of no valid time, and
        have to be added. RowErrors as for `add`."""
        times = None if WATERMARK in batch.carried() else times_of(batch)
        if (
            times is None
            or not batch.rows
            or int(times.min()) < self._low
            or int(times.max()) >= GREATEST_TIME
        ):
            return None
        pane = self.windows.pane(times)
        if (pane[1:] < pane[:-1]).any():
            order = np.argsort(pane, kind="stable")
            batch, pane = batch.take(order), pane[order]
        own = self.panes.single(self._inputs.fill(batch), batch.rows)
        columns = [batch.column(field.name).renamed(field) for field in self.definition.fields]
        tags = np.full(batch.rows, ALL)
        columns += self._cells(columns, self.windows.pane_start(pane), tags, own)
        return Batch(self._schema, batch.rows, list(columns))

    def _cells(
        self, keys: list[Column], starts: np.ndarray, tags: np.ndarray, own: np.ndarray
    ) -> list[Column]:
        """The columns behind the keys."""
        pane, tag, *words = self._schema.fields[len(keys) :]
        columns = [fixed_column(pane, starts), fixed_column(tag, tags)]
        return columns + [
            fixed_column(field, np.ascontiguousarray(own[:, word])) for word, field in enumerate(words)
        ]

    def end(self) -> Iterator[Batch]:
        """All panes."""
        count = self.panes.count
        for at in range(count):
            yield from self._pane(at)
        if count:
            self.panes.drop(int(self.panes.numbers()[-1]) + 1)

    def _close(self, closed: int, ended: int, early: bool) -> Iterator[Batch]:
        """The panes of windows up to `closed`."""
        if closed == self.closed:
            return
        windows, panes = self.windows, self.panes
        behind = windows.first_pane(closed) + windows.window_panes
        numbers = panes.numbers()
        if len(numbers) and int(numbers[0]) < behind:
            for at in range(panes.count):
                yield from self._pane(at, behind)
            panes.drop(behind)
        self.closed = self._ended = closed

    def _pane(self, at: int, behind: int | None = None) -> Iterator[Batch]:
        panes = self.panes
        number, tag, _, most = panes.select(at)
        if most == 0 or (behind is not None and number >= behind):
            return
        groups, own = np.empty(most, np.uint32), np.empty((most, panes.words), np.uint64)
        rows = panes.take(groups, own)
        if rows == 0:
            return
        groups = groups[:rows]
        own = own[:rows]
        self._repeats.sent(int(own[:, 0].sum()), rows)
        apart, parts = split(panes, groups, own)
        yield from self._partial(number, tag, groups, own)
        if len(apart):
            yield from self._partial(number, tag, apart, parts)

    def _partial(self, number: int, tag: int, groups: np.ndarray, own: np.ndarray) -> Iterator[Batch]:
        fields = self.definition.fields
        sizes = key_sizes(self.panes.groups, fields, groups)
        for first, rows in cuts(len(own), self._schema.row_bytes, sizes):
            part = slice(first, first + rows)
            columns = key_columns(self.panes.groups, fields, groups[part])
            starts = np.full(rows, self.windows.pane_start(number))
            columns += self._cells(columns, starts, np.full(rows, tag), own[part])
            yield Batch(self._schema, rows, list(columns))


class MergedPanes(Paned):
    """The second step: panes of the cells that the first step emits."""

    def __init__(self, actor: Actor, definition: Definition, snapshot: Any = None) -> None:
        super().__init__(actor, definition, snapshot)
        self._key = Schema("Key", definition.fields)
        self._signed = [
            (self.panes.program.at[number], self.panes.program.high[number], self._is_signed(step.value))
            for number, step in enumerate(self.panes.program.steps)
            if step.what == cells.INTEGERS
        ]

    def _is_signed(self, value: int) -> bool:
        return self.panes.program.hows[value] == SIGNED

    def add(self, batch: Batch) -> Batch | None:
        self.panes.settle()
        pane, tag = batch[PANE], batch[TAG]
        change = np.flatnonzero((pane[1:] != pane[:-1]) | (tag[1:] != tag[:-1])) + 1
        ends = [*change.tolist(), batch.rows]
        start = 0
        words = [batch[f"{WORD}{word}"] for word in range(self.panes.words)]
        for end in ends:
            own = np.stack([word[start:end] for word in words], axis=1)
            number = self.windows.pane(int(pane[start]))
            keys = batch.slice(start, end - start).select(self._key.names())
            self.panes.put(number, int(tag[start]), self._bound(own), key_operands(keys), own)
            if not own[:, 0].all():
                put_parts(self.panes, number, int(tag[start]), keys, own)
            start = end
        return None

    def _bound(self, own: np.ndarray) -> float:
        """What no sum of these cells passes, nor the sum of all."""
        most = 0.0
        for low, high, is_signed in self._signed:
            word = own[:, low]
            if is_signed:
                value = np.abs(word.view(np.int64).astype(np.float64))
                fits = own[:, high].view(np.int64) == word.view(np.int64) >> 63
            else:
                value, fits = word.astype(np.float64), own[:, high] == 0
            most = max(most, float(value.max(initial=0.0)) if fits.all() else float("inf"))
        return (most + 1) * len(own)
