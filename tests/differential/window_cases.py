"""What windows must give in plain Python, also of values that SQL says otherwise or cannot hold: infinities, floats that
cancel each other, integers that overflow. `Plain` mirrors `window_oracle.Oracle`, which asks DuckDB of tame values."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from tests.integration.window_oracle import Sliding, Trade, taken_by_sessions

DAYS = [datetime(2024, 5, day, 12, tzinfo=UTC) for day in (1, 2, 3)]
NO_RESULT = "no result"
"""Of an aggregate that int64 cannot hold: the row of its window and key goes to on_error (docs/windows.md)."""

Row = tuple[Any, ...]
Rows = list[Trade]


def drawn_streams(dice: random.Random, tame: bool, partitions: int = 3, most: int = 60) -> dict[str, Rows]:
    """Partition -> its rows. Times go on with steps back now and then."""
    parts: dict[str, Rows] = {}
    number = 0
    for part in range(dice.randint(1, partitions)):
        rows, at, step = [], dice.randint(0, 20), dice.choice([0, 1, 3])
        for _ in range(dice.choice([0, 1, most // 4, most, most])):
            at += dice.randint(0, step)
            ts = max(0, at - (dice.randint(0, 30) if dice.random() < 0.2 else 0))
            rows.append(Trade(ts, *_values(dice, tame), number))
            number += 1
        parts[str(part)] = rows
    return parts


def _values(dice: random.Random, tame: bool) -> tuple[Any, ...]:
    amount = dice.randint(-5, 5)
    price = dice.choice([dice.randint(-40, 40) / 8, -0.0, math.nan, math.inf] if tame else [
        dice.randint(-40, 40) / 8, dice.gauss(0, 1), 1e16, -1e16, 0.1, 1e300, -1e300, 5e-324, -0.0, dice.uniform(-1, 1) * 1e8,
        *([math.nan, math.inf, -math.inf] if dice.random() < 0.1 else []),
    ])  # fmt: skip
    if not tame and dice.random() < 0.1:
        amount = dice.choice([2**63 - 1, -(2**63), 2**62, -(2**62), 2**53 + 1])
    return (
        dice.choice([None, 0, 1, 2, 3]), dice.choice([None, "a", "bb", ""]), dice.choice(DAYS),
        None if dice.random() < 0.2 else amount, None if dice.random() < 0.2 else price,
        dice.choice([None, "", "a", "ab", "é"]),
    )  # fmt: skip


# -- aggregates: of rows in the order of time, then partition, then position


def _numbers(rows: Rows, name: str) -> list[Any]:
    return [value for row in rows if (value := getattr(row, name)) is not None]


def _integer_sum(values: Sequence[int]) -> Any:
    if not values:
        return None
    total = sum(values)
    return total if -(2**63) <= total < 2**63 else NO_RESULT


def float_sum(values: Sequence[float]) -> Any:
    """Exact, rounded once; infinities and NaN as IEEE 754 adds them."""
    if not values:
        return None
    strange = [value for value in values if not math.isfinite(value)]
    if strange:
        return sum(strange)
    try:
        return float(sum(map(Fraction, values)))
    except OverflowError:
        return math.copysign(math.inf, sum(map(Fraction, values)))


def _integer_mean(values: Sequence[int]) -> Any:
    """The exact sum by the number, rounded once."""
    return sum(values) / len(values) if values else None


def fails(row: Trade, aggregates: Sequence[str]) -> bool:
    """Whether an aggregated expression overflows: then the row counts in none of the aggregates (docs/windows.md)."""
    doubled = 2 * (row.amount or 0)
    return (
        "sum(amount * 2 + 1)" in aggregates
        and not -(2**63) <= min(doubled, doubled + 1) <= max(doubled, doubled + 1) < 2**63
    )


def _float_mean(values: Sequence[float]) -> Any:
    return float_sum(values) / len(values) if values else None


def _extreme(values: Sequence[Any], pick: Callable[..., Any]) -> Any:
    if any(value != value for value in values):
        return math.nan
    return pick(values, default=None)


def _quantile(values: Sequence[float], q: float) -> Any:
    """Linear between the two nearest, NaN above all (docs/windows.md)."""
    if not values:
        return None
    ordered = sorted(map(float, values), key=lambda value: (value != value, value if value == value else 0.0))
    position = q * (len(ordered) - 1)
    at, share = int(position), position - int(position)
    below = ordered[at]
    if share == 0:
        return below
    above = ordered[at + 1]
    if below == above or above != above:
        return above
    if math.isinf(below) or math.isinf(above):
        return below * (1 - share) + above * share
    exact = Fraction(below) + (Fraction(above) - Fraction(below)) * Fraction(share)
    return Near(float(exact), max(abs(below), abs(above)))


class Near(float):
    """A float that rounding on the way may move by a few units in the last place of the values it lies between."""

    largest: float

    def __new__(cls, value: float, largest: float) -> Near:
        made = super().__new__(cls, value)
        made.largest = largest
        return made


def _distinct(values: Sequence[Any]) -> int:
    return len({"nan" if value != value else value for value in values})


PLAIN: dict[str, Callable[[Rows], Any]] = {
    "count()": len,
    "count(amount)": lambda rows: len(_numbers(rows, "amount")),
    "sum(amount)": lambda rows: _integer_sum(_numbers(rows, "amount")),
    "sum(price)": lambda rows: float_sum(_numbers(rows, "price")),
    "sum(amount * 2 + 1)": lambda rows: _integer_sum([2 * value + 1 for value in _numbers(rows, "amount")]),
    "mean(amount)": lambda rows: _integer_mean(_numbers(rows, "amount")),
    "mean(price)": lambda rows: _float_mean(_numbers(rows, "price")),
    "sum(price * 0.1)": lambda rows: float_sum([value * 0.1 for value in _numbers(rows, "price")]),
    "min(price)": lambda rows: _extreme(_numbers(rows, "price"), min),
    "max(price)": lambda rows: _extreme(_numbers(rows, "price"), max),
    "min(amount)": lambda rows: _extreme(_numbers(rows, "amount"), min),
    "max(amount)": lambda rows: _extreme(_numbers(rows, "amount"), max),
    "max(day)": lambda rows: max(row.day for row in rows),
    "first(amount)": lambda rows: next(iter(_numbers(rows, "amount")), None),
    "last(price)": lambda rows: next(reversed(_numbers(rows, "price")), None),
    "first(note)": lambda rows: next(iter(_numbers(rows, "note")), None),
    "last(note)": lambda rows: next(reversed(_numbers(rows, "note")), None),
    "last(day)": lambda rows: rows[-1].day,
    "count_distinct(note)": lambda rows: _distinct(_numbers(rows, "note")),
    "count_distinct(price)": lambda rows: _distinct(_numbers(rows, "price")),
    "quantile(amount, 0.3)": lambda rows: _quantile(_numbers(rows, "amount"), 0.3),
    "quantile(price, 0.5)": lambda rows: _quantile(_numbers(rows, "price"), 0.5),
}


def sorted_out(parts: Mapping[str, Rows], slack: int) -> tuple[dict[str, Rows], list[int]]:
    """The rows that are not below their partition's watermark, and which are."""
    kept: dict[str, Rows] = {}
    late = []
    for part, rows in parts.items():
        greatest = -1
        own = kept.setdefault(part, [])
        for row in rows:
            if row.ts < greatest - slack:
                late.append(row.row)
            else:
                own.append(row)
            greatest = max(greatest, row.ts)
    return kept, sorted(late)


class Plain:
    """The windows of the rows of partitions, by their definition.

    Each method gives (start, end, key, aggregates) of each window and key; the row of a window and key one of whose
    sums has no result is left out, and counted in `dead`."""

    def __init__(self, parts: Mapping[str, Rows], slack: int) -> None:
        self.parts, self.slack = parts, slack
        self.dead = 0

    def windows(
        self, windows: Sliding, key: Sequence[str], aggregates: Sequence[str]
    ) -> tuple[list[Row], list[int]]:
        taken: dict[tuple[Any, ...], Rows] = {}
        late = []
        for _, row, mark in self._in_order():
            first = (row.ts - windows.size - windows.offset) // windows.slide + 1
            last = (row.ts - windows.offset) // windows.slide
            starts = [number * windows.slide + windows.offset for number in range(first, last + 1)]
            taking = [
                start for start in starts if mark is None or mark < start + windows.size + windows.lateness
            ]
            if starts and not taking:
                late.append(row.row)
            for start in taking:
                taken.setdefault((start, start + windows.size, *_key(row, key)), []).append(row)
        return self._made(taken, aggregates), late

    def sessions(
        self, gap: int, lateness: int, key: Sequence[str], aggregates: Sequence[str]
    ) -> tuple[list[Row], list[int]]:
        sessions, late = taken_by_sessions(self.parts, self.slack, gap, lateness, key)
        place = {row.row: number for number, (_, row, _) in enumerate(self._in_order())}
        taken = {
            (start, end, *own): sorted(rows, key=lambda row: place[row.row])
            for start, end, own, rows in sessions
        }
        return self._made(taken, aggregates), late

    def counted(
        self, size: int, key: Sequence[str], aggregates: Sequence[str], *, in_order: bool
    ) -> list[Row]:
        """Windows of so many rows, in the order of time, or of the only partition."""
        rows = [row for _, row, _ in self._in_order()] if in_order else next(iter(self.parts.values()))
        groups: dict[tuple[Any, ...], Rows] = {}
        for row in rows:
            if not fails(row, aggregates):
                groups.setdefault(_key(row, key), []).append(row)
        found = []
        for own, of_key in groups.items():
            for at in range(0, len(of_key), size):
                part = sorted(of_key[at : at + size], key=lambda row: row.ts)
                found += self._made({(part[0].ts, part[-1].ts + 1, *own): part}, aggregates)
        return found

    def running(self, aggregates: Sequence[str], *, in_order: bool) -> list[Row]:
        """The aggregates after each row."""
        rows = [row for _, row, _ in self._in_order()] if in_order else next(iter(self.parts.values()))
        return [tuple(PLAIN[text](rows[: at + 1]) for text in aggregates) for at in range(len(rows))]

    def whole(self, key: Sequence[str], aggregates: Sequence[str]) -> list[Row]:
        taken: dict[tuple[Any, ...], Rows] = {}
        for _, row, _ in self._in_order():
            taken.setdefault(_key(row, key), []).append(row)
        return self._made(taken, aggregates)

    def _in_order(self) -> list[tuple[Any, Trade, int | None]]:
        """(place, row, the watermark of its partition before it)."""
        found = []
        for rank, rows in enumerate(self.parts.values()):
            greatest: int | None = None
            for position, row in enumerate(rows):
                found.append(
                    ((row.ts, rank, position), row, None if greatest is None else greatest - self.slack)
                )
                greatest = row.ts if greatest is None else max(greatest, row.ts)
        return sorted(found, key=lambda each: each[0])

    def _made(self, taken: dict[tuple[Any, ...], Rows], aggregates: Sequence[str]) -> list[Row]:
        found = []
        for own, given in taken.items():
            rows = [row for row in given if not fails(row, aggregates)]
            if not rows:
                continue
            made = [PLAIN[text](rows) for text in aggregates]
            if any(value is NO_RESULT for value in made):
                self.dead += 1
            else:
                found.append((*own, *made))
        return found


def _key(row: Trade, key: Sequence[str]) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in key)
