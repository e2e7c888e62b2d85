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
from actorstream.operators.aggregation.inputs import key_operands
from actorstream.operators.aggregation.keys import key_batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.native.cells import Program
    from actorstream.native.groups import Groups
    from actorstream.native.panes import Panes

Texts = list[tuple[int, bytes, bytes]]
"""(value column, offsets, bytes) of all texts of it."""


def save_panes(panes: Panes, fields: tuple[Field, ...]) -> dict[str, Any]:
    """All panes, one after the other."""
    return {
        "texts": save_texts(panes.program, panes.text_count, panes.texts),
        "panes": [_save_pane(panes, at, fields) for at in range(panes.count)],
    }


def restore_panes(panes: Panes, fields: tuple[Field, ...], saved: dict[str, Any]) -> None:
    """Puts what `save_panes` made into panes without rows."""
    restore_texts(saved["texts"], panes.put_texts)
    for each in saved["panes"]:
        _restore_pane(panes, fields, each)


def save_texts(program: Program, count: Callable[[int], int], texts: Callable[..., Any]) -> Texts:
    found = []
    for value, how in enumerate(program.hows):
        if how == BYTES:
            offsets, data = texts(value, np.arange(count(value), dtype=np.uint64))
            found.append((value, offsets.tobytes(), data.tobytes()))
    return found


def restore_texts(saved: Texts, put: Callable[[int, Operands, int], None]) -> None:
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


def restored_keys(fields: tuple[Field, ...], saved: bytes | None) -> tuple[Operands, Batch | None]:
    """What `save_keys` made, as operands; keep the batch."""
    if saved is None:
        return Operands(0), None
    batch = decode(Schema("Key", fields), from_bytes(saved))
    return key_operands(batch), batch


def _save_pane(panes: Panes, at: int, fields: tuple[Field, ...]) -> dict[str, Any]:
    number, tag, bound, most = panes.select(at)
    groups, own = np.empty(most, np.uint32), np.empty((most, panes.words), np.uint64)
    found = panes.take(groups, own) if most else 0
    groups, own = groups[:found].copy(), own[:found]
    beside = {}
    for step, accumulator in enumerate(panes.program.steps):
        if accumulator.what == cells.DISTINCT:
            place = np.zeros(int(groups.max(initial=0)) + 1, np.uint32)
            place[groups] = np.arange(found, dtype=np.uint32)
            pairs, values = panes.beside(step, groups)
            beside[str(step)] = (place[pairs].tobytes(), values.tobytes())
        elif accumulator.what == cells.VALUES:
            offsets, values = panes.beside(step, groups)
            beside[str(step)] = (offsets.tobytes(), values.tobytes())
    keys = save_keys(panes.groups, fields, groups)
    return {"at": [number, tag, bound], "keys": keys, "cells": own.tobytes(), "beside": beside}


def _restore_pane(panes: Panes, fields: tuple[Field, ...], saved: dict[str, Any]) -> None:
    number, tag, bound = saved["at"]
    own = np.frombuffer(saved["cells"], np.uint64).reshape(-1, panes.words).copy()
    for step, accumulator in enumerate(panes.program.steps):
        if accumulator.what in (cells.DISTINCT, cells.VALUES):  # they come back with what lies beside them
            width = 1 if accumulator.what == cells.DISTINCT else 2
            own[:, panes.program.at[step] : panes.program.at[step] + width] = 0
    operands, kept = restored_keys(fields, saved["keys"])
    groups = panes.put(number, tag, bound, operands, own)
    for text, (first, values) in saved["beside"].items():
        step = int(text)
        if panes.program.steps[step].what == cells.DISTINCT:
            pairs = groups[np.frombuffer(first, np.uint32)]
            panes.put_beside(number, tag, step, pairs, None, np.frombuffer(values, np.uint64))
        else:
            offsets = np.frombuffer(first, np.int64)
            panes.put_beside(number, tag, step, groups, offsets, np.frombuffer(values, np.uint64))
    del kept
