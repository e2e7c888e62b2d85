"""What joins and top must give: window joins and static joins asked of DuckDB, as-of joins and top in plain Python, each by
its definition in docs/joins.md."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import duckdb
import pyarrow as pa

from actorstream import Event, Int16
from tests.unit.operators.timed import Windows, assigned

DAYS = [datetime(2024, 5, day, 12, tzinfo=UTC) for day in (1, 2)]
Row = tuple[Any, ...]


class Order(Event):
    __event_time__ = "ts"
    ts: int
    item: int | None
    shop: str | None
    weight: float | None
    day: datetime
    kind: Literal["a", "b"]
    row: int


class Quote(Event):
    """Its key fields have other types, and some other names."""

    __event_time__ = "ts"
    ts: int
    shop: str | None
    item: Int16 | None
    mass: float | None
    day: datetime
    kind: str
    number: int


_LEFT = {"ts": pa.int64(), "item": pa.int64(), "shop": pa.string(), "weight": pa.float64(), "day": pa.timestamp("us"),
         "kind": pa.string(), "row": pa.int64()}  # fmt: skip
_RIGHT = {"ts": pa.int64(), "shop": pa.string(), "item": pa.int64(), "mass": pa.float64(), "day": pa.timestamp("us"),
          "kind": pa.string(), "number": pa.int64()}  # fmt: skip
PAIRS = {"item": "item", "shop": "shop", "weight": "mass", "day": "day", "kind": "kind"}
"""Fields that may be joined, of the left and of the right."""


def values(event: Any) -> Row:
    return tuple(getattr(event, name) for name in event.__struct_fields__)


def drawn_sides(dice: random.Random, kind: type[Event], parts: int, most: int) -> dict[str, list[Any]]:
    """Partition -> rows of a class whose fields are those of Order or Quote."""
    found, number = {}, 0
    for part in range(parts):
        rows, at, step = [], dice.randint(0, 15), dice.choice([0, 1, 2])
        for _ in range(dice.choice([0, 1, most // 3, most, most])):
            at += dice.randint(0, step)
            own: dict[str, Any] = {
                "ts": max(0, at - (dice.randint(0, 25) if dice.random() < 0.2 else 0)),
                "item": dice.choice([None, 0, 1, 2, -3]), "shop": dice.choice([None, "", "a", "ab", "é"]),
                "weight": dice.choice([None, 0.5, 1.0, 2.0, -0.0, 0.0]), "day": dice.choice(DAYS),
                "kind": dice.choice("ab"), "row": number, "number": number,
            }  # fmt: skip
            own["mass"] = own["weight"]
            rows.append(kind(**{name: own[name] for name in kind.__struct_fields__}))
            number += 1
        found[str(part)] = rows
    return found


def zoned(row: Sequence[Any]) -> Row:
    """Datetimes in UTC, and -0.0 as 0.0."""
    return tuple(
        each.replace(tzinfo=UTC)
        if isinstance(each, datetime)
        else each + 0.0
        if isinstance(each, float)
        else each
        for each in row
    )


# -- joins of equal keys


@dataclass(frozen=True)
class Selected:
    """The columns that come out, in SQL."""

    text: str


def _selected(on: Sequence[str], how: str, windowed: bool) -> str:
    """The key, the left's others, the right's others (docs/joins.md); of a static join the left's fields as they are."""
    rest = [name for name in _RIGHT if name not in [PAIRS[key] for key in on]]
    theirs = [f"r.{name}" for name in rest]
    if not windowed:
        return ", ".join([*(f"l.{name}" for name in _LEFT), *theirs])
    keys = [f"coalesce(l.{name}, r.{PAIRS[name]})" for name in on]
    own = [f"l.{name}" for name in _LEFT if name not in on]
    bounds = ["coalesce(l.window_start, r.window_start)", "coalesce(l.window_end, r.window_end)"]
    return ", ".join([*keys, *own, *theirs, *bounds])


def _table(rows: Sequence[Any], starts: Sequence[int], size: int, fields: dict[str, pa.DataType]) -> pa.Table:
    def plain(value: Any) -> Any:
        return value.replace(tzinfo=None) if isinstance(value, datetime) else value

    columns = {
        name: pa.array([plain(getattr(row, name)) for row in rows], kind) for name, kind in fields.items()
    }
    columns["window_start"] = pa.array(starts, pa.int64())
    columns["window_end"] = pa.array([start + size for start in starts], pa.int64())
    return pa.table(columns)


def joined(
    left: list[tuple[int, Any]], right: list[tuple[int, Any]], size: int, on: Sequence[str], how: str
) -> list[Row]:
    """(window start, row) of both sides, joined by DuckDB; size 0: there are no windows."""
    with duckdb.connect(config={"threads": 1}) as database:
        database.execute("set timezone = 'UTC'")
        for name, side, fields in (("l", left, _LEFT), ("r", right, _RIGHT)):
            database.register(
                name, _table([row for _, row in side], [start for start, _ in side], size, fields)
            )
        equal = " and ".join(
            [f"l.{name} = r.{PAIRS[name]}" for name in on] + ["l.window_start = r.window_start"]
        )
        word = {"inner": "inner", "left": "left", "right": "right", "outer": "full"}[how]
        selected = _selected(on, how, size > 0)
        found = database.execute(f"select {selected} from l {word} join r on {equal}").fetchall()
    return [zoned(row) for row in found]


def window_joined(
    left: dict[str, list[Any]],
    right: dict[str, list[Any]],
    windows: Windows,
    slack: int,
    on: Sequence[str],
    how: str,
) -> tuple[list[Row], list[Any], list[Any]]:
    """The joined rows, and those of each side that are late for all their windows."""
    lefts, late = assigned(left, windows, slack)
    rights, late_right = assigned(right, windows, slack)
    sides = [[(start, row) for start, rows in side.items() for row in rows] for side in (lefts, rights)]
    return joined(*sides, windows.size, on, how), late, late_right


# -- top


def _rank(value: Any, down: bool) -> tuple[Any, ...]:
    """NaN behind all numbers and null behind NaN, in either direction."""
    if value is None:
        return (2, 0)
    if value != value:
        return (1, 0)
    if isinstance(value, str):
        return (0, (*(-ord(each) for each in value), 1) if down else value)
    number = value.timestamp() if isinstance(value, datetime) else value
    return (0, -number if down else number)


BY: dict[str, Any] = {
    "weight": ("weight", lambda row: _rank(row.weight, True)),
    "weight asc": ("weight", lambda row: _rank(row.weight, False)),
    "-item": ("item", lambda row: _rank(row.item, False)),
    "item desc": ("item", lambda row: _rank(row.item, True)),
    "shop asc": ("shop", lambda row: _rank(row.shop, False)),
    "day": ("day", lambda row: _rank(row.day, True)),
    "row % 5": (None, lambda row: _rank(row.row % 5, True)),
    "ts - row * 2 asc": (None, lambda row: _rank(row.ts - row.row * 2, False)),
    "weight / item": (None, lambda row: _rank(_ratio(row), True)),
}
"""An entry of `by` -> the field it is, if it is one, and what sorts as it does."""


def _ratio(row: Any) -> Any:
    if row.weight is None or row.item is None:
        return None
    if row.item == 0:
        return math.nan if row.weight == 0 else math.inf
    return row.weight / row.item


def best(rows: list[Any], n: int, by: Sequence[str], key: Sequence[str]) -> list[Any]:
    named = [BY[each][0] for each in by]
    rest = [name for name in Order.__struct_fields__ if name not in named]

    def place(row: Any) -> tuple[Any, ...]:
        ties = [_rank(getattr(row, name), False) for name in rest]
        return (*(BY[each][1](row) for each in by), *ties)

    groups: dict[Row, list[Any]] = {}
    for row in sorted(rows, key=place):
        groups.setdefault(tuple(getattr(row, name) for name in key), []).append(row)
    found = []
    for own in sorted(groups, key=lambda own: [_rank(value, False) for value in own]):
        found += groups[own][:n]
    return found
