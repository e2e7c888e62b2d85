"""Comparisons with a constant as ranges of the values a column can hold: exact, whatever the types of both sides."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from actorstream.events.fields import FLOATS, Kind

Range = tuple[int, int] | tuple[float, float]
"""Least and greatest value, both included."""


def bounds(kind: Kind) -> tuple[int, int]:
    """The least and greatest integer of a kind (a datetime is an int64)."""
    limits = np.iinfo(np.int64 if kind in (Kind.DATETIME, Kind.DICTIONARY) else kind.value)
    return int(limits.min), int(limits.max)


def range_of(kind: Kind, operator: str, constant: int | float) -> Range | None:
    """The values v of `kind` for which `v operator constant` holds (== < <= > >=); None: there is none.

    A NaN is in no range, and the constant NaN gives none."""
    if isinstance(constant, float) and math.isnan(constant):
        return None
    return _floats(kind, operator, constant) if kind in FLOATS else _integers(kind, operator, constant)


def _integers(kind: Kind, operator: str, constant: int | float) -> Range | None:
    least, most = bounds(kind)
    if isinstance(constant, float) and math.isinf(constant):
        holds = operator in ("<", "<=") if constant > 0 else operator in (">", ">=")
        return (least, most) if holds else None
    down, up = math.floor(constant), math.ceil(constant)
    match operator:
        case "==":
            least, most = (max(least, up), min(most, down))
        case "<":
            most = min(most, up - 1)
        case "<=":
            most = min(most, down)
        case ">":
            least = max(least, down + 1)
        case ">=":
            least = max(least, up)
    return (least, most) if least <= most else None


def _floats(kind: Kind, operator: str, constant: int | float) -> Range | None:
    single = kind is Kind.FLOAT32
    down, up = _at_most(constant, single), _at_least(constant, single)
    inf = math.inf
    match operator:
        case "==":
            return (down, up) if down == up else None
        case "<":
            most = _next(down, -inf, single) if down == constant else down
            return (-inf, most) if constant > -inf else None
        case "<=":
            return (-inf, down)
        case ">":
            least = _next(up, inf, single) if up == constant else up
            return (least, inf) if constant < inf else None
    return (up, inf)


def _next(value: float, towards: float, single: bool) -> float:
    return (
        float(np.nextafter(np.float32(value), np.float32(towards)))
        if single
        else math.nextafter(value, towards)
    )


def _nearest(constant: int | float, single: bool) -> float:
    try:
        value = float(constant)
    except OverflowError:
        return math.inf if constant > 0 else -math.inf
    if not single:
        return value
    with np.errstate(over="ignore"):
        return float(np.float32(value))


def _at_most(constant: int | float, single: bool) -> float:
    """The greatest float that is not greater than the constant."""
    near = _nearest(constant, single)
    return _next(near, -math.inf, single) if _greater(near, constant) else near


def _at_least(constant: int | float, single: bool) -> float:
    near = _nearest(constant, single)
    return _next(near, math.inf, single) if _greater(constant, near) else near


def _greater(a: int | float, b: int | float) -> bool:
    if math.isinf(a) or math.isinf(b):
        return a > b
    return Fraction(a) > Fraction(b)
