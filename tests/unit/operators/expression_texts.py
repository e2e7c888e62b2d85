"""Strategies for random expressions of each type over the rows of expression_model."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from expression_model import (
    NoValueError,
    Random,
    Row,
    arithmetic,
    compare,
    conjunction,
    disjunction,
    divide,
    extreme,
    fits,
    floor_divide,
    microseconds,
    remainder,
    strict,
    to_bool,
    to_float,
    to_int,
    to_text,
)
from hypothesis import reject
from hypothesis import strategies as st

DEPTH = 3
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")


def field(name: str) -> Random:
    return Random(name, lambda row: row[name])


def literal(value: Any) -> Random:
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'")
        return Random(f"'{escaped}'", lambda row: value, True)
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return Random(f"({text})" if text.startswith("-") else text, lambda row: value, True)


def combined(text: str, function: Callable[..., Any], *parts: Random) -> Random:
    """A function of the values of all parts. Constants without a value are errors before any run: not drawn here."""
    made = Random(
        text, lambda row: function(*[part.value(row) for part in parts]), all(p.constant for p in parts)
    )
    if made.constant:
        try:
            made.value({})
        except NoValueError:
            reject()
    return made


def lazily(text: str, value: Callable[[Row], Any], *parts: Random) -> Random:
    """A function that does not compute all of its parts."""
    return Random(text, value, all(part.constant for part in parts))


@st.composite
def ints(draw: Any, depth: int = DEPTH) -> Random:
    if depth <= 0 or draw(st.integers(0, 3)) == 0:
        leaf = draw(st.sampled_from(["i", "j", "small", "narrow", "big", "level", "1"]))
        if leaf == "1":
            return literal(draw(st.one_of(st.integers(-3, 12), st.integers(-(2**63), 2**63 - 1))))
        if leaf == "big":
            return combined("int64(big)", fits, field("big"))
        return combined("abs(level)", abs, field("level")) if leaf == "level" else field(leaf)
    match draw(st.integers(0, 12)):
        case 0 | 1 | 2:
            a, b = draw(ints(depth - 1)), draw(ints(depth - 1))
            sign = draw(st.sampled_from("+-*"))
            operation = {"+": lambda p, q: p + q, "-": lambda p, q: p - q, "*": lambda p, q: p * q}[sign]
            return combined(f"({a.text} {sign} {b.text})", strict(arithmetic(operation)), a, b)
        case 3:
            a, b = draw(ints(depth - 1)), draw(ints(depth - 1))
            return combined(f"({a.text} // {b.text})", strict(floor_divide), a, b)
        case 4:
            a, b = draw(ints(depth - 1)), draw(ints(depth - 1))
            return combined(f"({a.text} % {b.text})", strict(remainder), a, b)
        case 5:
            a = draw(ints(depth - 1))
            name, operation = draw(st.sampled_from([("-", lambda p: -p), ("abs", abs)]))
            return combined(f"({name}({a.text}))", strict(lambda p: fits(operation(p))), a)
        case 6:
            parts = draw(st.lists(ints(depth - 1), min_size=2, max_size=3))
            name = draw(st.sampled_from(["min", "max"]))
            pick = (lambda p, q: q if q < p else p) if name == "min" else (lambda p, q: q if q > p else p)
            return combined(f"{name}({', '.join(p.text for p in parts)})", strict(extreme(pick)), *parts)
        case 7:
            a = draw(st.one_of(floats(depth - 1), words(depth - 1), bools(depth - 1)))
            return combined(f"int({a.text})", strict(to_int), a)
        case 8:
            a = draw(words(depth - 1))
            return combined(f"length({a.text})", strict(len), a)
        case 9:
            name = draw(
                st.sampled_from(["year", "month", "day", "hour", "minute", "second", "weekday", "epoch"])
            )
            a = draw(times())
            part = {"weekday": lambda t: t.weekday(), "epoch": lambda t: microseconds(t) // 1000}.get(
                name, lambda t: getattr(t, name)
            )
            return combined(f"{name}({a.text})", strict(part), a)
        case 10:
            a = draw(ints(depth - 1))
            return combined(f"int16({a.text})", strict(lambda p: fits(p, -(2**15), 2**15 - 1)), a)
    return draw(branches(ints(depth - 1), depth))


@st.composite
def floats(draw: Any, depth: int = DEPTH) -> Random:
    if depth <= 0 or draw(st.integers(0, 3)) == 0:
        leaf = draw(st.sampled_from(["x", "y", "single", "1.0"]))
        if leaf != "1.0":
            return field(leaf)
        return literal(draw(st.floats(allow_nan=False, allow_infinity=False)))
    match draw(st.integers(0, 7)):
        case 0 | 1:
            a, b = draw(floats(depth - 1)), draw(st.one_of(floats(depth - 1), ints(depth - 1)))
            sign = draw(st.sampled_from("+-*"))
            operation = {"+": lambda p, q: p + q, "-": lambda p, q: p - q, "*": lambda p, q: p * q}[sign]
            return combined(f"({a.text} {sign} {b.text})", strict(arithmetic(operation)), a, b)
        case 2:
            a, b = draw(numbers(depth - 1)), draw(numbers(depth - 1))
            return combined(f"({a.text} / {b.text})", strict(divide), a, b)
        case 3:
            a, b = draw(floats(depth - 1)), draw(floats(depth - 1))
            sign, operation = draw(st.sampled_from([("//", floor_divide), ("%", remainder)]))
            return combined(f"({a.text} {sign} {b.text})", strict(operation), a, b)
        case 4:
            a = draw(floats(depth - 1))
            name, operation = draw(
                st.sampled_from(
                    [
                        ("-", lambda p: -p),
                        ("abs", abs),
                        ("round", np.rint),
                        ("floor", np.floor),
                        ("ceil", np.ceil),
                    ]
                )
            )
            return combined(f"({name}({a.text}))", strict(lambda p: float(operation(p))), a)
        case 5:
            parts = [draw(floats(depth - 1)), draw(numbers(depth - 1))]
            name = draw(st.sampled_from(["min", "max"]))
            pick = (lambda p, q: q if q < p else p) if name == "min" else (lambda p, q: q if q > p else p)
            return combined(f"{name}({', '.join(p.text for p in parts)})", strict(extreme(pick)), *parts)
        case 6:
            a = draw(st.one_of(ints(depth - 1), words(depth - 1), bools(depth - 1)))
            return combined(f"float({a.text})", strict(to_float), a)
    return draw(branches(floats(depth - 1), depth))


def numbers(depth: int) -> st.SearchStrategy[Random]:
    return st.one_of(ints(depth), floats(depth))


@st.composite
def words(draw: Any, depth: int = DEPTH) -> Random:
    if depth <= 0 or draw(st.integers(0, 2)) == 0:
        leaf = draw(st.sampled_from(["name", "note", "kind", "mood", "''"]))
        if leaf == "''":
            return literal(draw(st.text("abz01'é\\", max_size=3)))
        return (
            field(leaf)
            if leaf in ("name", "note")
            else combined(f"lower({leaf})", strict(str.lower), field(leaf))
        )
    match draw(st.integers(0, 4)):
        case 0:
            a, b = draw(words(depth - 1)), draw(words(depth - 1))
            return combined(f"({a.text} + {b.text})", strict(lambda p, q: p + q), a, b)
        case 1:
            a = draw(words(depth - 1))
            name, operation = draw(st.sampled_from([("lower", str.lower), ("upper", str.upper)]))
            return combined(f"{name}({a.text})", strict(operation), a)
        case 2 | 3:
            a = draw(st.one_of(numbers(depth - 1), bools(depth - 1), times(), words(depth - 1)))
            return combined(f"str({a.text})", strict(to_text), a)
    return draw(branches(words(depth - 1), depth))


def times() -> st.SearchStrategy[Random]:
    return st.sampled_from([field("at"), field("seen")])


@st.composite
def bools(draw: Any, depth: int = DEPTH) -> Random:
    if depth <= 0 or draw(st.integers(0, 4)) == 0:
        return draw(st.sampled_from([field("ok"), field("maybe"), literal(True), *CATEGORIES]))
    match draw(st.integers(0, 12)):
        case 0 | 1:
            return draw(comparisons(numbers(depth - 1)))
        case 2:
            return draw(comparisons(words(depth - 1)))
        case 3:
            return draw(comparisons(times()))
        case 4:
            a, b = draw(bools(depth - 1)), draw(bools(depth - 1))
            operator = draw(st.sampled_from(["==", "!="]))
            return combined(f"({a.text} {operator} {b.text})", strict(compare(operator, True)), a, b)
        case 5 | 6:
            a, b = draw(bools(depth - 1)), draw(bools(depth - 1))
            word, join = draw(st.sampled_from([("and", conjunction), ("or", disjunction)]))
            return lazily(f"({a.text} {word} {b.text})", join(a.value, b.value), a, b)
        case 7:
            a = draw(bools(depth - 1))
            return combined(f"(not {a.text})", strict(lambda p: not p), a)
        case 8:
            a = draw(st.one_of(numbers(depth - 1), words(depth - 1), bools(depth - 1), times()))
            negated = draw(st.booleans())
            test = (lambda p: p is not None) if negated else (lambda p: p is None)
            return combined(f"({a.text} is {'not ' if negated else ''}null)", test, a)
        case 9:
            a, b = draw(words(depth - 1)), draw(words(depth - 1))
            name = draw(st.sampled_from(["contains", "startswith", "endswith"]))
            test = {"contains": lambda p, q: q in p, "startswith": str.startswith, "endswith": str.endswith}[
                name
            ]
            return combined(f"{name}({a.text}, {b.text})", strict(test), a, b)
        case 10:
            return draw(memberships(depth))
        case 11:
            a = draw(st.one_of(numbers(depth - 1), words(depth - 1)))
            return combined(f"bool({a.text})", strict(to_bool), a)
    return draw(branches(bools(depth - 1), depth))


@st.composite
def comparisons(draw: Any, parts: st.SearchStrategy[Random]) -> Random:
    a, b, operator = draw(parts), draw(parts), draw(st.sampled_from(OPERATORS))
    function = compare(operator, a.constant or b.constant)
    return combined(f"({a.text} {operator} {b.text})", strict(function), a, b)


@st.composite
def memberships(draw: Any, depth: int) -> Random:
    if draw(st.booleans()):
        item, values = (
            draw(words(depth - 1)),
            draw(st.lists(st.text("abz01", max_size=2), min_size=1, max_size=12)),
        )
    else:
        item, values = draw(ints(depth - 1)), draw(st.lists(st.integers(-3, 12), min_size=1, max_size=12))
    negated = draw(st.booleans())
    listed = ", ".join(literal(value).text for value in values)
    word = "not in" if negated else "in"
    return combined(f"({item.text} {word} ({listed}))", strict(lambda p: (p in values) != negated), item)


@st.composite
def branches(draw: Any, parts: st.SearchStrategy[Random], depth: int) -> Random:
    """`if` or `coalesce` of values of one type."""
    a, b = draw(parts), draw(parts)
    if draw(st.booleans()):
        condition = draw(bools(depth - 1))
        value = lambda row: a.value(row) if condition.value(row) is True else b.value(row)  # noqa: E731
        return lazily(f"if({condition.text}, {a.text}, {b.text})", value, a, b, condition)

    def first(row: Row) -> Any:
        found = a.value(row)
        return b.value(row) if found is None else found

    return lazily(f"coalesce({a.text}, {b.text})", first, a, b)


CATEGORIES = [
    combined("(kind == 'view')", lambda p: p == "view", field("kind")),
    combined("(kind != 'buy')", lambda p: p != "buy", field("kind")),
    combined("(kind in ('click', 'buy'))", lambda p: p in ("click", "buy"), field("kind")),
    combined("(kind in ('view', 'buy'))", lambda p: p in ("view", "buy"), field("kind")),
    combined("(kind < 'd')", lambda p: p < "d", field("kind")),
    combined("(mood == 'good')", strict(lambda p: p == "good"), field("mood")),
    combined("(mood is null)", lambda p: p is None, field("mood")),
    combined("(level == 1)", lambda p: p == 1, field("level")),
    combined("(level < 2.5)", lambda p: p < 2.5, field("level")),
    combined("(big > 9)", lambda p: p > 9, field("big")),
    combined("(big == 9.0)", lambda p: p == 9, field("big")),
    combined("(single > 0.1)", lambda p: p > 0.1, field("single")),
    combined("(small >= 3)", lambda p: p >= 3, field("small")),
    combined("(narrow != 3)", strict(lambda p: p != 3), field("narrow")),
    combined("(1 < j <= 3)", strict(lambda p: 1 < p <= 3), field("j")),
    combined("isnan(y)", strict(math.isnan), field("y")),
]
