"""Results: the columns that aggregates make of the cells of groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from actorstream.events.column import Column
from actorstream.native import cells
from actorstream.native.kernels import FLOAT, SIGNED
from actorstream.operators.aggregation.keys import fixed_column, text_column, values_of
from actorstream.operators.aggregation.layout import CellLayout
from actorstream.operators.aggregation.native_results import native_reader
from actorstream.operators.aggregation.outputs import AggregateOutput, AnyOutput, how_of
from actorstream.operators.expressions import RowError
from actorstream.operators.native_aggregate import NativeOutput

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.native.cells import Accumulator

_TOP = np.uint64(1 << 63)
_ALL = np.uint64((1 << 64) - 1)
_EXACT = 2.0**53


class Beside(Protocol):
    """What is read from more than the cells of the groups `which`."""

    def text_sizes(self, value: int, numbers: np.ndarray) -> np.ndarray: ...
    def texts(self, value: int, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...
    def quantile(self, step: int, q: float, which: np.ndarray) -> np.ndarray: ...
    def sums(self, step: int, which: np.ndarray) -> np.ndarray: ...
    def distinct(self, step: int, which: np.ndarray, words: np.ndarray) -> np.ndarray: ...
    def rows(self, step: int, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]: ...


Read = "Callable[[np.ndarray, np.ndarray, FailedRows], Any]"
"""(cells of some groups, their numbers, rows that fail) -> values, or offsets and bytes of texts."""


class FailedRows:
    """Rows of a result that have no value, and why."""

    def __init__(self, rows: int) -> None:
        self.rows = np.zeros(rows, np.bool_)
        self._why: dict[int, str] = {}

    def add(self, rows: np.ndarray, say: Callable[[int], str]) -> None:
        """`rows`: one bool a row; `say`: why of a row number."""
        for row in np.flatnonzero(rows).tolist():
            self._why.setdefault(row, say(row))
        self.rows |= rows

    def errors(self) -> list[tuple[int, RowError]]:
        """(row, error), ascending."""
        return [(row, RowError(self._why[row])) for row in sorted(self._why)]


class Results:
    """Reads what the aggregates of a layout say from cells of shape (rows, words), uint64."""

    def __init__(self, layout: CellLayout, beside: Beside) -> None:
        self.layout, self._beside = layout, beside
        self._readers = [self._reader(output) for output in layout.outputs]

    def columns(self, own: np.ndarray, which: np.ndarray) -> tuple[list[Column], FailedRows]:
        """A column for each output, of groups `which` with cells `own`."""
        failed = FailedRows(len(own))
        found = []
        for output, read in zip(self.layout.outputs, self._readers):
            values = read(own, which, failed)
            if isinstance(output, NativeOutput):
                found.append(values)
                continue
            valid = self._count(output, own) > 0 if output.field.nullable else None
            if isinstance(values, tuple):
                found.append(text_column(output.field, values[0], values[1], valid))
            else:
                found.append(fixed_column(output.field, values, valid))
        return found, failed

    def sizes(self, own: np.ndarray) -> np.ndarray | None:
        """Bytes of the texts among the results of each group; None: no result is a text."""
        total = None
        for output in self.layout.outputs:
            if (
                not isinstance(output, NativeOutput)
                and output.name in ("first", "last")
                and output.field.dtype is None
            ):
                step = self._position_step(output)
                found = self._beside.text_sizes(step.value, self._word(step, own))
                total = found if total is None else total + found
        return total

    # -- one output

    def _word(self, step: Accumulator, own: np.ndarray, offset: int = 0) -> np.ndarray:
        """A word of an accumulator, of each row; a copy."""
        return own[:, self.layout.program.at[self.layout.number(step)] + offset].copy()

    def _step(self, output: AggregateOutput, what: int) -> Accumulator:
        return next(step for step in self.layout.steps_of(output) if step.what == what)

    def _count(self, output: AggregateOutput, own: np.ndarray) -> np.ndarray:
        """How many values of the output's column were not null."""
        if output.value is not None and output.value.type.nullable:
            return self._word(self._step(output, cells.COUNT), own).view(np.int64)
        return own[:, 0].copy().view(np.int64)

    def _reader(self, output: AnyOutput) -> Callable[[np.ndarray, np.ndarray, FailedRows], Any]:
        if isinstance(output, NativeOutput):
            (step,) = self.layout.steps_of(output)
            number = self.layout.number(step)
            return native_reader(output, self.layout.program.at[number], partial(self._beside.rows, number))
        match output.name:
            case "count":
                return lambda own, which, failed: self._count(output, own)
            case "sum":
                return self._sum(output)
            case "mean":
                return self._mean(output)
            case "min" | "max":
                return self._extreme(output)
            case "first" | "last":
                return self._position(output)
            case "quantile":
                number = self.layout.number(self._step(output, cells.VALUES))
                return lambda own, which, failed: self._beside.quantile(number, output.at, which)
        step = self._step(output, cells.DISTINCT)
        number = self.layout.number(step)
        return lambda own, which, failed: self._beside.distinct(number, which, self._word(step, own))

    def _sum(self, output: AggregateOutput) -> Callable[[np.ndarray, np.ndarray, FailedRows], np.ndarray]:
        assert output.value is not None
        if how_of(output.value.type) == FLOAT:
            return lambda own, which, failed: self._floats(output, own, which)

        def read(own: np.ndarray, which: np.ndarray, failed: FailedRows) -> np.ndarray:
            low, high = self._integers(output, own)
            wrong = high != low >> 63
            if wrong.any():
                failed.add(
                    wrong,
                    lambda row: (
                        f"{output.call.text} is {_whole(low[row], high[row])}, which does not fit int64; "
                        "sum(float(...)) has no such limit"
                    ),
                )
            return low

        return read

    def _mean(self, output: AggregateOutput) -> Callable[[np.ndarray, np.ndarray, FailedRows], np.ndarray]:
        assert output.value is not None
        floats = how_of(output.value.type) == FLOAT

        def read(own: np.ndarray, which: np.ndarray, failed: FailedRows) -> np.ndarray:
            count = np.maximum(self._count(output, own), 1)
            if floats:
                return self._floats(output, own, which) / count
            low, high = self._integers(output, own)
            found: np.ndarray = low / count
            rounded = (high != low >> 63) | (np.abs(low.astype(np.float64)) >= _EXACT)
            for row in np.flatnonzero(rounded).tolist():
                found[row] = _whole(low[row], high[row]) / int(count[row])
            return found

        return read

    def _floats(self, output: AggregateOutput, own: np.ndarray, which: np.ndarray) -> np.ndarray:
        number = self.layout.number(self._step(output, cells.FLOATS))
        total, apart = cells.float_sums(own, self.layout.program.at[number])
        if apart.any():
            total[apart] = self._beside.sums(number, which[apart])
        return total

    def _integers(self, output: AggregateOutput, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        step = self._step(output, cells.INTEGERS)
        high = own[:, self.layout.program.high[self.layout.number(step)]].copy()
        return self._word(step, own).view(np.int64), high.view(np.int64)

    def _extreme(self, output: AggregateOutput) -> Callable[[np.ndarray, np.ndarray, FailedRows], np.ndarray]:
        assert output.value is not None
        how = how_of(output.value.type)
        least = output.name == "min"
        step = self._step(output, cells.LEAST if least else cells.GREATEST)

        def read(own: np.ndarray, which: np.ndarray, failed: FailedRows) -> np.ndarray:
            word = self._word(step, own)
            if how == FLOAT:
                return _floats_of(word, least).astype(output.field.dtype, copy=False)
            word = word ^ _ALL if least else word
            return values_of(word ^ _TOP if how == SIGNED else word, output.field)

        return read

    def _position_step(self, output: AggregateOutput) -> Accumulator:
        return self._step(output, cells.FIRST if output.name == "first" else cells.LAST)

    def _position(self, output: AggregateOutput) -> Callable[[np.ndarray, np.ndarray, FailedRows], Any]:
        step = self._position_step(output)

        def read(own: np.ndarray, which: np.ndarray, failed: FailedRows) -> Any:
            word = self._word(step, own)
            if output.field.dtype is None:
                return self._beside.texts(step.value, word)
            return values_of(word, output.field)

        return read


def _whole(low: Any, high: Any) -> int:
    """The sum that two words say."""
    return (int(high) << 64) + (int(low) & ((1 << 64) - 1))


def _floats_of(ordered: np.ndarray, least: bool) -> np.ndarray:
    """Ordered words back to floats; all ones are NaN, whichever way they are ordered."""
    word = ordered ^ _ALL if least else ordered
    bits = np.where(word & _TOP != 0, word ^ _TOP, word ^ _ALL)
    found: np.ndarray = bits.view(np.float64)
    found[ordered == _ALL] = np.nan
    return found
