"""Aggregates over all rows so far that have a value after each row: count, sum, min, max, mean, first, last. Each takes whole
columns, ignores nulls, and gives the same whatever the batches were."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.native.total import Total
from actorstream.operators.expressions import AggregateCall, RowErrors, Type
from actorstream.operators.expressions.types import FLOAT, INT

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
ARITIES = {
    "count": (0, 1),
    "sum": (1, 1),
    "min": (1, 1),
    "max": (1, 1),
    "mean": (1, 1),
    "first": (1, 1),
    "last": (1, 1),
    "count_distinct": (1, 1),
    "quantile": (2, 2),
}
"""Aggregate -> how many arguments it takes."""
RUNNING = ("count", "sum", "min", "max", "mean", "first", "last")
"""Those that have a value after each row at little cost."""
_ORDERED = (Kind.STRING, Kind.BYTES, Kind.DATETIME, Kind.BOOL)


class Fold:
    """One aggregate over the values it is given; of a type that `kind` says."""

    state: Any = None

    def __init__(self, kind: Type) -> None:
        self.kind = kind

    def add(self, rows: int, values: Column | None) -> None:
        """Takes the values of `rows` more rows; values None: the aggregate has no argument."""
        raise NotImplementedError

    def value(self) -> Any:
        """The value of all rows so far, as a column holds it; None: null."""
        return self.state

    def running(self, rows: int, values: Column | None) -> Sequence[Any] | np.ndarray:
        """Takes the rows, and answers the value after each."""
        found = []
        for row in range(rows):
            self.add(1, None if values is None else values.slice(row, 1))
            found.append(self.value())
        return found

    def snapshot(self) -> Any:
        """What a checkpoint keeps: values that msgpack can carry."""
        return self.state

    def restore(self, snapshot: Any) -> None:
        self.state = snapshot


def present(values: Column) -> np.ndarray:
    """The values that are not null, of a column of fixed width."""
    data = values.data[values.first : values.first + values.length]
    return data if values.validity is None else data[values.valid()]


class Count(Fold):
    """`count()`: rows; `count(field)`: those that are not null."""

    state = 0

    def add(self, rows: int, values: Column | None) -> None:
        if values is not None and values.validity is not None:
            rows = int(np.count_nonzero(values.valid()))
        self.state += rows

    def running(self, rows: int, values: Column | None) -> Sequence[Any] | np.ndarray:
        if values is not None and values.validity is not None:
            return super().running(rows, values)
        self.state += rows
        return np.arange(self.state - rows + 1, self.state + 1)


class Sum(Fold):
    """Integers, whose sum after each row fits int64: `check_sums` has found the rows that this is not true of."""

    def add(self, rows: int, values: Column | None) -> None:
        assert values is not None
        numbers = present(values)
        if len(numbers):
            self.state = added(self.state or 0, numbers)

    def running(self, rows: int, values: Column | None) -> Sequence[Any] | np.ndarray:
        assert values is not None
        if values.validity is not None or rows == 0:
            return super().running(rows, values)
        numbers = present(values).astype(np.int64)
        sums = np.add.accumulate(np.concatenate(([self.state or 0], numbers)))[1:]
        self.state = sums[-1].item()
        return sums

    def may_overflow(self, values: Column) -> bool:
        """Whether a sum after some of these rows might not fit int64; False: all do."""
        numbers = present(values)
        return len(numbers) > 0 and _may_overflow(self.state or 0, numbers)


def check_sums(sums: Sequence[tuple[Sum, Column]]) -> None:
    """RowErrors: the rows after which one of several sums would not fit int64, if each of them is left out of all sums. Nothing
    is taken, so which rows these are does not depend on batches."""
    if not any(fold.may_overflow(values) for fold, values in sums):
        return
    before = [fold.state or 0 for fold, _ in sums]
    rows: list[int] = []
    messages: list[str] = []
    for row, own in enumerate(zip(*(values.tolist() for _, values in sums))):
        after = [total + (value or 0) for total, value in zip(before, own)]
        wrong = [total for total in after if not INT_MIN <= total <= INT_MAX]
        if wrong:
            rows.append(row)
            messages.append(f"the sum {wrong[0]} does not fit int64; sum(float(...)) has no such limit")
        else:
            before = after
    if rows:
        raise RowErrors(np.array(rows, np.uint32), messages.__getitem__)


class FloatSum(Fold):
    """The exact sum of floats, rounded: their order does not show. `mean`: by their number."""

    def __init__(self, kind: Type, mean: bool) -> None:
        super().__init__(kind)
        self.mean, self.total, self.count = mean, Total(), 0

    def add(self, rows: int, values: Column | None) -> None:
        assert values is not None
        numbers = present(values)
        self.total.add(numbers)
        self.count += len(numbers)

    def value(self) -> Any:
        if self.count == 0:
            return None
        return self.total.value / self.count if self.mean else self.total.value

    def running(self, rows: int, values: Column | None) -> Sequence[Any] | np.ndarray:
        assert values is not None
        if values.validity is not None:
            return super().running(rows, values)
        counts = np.arange(self.count + 1, self.count + rows + 1)
        self.count += rows
        totals = self.total.running(present(values))
        return totals / counts if self.mean else totals

    def snapshot(self) -> Any:
        return [self.total.save(), self.count]

    def restore(self, snapshot: Any) -> None:
        saved, self.count = snapshot
        self.total = Total()
        self.total.put(saved)


def _may_overflow(before: int, numbers: np.ndarray) -> bool:
    largest = max(abs(int(numbers.min())), abs(int(numbers.max())))
    return abs(before) + largest * len(numbers) > INT_MAX


def added(before: int, numbers: np.ndarray) -> int:
    """`before` + all of `numbers`, at least one."""
    if _may_overflow(0, numbers):
        return before + sum(numbers.tolist())
    return before + int(numbers.sum(dtype=np.int64))


class Mean(Fold):
    """Of integers. `state`: sum and count."""

    state = (0, 0)

    def add(self, rows: int, values: Column | None) -> None:
        assert values is not None
        numbers = present(values)
        if len(numbers):
            self.state = (added(self.state[0], numbers), self.state[1] + len(numbers))

    def value(self) -> Any:
        return self.state[0] / self.state[1] if self.state[1] else None

    def snapshot(self) -> Any:
        return [str(self.state[0]), self.state[1]]  # msgpack carries no integer beyond 64 bits

    def restore(self, snapshot: Any) -> None:
        total, count = snapshot
        self.state = (int(total), count)


class Extreme(Fold):
    """min or max; nan if there is one."""

    def __init__(self, kind: Type, best: Callable[[Any], Any], best_of_pair: np.ufunc) -> None:
        super().__init__(kind)
        self.best, self.best_of_pair = best, best_of_pair

    def add(self, rows: int, values: Column | None) -> None:
        assert values is not None
        if values.field.dtype is None:
            found = [value for value in values.tolist() if value is not None]
            if found:
                self.state = self.best(found if self.state is None else [self.state, *found])
            return
        numbers = present(values)
        if len(numbers):
            best = self.best_of_pair.reduce(numbers).item()
            if self.state is None or best != best:
                self.state = best
            elif self.state == self.state:
                self.state = self.best([self.state, best])

    def running(self, rows: int, values: Column | None) -> Sequence[Any] | np.ndarray:
        assert values is not None
        if values.field.dtype is None or values.validity is not None or rows == 0:
            return super().running(rows, values)
        numbers = present(values)
        if self.state is not None:
            numbers = np.concatenate((np.array([self.state], numbers.dtype), numbers))
        found = self.best_of_pair.accumulate(numbers)
        self.state = found[-1].item()
        return found[-rows:]


class First(Fold):
    """The first value that is not null; `last`: the last."""

    def __init__(self, kind: Type, last: bool) -> None:
        super().__init__(kind)
        self.last = last

    def add(self, rows: int, values: Column | None) -> None:
        assert values is not None
        if self.state is not None and not self.last:
            return
        there = np.flatnonzero(values.valid())
        if len(there):
            self.state = held(values.slice(int(there[-1 if self.last else 0]), 1))


def held(value: Column) -> Any:
    """The one value of a column, as columns hold it."""
    if value.field.dtype is None:
        return value.tolist()[0]
    return value.data[value.first].item()


def fold_of(call: AggregateCall) -> Fold:
    """Makes the fold of an aggregate in RUNNING. ExpressionError: the aggregate takes no argument of that type."""
    given = call.arguments[0].type if call.arguments else INT
    match call.name:
        case "count":
            return Count(INT)
        case "sum" | "mean" if not given.is_number or given.kind is Kind.DICTIONARY:
            raise call.fail(0, f"{call.name} of {given}", "a number", "int(...) and float(...) convert")
        case "sum" | "mean" if given.is_float:
            return FloatSum(FLOAT.optional(given.nullable), call.name == "mean")
        case "sum":
            return Sum(INT.optional(given.nullable))
        case "mean":
            return Mean(FLOAT.optional(given.nullable))
        case "min" | "max":
            if (not given.is_number and given.kind not in _ORDERED) or given.kind is Kind.DICTIONARY:
                raise call.fail(
                    0, f"{call.name} of {given}", "numbers, text, times, bools", "str(...) makes text of it"
                )
            name = call.name
            return Extreme(given, min, np.minimum) if name == "min" else Extreme(given, max, np.maximum)
    return First(given, call.name == "last")


def column_of(field: Field, values: Sequence[Any] | np.ndarray) -> Column:
    """A column of values as columns hold them: times in microseconds, categories as codes, None for null."""
    if isinstance(values, np.ndarray):
        field_values = values.astype(field.dtype) if values.dtype != field.dtype else values
        bits = np.full((len(values) + 7) // 8, 255, np.uint8) if field.nullable else None
        return Column(field, len(values), bits, _frozen(field_values), None)
    if field.dtype is None:
        return Column.from_values(field, list(values))
    numbers = np.array([0 if value is None else value for value in values], field.dtype)
    there = np.array([value is not None for value in values], np.bool_)
    bits = np.packbits(there, bitorder="little") if field.nullable else None
    return Column(field, len(numbers), bits, _frozen(numbers), None)


def _frozen(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values
