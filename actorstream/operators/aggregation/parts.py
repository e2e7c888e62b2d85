"""Parts: what cells do not hold of exact sums of floats, on its way between the two steps of an aggregation. A part is sent
as a row of no rows, after the row with its cell: it only says what is added to one sum of its group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.native import cells
from actorstream.native.groups import BLOCK
from actorstream.operators.aggregation.inputs import key_operands

if TYPE_CHECKING:
    from collections.abc import Iterator

    from actorstream.events.batch import Batch
    from actorstream.native.cells import CellProgram
    from actorstream.native.panes import Panes


def float_steps(program: CellProgram) -> Iterator[tuple[int, int]]:
    """Number and first word of each step that adds floats."""
    for number, step in enumerate(program.steps):
        if step.what == cells.FLOATS:
            yield number, program.at[number]


def take_apart(program: CellProgram, own: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Number, first word and rows, ascending, of the sums that cells of shape (rows, words) do not hold; what the cells say
    of them becomes zero."""
    for number, at in float_steps(program):
        rows = np.flatnonzero(cells.float_sums(own, at)[1])
        if len(rows):
            own[rows, at : at + 2] = 0
            yield number, at, rows


def split(panes: Panes, groups: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Takes the parts out of cells that `panes.take` wrote; answers the groups they belong to, and cells that say them."""
    found, made = [groups[:0]], [own[:0]]
    for number, at, rows in take_apart(panes.program, own):
        offsets, parts = panes.beside(number, groups[rows])
        found.append(np.repeat(groups[rows], np.diff(offsets) // 2))
        cell = np.zeros((len(parts) // 2, panes.words), np.uint64)
        cell[:, at], cell[:, at + 1] = parts[::2], parts[1::2] + np.uint64(1)
        made.append(cell)
    return np.concatenate(found), np.concatenate(made)


def put_parts(panes: Panes, number: int, tag: int, keys: Batch, own: np.ndarray) -> None:
    """Adds the parts among the cells `own` to the sums of groups with these keys."""
    rows = np.flatnonzero(own[:, 0] == 0)
    for first in range(0, len(rows), BLOCK):
        some = rows[first : first + BLOCK]
        few = keys.take(some)
        groups = panes.put(number, tag, 0.0, key_operands(few), own[some])
        for step, at in float_steps(panes.program):
            mine = own[some, at + 1] != 0
            parts = np.stack([own[some, at][mine], own[some, at + 1][mine] - np.uint64(1)], axis=1)
            offsets = np.arange(0, parts.size + 1, 2)
            panes.put_beside(number, tag, step, groups[mine], offsets, parts.reshape(-1))
