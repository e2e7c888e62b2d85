"""What the cells of a group must say, computed from its rows one after the other in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from actorstream.events.fields import Kind
from actorstream.native import cells
from actorstream.native.cells import Accumulator, CellProgram

TOP = 1 << 63
WORD = 1 << 64

Row = tuple[int, tuple[Any, ...]]
"""(event time, the values)."""

KINDS = (Kind.INT64, Kind.INT16, Kind.UINT64, Kind.FLOAT64, Kind.STRING)
"""Of the value columns that the tests have."""

STEPS = [
    Accumulator(cells.INTEGERS, 0),
    Accumulator(cells.COUNT, 0),
    Accumulator(cells.LEAST, 0),
    Accumulator(cells.GREATEST, 0),
    Accumulator(cells.FIRST, 0),
    Accumulator(cells.VALUES, 0),
    Accumulator(cells.INTEGERS, 1),
    Accumulator(cells.LAST, 1),
    Accumulator(cells.DISTINCT, 1),
    Accumulator(cells.INTEGERS, 2),
    Accumulator(cells.LEAST, 2),
    Accumulator(cells.GREATEST, 2),
    Accumulator(cells.FLOATS, 3),
    Accumulator(cells.LEAST, 3),
    Accumulator(cells.GREATEST, 3),
    Accumulator(cells.DISTINCT, 3),
    Accumulator(cells.VALUES, 3),
    Accumulator(cells.FIRST, 4),
    Accumulator(cells.LAST, 4),
    Accumulator(cells.DISTINCT, 4),
    Accumulator(cells.COUNT, 4),
]


def some_value(rng: np.random.Generator, kind: Kind, *, large: bool) -> Any:
    if kind is Kind.STRING:
        return "text" * int(rng.integers(0, 3)) + str(rng.integers(0, 4))
    if kind is Kind.FLOAT64:
        picked = int(rng.integers(0, 12))
        return [-0.0, 0.0][picked] if picked < 2 else float(rng.integers(-1000, 1000)) / 8
    if kind is Kind.INT16:
        return int(rng.integers(-5, 6))
    if kind is Kind.UINT64:
        return int(rng.integers(0, 2**64 if large else 50, dtype=np.uint64))
    return int(rng.integers(-(2**63), 2**63) if large else rng.integers(-50, 50))


def ordered_float(word: int) -> float:
    bits = word ^ TOP if word & TOP else word ^ (WORD - 1)
    return float(np.uint64(bits).view(np.float64))


def shown(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value


def reading(
    program: CellProgram,
    number: int,
    cell: np.ndarray,
    *,
    text: Callable[[int, int], str],
    distinct: Callable[[int], int],
    values: Callable[[int, float], float],
) -> Any:
    """What step `number` says, from the words of a cell."""
    step, at = program.steps[number], program.at[number]
    kind = KINDS[step.value]
    words = [int(word) for word in cell]
    signed = kind in (Kind.INT64, Kind.INT16)
    if step.what == cells.COUNT:
        return words[at]
    if step.what == cells.INTEGERS:
        total = words[at] + (words[program.high[number]] << 64)
        return total - (1 << 128) if signed and total >> 127 else total
    if step.what == cells.FLOATS:
        total, lost = cell[at : at + 2].view(np.float64).tolist()
        return shown(total + lost if math.isfinite(total) else total)
    if step.what in (cells.LEAST, cells.GREATEST):
        word = words[at] ^ (WORD - 1) if step.what == cells.LEAST else words[at]
        if kind is Kind.FLOAT64:
            return shown(ordered_float(word))
        return word - TOP if signed else word
    if step.what == cells.DISTINCT:
        return distinct(number)
    if step.what == cells.VALUES:
        return [shown(values(number, q)) for q in (0.0, 0.3, 1.0)]
    if kind is Kind.STRING:
        return text(step.value, words[at])
    return words[at] - WORD if words[at] & TOP and signed else words[at]


def expected(step: Accumulator, rows: list[Row]) -> Any:
    """The same, from the rows in the order they came; None where it has no value and any answer will do."""
    own = [(time, values[step.value]) for time, values in rows if values[step.value] is not None]
    numbers = [value for _, value in own]
    if step.what == cells.COUNT:
        return len(own)
    if step.what == cells.INTEGERS:
        return sum(numbers)
    if step.what == cells.FLOATS:
        finite = all(map(math.isfinite, numbers))
        return shown(float(sum(map(Fraction, numbers))) if finite else sum(numbers))
    if step.what == cells.DISTINCT:
        return len({0.0 if value == 0 else value for value in numbers})
    if not own:
        return None
    if step.what in (cells.LEAST, cells.GREATEST):
        best = min if step.what == cells.LEAST else max
        return shown(best(numbers, key=lambda value: (value, math.copysign(1, value))))
    if step.what == cells.FIRST:
        return min(own, key=lambda row: row[0])[1]
    if step.what == cells.LAST:
        return max(reversed(own), key=lambda row: row[0])[1]
    return [shown(float(np.quantile(np.array(numbers, float) + 0.0, q))) for q in (0.0, 0.3, 1.0)]
