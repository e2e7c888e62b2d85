"""Saved panes: the panes of a replica as plain values for a checkpoint, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.events.jumbo import decode, from_bytes, to_bytes
from actorstream.events.schema import Schema
from actorstream.native import cells
from actorstream.native.kernels import BYTES
from actorstream.native.operands import Operands
from actorstream.native.panes import marked_of
from actorstream.operators.aggregation.inputs import key_operands
from actorstream.operators.aggregation.keys import key_batch
from actorstream.operators.aggregation.parts import take_apart

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.native.cells import CellProgram
    from actorstream.native.groups import Groups
    from actorstream.native.panes import Panes

_APART = (cells.DISTINCT, cells.VALUES, cells.ROWS)

Texts = list[tuple[int, bytes, bytes]]
"""(value column, offsets, bytes) of all texts of it."""


def save_panes(panes: Panes, fields: tuple[Field, ...]) -> dict[str, Any]:
    """All panes, one after the other."""
    return {
        "texts": save_texts(panes.program, panes.text_count, panes.texts),
        "panes": [_save_pane(panes, at, fields) for at in range(panes.count)],
    }


def restore_panes(
    panes: Panes, fields: tuple[Field, ...], saved: dict[str, Any] | None, *, marking: bool
) -> None:
    """Puts what `save_panes` made into panes without rows; marking: from now on groups that get rows are marked."""
    saved = saved or {"texts": [], "panes": []}
    restore_texts(saved["texts"], panes.put_texts)
    made = [_Restored(panes, fields, each) for each in saved["panes"]]
    for pane in made:
        pane.put(0, pane.unmarked)
    if marking:
        panes.mark()
    for pane in made:
        pane.put(pane.unmarked, len(pane.cells))
        pane.put_beside()


def save_texts(program: CellProgram, count: Callable[[int], int], texts: Callable[..., Any]) -> Texts:
    """The texts that aggregates keep, as plain values; count, texts: how many of an input, and those of these numbers."""
    found = []
    for value, how in enumerate(program.hows):
        if how == BYTES:
            offsets, data = texts(value, np.arange(count(value), dtype=np.uint64))
            found.append((value, offsets.tobytes(), data.tobytes()))
    return found


def restore_texts(saved: Texts, put: Callable[[int, Operands, int], None]) -> None:
    """Puts back what `save_texts` made."""
    for value, offsets, data in saved:
        ends = np.frombuffer(offsets, np.int64)
        column = Column(Field("text", Kind.BYTES), len(ends) - 1, None, np.frombuffer(data, np.uint8), ends)
        operands = Operands(1)
        operands.fill([(column.descriptor, None, BYTES)])
        if column.length:
            put(value, operands, column.length)


def save_keys(groups: Groups, fields: tuple[Field, ...], numbers: np.ndarray) -> bytes | None:
    """The keys of some groups; None: all rows are one group."""
    return to_bytes(key_batch(groups, Schema("Key", fields), numbers)) if fields else None


def restored_keys(
    fields: tuple[Field, ...], saved: bytes | None, first: int = 0, end: int | None = None
) -> tuple[Operands, Batch | None]:
    """Keys first .. end - 1 of what `save_keys` made, as operands; keep the batch."""
    if saved is None:
        return Operands(0), None
    batch = decode(Schema("Key", fields), from_bytes(saved))
    if end is not None:
        batch = batch.slice(first, end - first)
    return key_operands(batch), batch


def _save_pane(panes: Panes, at: int, fields: tuple[Field, ...]) -> dict[str, Any]:
    number, tag, bound, most = panes.select(at)
    groups, own = np.empty(most, np.uint32), np.empty((most, panes.words), np.uint64)
    found = panes.take(groups, own) if most else 0
    groups, own = groups[:found], own[:found]
    is_marked = marked_of(panes, groups)
    order = np.argsort(is_marked, kind="stable")  # marked ones last
    groups, own = groups[order], own[order]
    beside = {}
    for step, _, _ in take_apart(panes.program, own):
        offsets, parts = panes.beside(step, groups)
        beside[str(step)] = (offsets.tobytes(), parts.tobytes())
    for step, accumulator in enumerate(panes.program.steps):
        if accumulator.what == cells.DISTINCT:
            place = np.zeros(int(groups.max(initial=0)) + 1, np.uint32)
            place[groups] = np.arange(found, dtype=np.uint32)
            pairs, values = panes.beside(step, groups)
            beside[str(step)] = (place[pairs].tobytes(), values.tobytes())
        elif accumulator.what in (cells.VALUES, cells.ROWS):
            offsets, values = panes.beside(step, groups)
            beside[str(step)] = (offsets.tobytes(), values.tobytes())
    return {
        "at": [number, tag, bound],
        "unmarked": found - int(is_marked.sum()),
        "keys": save_keys(panes.groups, fields, groups),
        "cells": own.tobytes(),
        "beside": beside,
    }


class _Restored:
    """A pane on its way back."""

    def __init__(self, panes: Panes, fields: tuple[Field, ...], saved: dict[str, Any]) -> None:
        self._panes, self._fields, self._saved = panes, fields, saved
        self.unmarked: int = saved["unmarked"]
        self.cells = np.frombuffer(saved["cells"], np.uint64).reshape(-1, panes.words).copy()
        for step, accumulator in enumerate(panes.program.steps):
            at = panes.program.at[step]
            if accumulator.what in _APART:  # they come back with what lies beside them
                self.cells[:, at : at + (1 if accumulator.what == cells.DISTINCT else 2)] = 0
        self._groups = np.empty(0, np.uint32)

    def put(self, first: int, end: int) -> None:
        """Some of its groups."""
        if end == first:
            return
        number, tag, bound = self._saved["at"]
        operands, kept = restored_keys(self._fields, self._saved["keys"], first, end)
        put = self._panes.put(number, tag, bound, operands, self.cells[first:end])
        self._groups = np.concatenate([self._groups, put])
        del kept

    def put_beside(self) -> None:
        number, tag, _ = self._saved["at"]
        for text, (first, saved) in self._saved["beside"].items():
            step, values = int(text), np.frombuffer(saved, np.uint64)
            if self._panes.program.steps[step].what == cells.DISTINCT:
                pairs = self._groups[np.frombuffer(first, np.uint32)]
                self._panes.put_beside(number, tag, step, pairs, None, values)
            else:
                offsets = np.frombuffer(first, np.int64)
                self._panes.put_beside(number, tag, step, self._groups, offsets, values)
