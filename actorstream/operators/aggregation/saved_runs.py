"""Saved runs: the sessions of a replica as plain values for a checkpoint, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.native import cells
from actorstream.operators.aggregation.parts import take_apart
from actorstream.operators.aggregation.saved_panes import restore_texts, restored_keys, save_keys, save_texts

if TYPE_CHECKING:
    from actorstream.events.fields import Field
    from actorstream.native.sessions import Sessions

_APART = (cells.DISTINCT, cells.VALUES, cells.ROWS)


def save_runs(sessions: Sessions, fields: tuple[Field, ...]) -> dict[str, Any]:
    """All that is not over."""
    groups, start, last = sessions.peek()
    which = np.arange(len(groups), dtype=np.uint32)
    own = sessions.cells(which)
    lists = {}
    for step, _, _ in take_apart(sessions.program, own):
        offsets, parts = sessions.lists(step, which)
        lists[str(step)] = (offsets.tobytes(), parts.tobytes())
    for step, accumulator in enumerate(sessions.program.steps):
        if accumulator.what in _APART:
            offsets, values = sessions.lists(step, which)
            lists[str(step)] = (offsets.tobytes(), values.tobytes())
    seen = None
    if not sessions.timed:
        counts = sessions.seen()
        every = np.arange(len(counts), dtype=np.uint32)
        seen = (save_keys(sessions.groups, fields, every), counts.tobytes())
    saved = {
        "texts": save_texts(sessions.program, sessions.text_count, sessions.texts),
        "keys": save_keys(sessions.groups, fields, groups),
        "bounds": (start.tobytes(), last.tobytes()),
        "cells": own.tobytes(),
        "lists": lists,
        "seen": seen,
    }
    sessions.forget()
    return saved


def restore_runs(sessions: Sessions, fields: tuple[Field, ...], saved: dict[str, Any]) -> None:
    """Puts what `save_runs` made into sessions without rows."""
    restore_texts(saved["texts"], sessions.put_texts)
    if saved["seen"] is not None:
        keys, counts = saved["seen"]
        operands, kept = restored_keys(fields, keys)
        sessions.put_seen(operands, np.frombuffer(counts, np.uint64))
        del kept
    operands, kept = restored_keys(fields, saved["keys"])
    start, last = (np.frombuffer(each, np.int64) for each in saved["bounds"])
    own = np.frombuffer(saved["cells"], np.uint64).reshape(-1, sessions.words)
    numbers = sessions.put(operands, start, last, own)
    for step, (offsets, values) in saved["lists"].items():
        ends = np.frombuffer(offsets, np.int64)
        sessions.put_lists(int(step), numbers, ends, np.frombuffer(values, np.uint64))
    del kept
