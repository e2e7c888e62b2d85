"""What aggregates say of some rows, in plain Python; nulls are left out. The reference that the operator is held to."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorstream import Event


class Row(Event):
    __event_time__ = "ts"
    ts: int
    key: str | None
    other: int
    price: float | None
    number: int
    text: str


def present(rows: Sequence[Any], name: str) -> list[Any]:
    return [value for row in rows if (value := getattr(row, name)) is not None]


def _some(say: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    return lambda found: say(found) if found else None


AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count()": len,
    "count(price)": lambda rows: len(present(rows, "price")),
    "sum(number)": lambda rows: sum(present(rows, "number")),
    "sum(price)": lambda rows: _some(math.fsum)(present(rows, "price")),
    "sum(number * 2)": lambda rows: 2 * sum(present(rows, "number")),
    "min(price)": lambda rows: _some(min)(present(rows, "price")),
    "max(number)": lambda rows: max(present(rows, "number")),
    "mean(price)": lambda rows: _some(lambda found: math.fsum(found) / len(found))(present(rows, "price")),
    "mean(number)": lambda rows: sum(present(rows, "number")) / len(rows),
    "first(number)": lambda rows: min(rows, key=lambda row: row.ts).number,
    "last(number)": lambda rows: max(reversed(rows), key=lambda row: row.ts).number,
    "first(text)": lambda rows: min(rows, key=lambda row: row.ts).text,
    "last(price)": lambda rows: _some(lambda own: max(reversed(own), key=lambda row: row.ts).price)(
        [row for row in rows if row.price is not None]
    ),
    "count_distinct(text)": lambda rows: len({row.text for row in rows}),
    "count_distinct(price)": lambda rows: len(set(present(rows, "price"))),
    "quantile(number, 0.25)": lambda rows: float(np.quantile([row.number for row in rows], 0.25)),
}
"""An aggregate -> the same over a list of rows, in the order of their arrival."""

MERGED = [text for text in AGGREGATES if not text.startswith(("count_distinct", "quantile", "first(text"))]
"""Those that can be computed in two steps."""


def groups(rows: Sequence[Any], key: Sequence[str]) -> list[tuple[tuple[Any, ...], list[Any]]]:
    """Keys and their rows, in the order of the keys; nulls come last."""
    found: dict[tuple[Any, ...], list[Any]] = {}
    for row in rows:
        found.setdefault(tuple(getattr(row, name) for name in key), []).append(row)
    return sorted(found.items(), key=lambda each: tuple((v is None, "" if v is None else v) for v in each[0]))


def said(rows: Sequence[Any], key: Sequence[str], texts: Sequence[str]) -> list[tuple[Any, ...]]:
    """(key fields, aggregates) of each group."""
    return [(*own, *(AGGREGATES[text](mine) for text in texts)) for own, mine in groups(rows, key)]
