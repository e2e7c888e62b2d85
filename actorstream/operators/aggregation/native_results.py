"""Native results: the column that a native aggregate makes of the cells of groups, or of all their rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Kind
from actorstream.events.values import FIRST_TIME, LAST_TIME, YEARS
from actorstream.native.address import address_of
from actorstream.native.userfn import UserFunction, UserFunctionError, folded
from actorstream.operators.aggregation.keys import fixed_column, values_of

if TYPE_CHECKING:
    from actorstream.operators.aggregation.results import FailedRows
    from actorstream.operators.native_aggregate import NativeOutput

ReadRows = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Numbers of groups -> (offsets, words) of all their rows."""


def native_reader(
    output: NativeOutput, at: int, rows: ReadRows
) -> Callable[[np.ndarray, np.ndarray, FailedRows], Column]:
    """What makes the column of cells of shape (groups, words), uint64, and the groups' numbers; it adds the rows that
    have no value to what failed.

    at: the step's first word of a cell. UserFunctionError where `result`, or the function itself, fails."""
    finish = None if output.given.result is None else UserFunction(output.given.result, 1)

    def read(own: np.ndarray, which: np.ndarray, failed: FailedRows) -> Column:
        taken, states = _merged(output, own, at) if output.merges else _folded(output, *rows(which))
        valid = taken > 0
        values = _values(output, states[valid], finish)
        if not valid.all():
            some, values = values, np.zeros(len(valid), values.dtype)
            values[valid] = some
        if output.field.kind is Kind.DATETIME:
            outside = valid & ((values < FIRST_TIME) | (values > LAST_TIME))
            given = values.copy()
            failed.add(
                outside,
                lambda row: f"{output.field.name!r} is {given[row]} microseconds, which is outside {YEARS}",
            )
            values[outside] = 0
        return fixed_column(output.field, values, valid)

    return read


def _merged(output: NativeOutput, own: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    """How many rows each state has taken, and the states, of shape (groups, bytes)."""
    words = np.ascontiguousarray(own[:, at + 1 : at + 1 + (output.state_bytes + 7) // 8])
    return own[:, at], words.view(np.uint8)[:, : output.state_bytes]


def _folded(output: NativeOutput, offsets: np.ndarray, words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same, from all rows: the words of their columns lie one behind the other."""
    width = len(output.columns)
    rows, given = offsets // width, output.given
    columns = [
        np.ascontiguousarray(values_of(np.ascontiguousarray(words[number::width]), field))
        for number, field in enumerate(output.columns)
    ]
    described = [(column.itemsize, 0, 0, 0, address_of(column), 0) for column in columns]
    return np.diff(rows), folded(given.begin, given.native, described, rows, output.state_bytes)


def _values(output: NativeOutput, states: np.ndarray, finish: UserFunction | None) -> np.ndarray:
    dtype = output.field.dtype
    assert dtype is not None
    states = np.ascontiguousarray(states)
    if finish is None:
        made: np.ndarray = states.view(dtype).reshape(-1).copy()
    else:
        made = np.empty(len(states), dtype)
        if len(made):
            described = (output.state_bytes, 0, 0, 0, address_of(states), 0)
            answer = finish([described], len(made), address_of(made), made.itemsize)
            if answer:
                message = f"the `result` of {output.field.name!r} answered {answer} for {len(made)} states; allowed: 0"
                raise UserFunctionError(message)
    if made.dtype == np.bool_:
        np.not_equal(made.view(np.uint8), 0, out=made)  # C may say yes with any byte
    return made
