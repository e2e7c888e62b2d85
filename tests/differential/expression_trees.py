"""Random expressions: each as our text, as SQL for DuckDB where both say the same, and as plain Python of one row."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from tests.differential.drawn import Drawn, literal
from tests.unit.operators.expression_model import (
    EPOCH,
    NoValueError,
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

SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda p, q: p + q,
    "-": lambda p, q: p - q,
    "*": lambda p, q: p * q,
}
COMPARISONS = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


class NoConstantError(Exception):
    """The expression has a part of constants without a value, which is refused before the run."""


class Trees:
    """Draws expressions. tame: only what SQL says too, over rows of small values."""

    def __init__(self, dice: random.Random, tame: bool) -> None:
        self.dice, self.tame = dice, tame

    def draw(self, depth: int = 4) -> Drawn:
        """An expression of any type."""
        kinds = [self.integer, self.floating, self.word, self.truth, self.truth, self.time]
        while True:
            try:
                return self.dice.choice(kinds)(depth)
            except NoConstantError:
                continue

    def condition(self, depth: int = 4) -> Drawn:
        while True:
            try:
                return self.truth(depth)
            except NoConstantError:
                continue

    # -- types

    def integer(self, depth: int) -> Drawn:
        dice = self.dice
        if depth <= 0 or dice.random() < 0.2:
            return self._integer_leaf()
        match dice.randint(0, 13):
            case 0 | 1 | 2:
                return self._binary(dice.choice("+-*"), self.integer, self.integer, depth)
            case 3 if not self.tame:
                a, b = self.integer(depth - 1), self.integer(depth - 1)
                sign, operation = dice.choice([("//", floor_divide), ("%", remainder)])
                return self._made(f"({a.text} {sign} {b.text})", None, strict(operation), a, b)
            case 4:
                a = self.integer(depth - 1)
                if dice.random() < 0.5:
                    return self._made(f"(-{a.text})", f"(-{a.sql})", strict(lambda p: fits(-p)), a)
                return self._made(f"abs({a.text})", f"abs({a.sql})", strict(lambda p: fits(abs(p))), a)
            case 5:
                return self._extreme(self.integer, self.integer, depth)
            case 6:
                a = dice.choice([self.floating, self.truth])(depth - 1)
                return self._made(f"int({a.text})", f"trunc({a.sql}::double)::bigint", strict(to_int), a)
            case 7 if not self.tame:
                a = self.word(depth - 1)
                return self._made(f"int({a.text})", None, strict(to_int), a)
            case 8:
                a = self.word(depth - 1)
                return self._made(f"length({a.text})", f"length({a.sql})", strict(len), a)
            case 9 | 10:
                return self._part_of_time(depth)
            case 11 if not self.tame:
                a = dice.choice([self.integer, self.floating])(depth - 1)
                bits = dice.choice([8, 16, 32])
                sign = dice.random() < 0.5
                least, most = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if sign else (0, 2**bits - 1)
                name = f"int{bits}" if sign else f"uint{bits}"
                narrow = strict(lambda p: fits(to_int(p), least, most))
                return self._made(f"{name}({a.text})", None, narrow, a)
            case 12 if not self.tame:
                a = self.integer(depth - 1)
                return self._made(
                    f"{dice.choice(['round', 'floor', 'ceil'])}({a.text})", None, strict(int), a
                )
        return self._branch(self.integer, depth)

    def _integer_leaf(self) -> Drawn:
        dice = self.dice
        name = dice.choice(["i", "j", "small", "narrow", "level", "1", "1"] + ["big"] * (not self.tame))
        if name == "1":
            if self.tame or dice.random() < 0.7:
                return literal(dice.randint(-3, 12))
            return literal(dice.choice([2**63 - 1, -(2**63), 2**31, dice.randint(-(2**63), 2**63 - 1)]))
        if name == "big":
            return self._made("int64(big)", None, fits, self._field("big"))
        if name == "level":
            return self._made("abs(level)", "abs(level)", abs, self._field("level"))
        return self._field(name)

    def floating(self, depth: int) -> Drawn:
        dice = self.dice
        if depth <= 0 or dice.random() < 0.2:
            name = dice.choice(["x", "y", "single", "1.0"])
            if name != "1.0":
                return self._field(name)
            values = [0.5, 2.0, -1.25, 0.0] if self.tame else [0.1, -0.0, 1e300, 5e-324, 1e19, 2.675]
            return literal(dice.choice(values))
        match dice.randint(0, 8):
            case 0 | 1 | 2:
                return self._binary(dice.choice("+-*"), self.floating, self.number, depth)
            case 3:
                a = self.number(depth - 1)
                b = literal(dice.choice([2.0, -4.0, 0.5])) if self.tame else self.number(depth - 1)
                return self._made(f"({a.text} / {b.text})", f"({a.sql} / {b.sql})", strict(divide), a, b)
            case 4 if not self.tame:
                a, b = self.floating(depth - 1), self.number(depth - 1)
                sign, operation = dice.choice([("//", floor_divide), ("%", remainder)])
                return self._made(f"({a.text} {sign} {b.text})", None, strict(operation), a, b)
            case 5:
                a = self.floating(depth - 1)
                ours, sql, operation = dice.choice(
                    [
                        ("-", "-", lambda p: -p),
                        ("abs", "abs", abs),
                        ("floor", "floor", np.floor),
                        ("ceil", "ceil", np.ceil),
                        ("round", "", np.rint),
                    ]
                )
                said = f"({sql}({a.sql}))" if sql else f"round_even({a.sql}, 0)"
                return self._made(f"({ours}({a.text}))", said, strict(lambda p: float(operation(p))), a)
            case 6:
                return self._extreme(self.floating, self.number, depth)
            case 7:
                a = dice.choice([self.integer, self.truth])(depth - 1)
                return self._made(f"float({a.text})", f"({a.sql})::double", strict(to_float), a)
            case 8 if not self.tame:
                if dice.random() < 0.4:
                    a = self.word(depth - 1)
                    return self._made(f"float({a.text})", None, strict(to_float), a)
                a, digits = self.floating(depth - 1), dice.randint(0, 15)
                return self._made(f"round({a.text}, {digits})", None, strict(_rounded(digits)), a)
        return self._branch(self.floating, depth)

    def number(self, depth: int) -> Drawn:
        return self.dice.choice([self.integer, self.floating])(depth)

    def word(self, depth: int) -> Drawn:
        dice = self.dice
        if depth <= 0 or dice.random() < 0.3:
            name = dice.choice(["name", "note", "kind", "mood", "''"])
            if name == "''":
                return literal("".join(dice.choices("abz01'é\\", k=dice.randint(0, 3))))
            if name in ("kind", "mood"):
                own = self._field(name)
                return self._made(f"lower({own.text})", f"lower({own.sql})", strict(str.lower), own)
            return self._field(name)
        match dice.randint(0, 4):
            case 0:
                a, b = self.word(depth - 1), self.word(depth - 1)
                return self._made(
                    f"({a.text} + {b.text})", f"({a.sql} || {b.sql})", strict(lambda p, q: p + q), a, b
                )
            case 1:
                a = self.word(depth - 1)
                name, operation = dice.choice([("lower", str.lower), ("upper", _upper)])
                return self._made(f"{name}({a.text})", f"{name}({a.sql})", strict(operation), a)
            case 2 | 3:
                kinds = [self.integer, self.truth, self.word]
                if not self.tame:
                    kinds += [self.floating, self.time]
                a = dice.choice(kinds)(depth - 1)
                return self._made(f"str({a.text})", f"({a.sql})::varchar", strict(to_text), a)
        return self._branch(self.word, depth)

    def time(self, depth: int) -> Drawn:
        dice = self.dice
        if depth <= 0 or dice.random() < 0.5:
            return self._field(dice.choice(["at", "seen"]))
        if not self.tame and dice.random() < 0.6:
            a = self.integer(depth - 1)
            return self._made(f"datetime({a.text})", None, strict(_time), a)
        return self._branch(self.time, depth)

    def truth(self, depth: int) -> Drawn:
        dice = self.dice
        if depth <= 0 or dice.random() < 0.1:
            name = dice.choice(["ok", "maybe", "true", "kind"])
            if name == "true":
                return literal(dice.random() < 0.5)
            if name == "kind":
                return self._of_category()
            return self._field(name)
        match dice.randint(0, 13):
            case 0 | 1:
                return self._comparison(self.number, depth)
            case 2:
                return self._comparison(self.word, depth)
            case 3:
                return self._comparison(self.time, depth)
            case 4 | 5 | 6:
                a, b = self.truth(depth - 1), self.truth(depth - 1)
                word, join = dice.choice([("and", conjunction), ("or", disjunction)])
                sql = f"({a.sql} {word} {b.sql})" if a.sql and b.sql else None
                return self._lazy(f"({a.text} {word} {b.text})", sql, join(a.value, b.value), a, b)
            case 7:
                a = self.truth(depth - 1)
                return self._made(f"(not {a.text})", f"(not {a.sql})", strict(lambda p: not p), a)
            case 8:
                a = dice.choice([self.number, self.word, self.truth, self.time])(depth - 1)
                no = dice.random() < 0.5
                word = "is not null" if no else "is null"
                return self._made(
                    f"({a.text} {word})", f"(({a.sql}) {word})", lambda p: (p is not None) == no, a
                )
            case 9:
                a, b = self.word(depth - 1), self.word(depth - 1)
                name, sql, test = dice.choice(
                    [
                        ("contains", "contains", lambda p, q: q in p),
                        ("startswith", "starts_with", str.startswith),
                        ("endswith", "ends_with", str.endswith),
                    ]
                )
                return self._made(
                    f"{name}({a.text}, {b.text})", f"{sql}({a.sql}, {b.sql})", strict(test), a, b
                )
            case 10:
                return self._membership(depth)
            case 11 if not self.tame:
                a = dice.choice([self.number, self.word])(depth - 1)
                return self._made(f"bool({a.text})", None, strict(to_bool), a)
            case 12:
                a = self.integer(depth - 1)
                low, high = sorted(dice.sample(range(-5, 15), 2))
                test = strict(lambda p: low < p <= high)
                low_text, high_text = literal(low).text, literal(high).text
                sql = f"({low} < ({a.sql}) and ({a.sql}) <= {high})"
                return self._made(f"({low_text} < {a.text} <= {high_text})", sql, test, a)
            case 13 if not self.tame:
                a = self.floating(depth - 1)
                return self._made(f"isnan({a.text})", None, strict(math.isnan), a)
        return self._branch(self.truth, depth)

    # -- shapes

    def _field(self, name: str) -> Drawn:
        text = name if self.dice.random() < 0.9 else f"`{name}`"
        return Drawn(text, f'"{name}"', lambda row: row[name])

    def _made(self, text: str, sql: str | None, function: Callable[..., Any], *parts: Drawn) -> Drawn:
        """A function of the values of all parts."""
        if any(part.sql is None for part in parts):
            sql = None
        made = Drawn(
            text,
            sql,
            lambda row: function(*[part.value(row) for part in parts]),
            all(p.constant for p in parts),
        )
        if made.constant:
            try:
                made.value({})
            except NoValueError:
                raise NoConstantError from None
        return made

    def _lazy(self, text: str, sql: str | None, value: Callable[[Row], Any], *parts: Drawn) -> Drawn:
        """A function that does not compute all of its parts."""
        return Drawn(text, sql, value, all(part.constant for part in parts))

    def _binary(
        self, sign: str, one: Callable[[int], Drawn], other: Callable[[int], Drawn], depth: int
    ) -> Drawn:
        a, b = one(depth - 1), other(depth - 1)
        if self.dice.random() < 0.5:
            a, b = b, a
        return self._made(
            f"({a.text} {sign} {b.text})", f"({a.sql} {sign} {b.sql})", strict(arithmetic(SIGNS[sign])), a, b
        )

    def _extreme(self, one: Callable[[int], Drawn], other: Callable[[int], Drawn], depth: int) -> Drawn:
        parts = [one(depth - 1), *(other(depth - 1) for _ in range(self.dice.randint(1, 2)))]
        name = self.dice.choice(["min", "max"])
        pick = (lambda p, q: q if q < p else p) if name == "min" else (lambda p, q: q if q > p else p)
        null = " or ".join(f"({part.sql}) is null" for part in parts)
        function = "least" if name == "min" else "greatest"
        sql = f"(case when {null} then null else {function}({', '.join(str(p.sql) for p in parts)}) end)"
        return self._made(f"{name}({', '.join(p.text for p in parts)})", sql, strict(extreme(pick)), *parts)

    def _comparison(self, of: Callable[[int], Drawn], depth: int) -> Drawn:
        a, b = of(depth - 1), of(depth - 1)
        operator = self.dice.choice(list(COMPARISONS))
        function = strict(compare(operator, a.constant or b.constant))
        sql = f"(({a.sql}) {COMPARISONS[operator]} ({b.sql}))"
        return self._made(f"({a.text} {operator} {b.text})", sql, function, a, b)

    def _membership(self, depth: int) -> Drawn:
        dice = self.dice
        many = dice.choice([1, 3, 12])
        values: list[Any]
        if dice.random() < 0.5:
            a = self.word(depth - 1)
            values = ["".join(dice.choices("abz01", k=dice.randint(0, 2))) for _ in range(many)]
        else:
            a = self.integer(depth - 1)
            values = [dice.randint(-3, 12) for _ in range(many)]
        no = dice.random() < 0.5
        word = "not in" if no else "in"
        listed = [literal(value) for value in values]
        return self._made(
            f"({a.text} {word} ({', '.join(each.text for each in listed)}))",
            f"(({a.sql}) {word} ({', '.join(str(each.sql) for each in listed)}))",
            strict(lambda p: (p in values) != no),
            a,
        )

    def _branch(self, of: Callable[[int], Drawn], depth: int) -> Drawn:
        a, b = of(depth - 1), of(depth - 1)
        if self.dice.random() < 0.6:
            if_ = self.truth(depth - 1)
            sql = (
                f"(case when {if_.sql} then {a.sql} else {b.sql} end)"
                if if_.sql and a.sql and b.sql
                else None
            )
            value = lambda row: a.value(row) if if_.value(row) is True else b.value(row)  # noqa: E731
            return self._lazy(f"if({if_.text}, {a.text}, {b.text})", sql, value, a, b, if_)

        def first(row: Row) -> Any:
            found = a.value(row)
            return b.value(row) if found is None else found

        sql = f"coalesce({a.sql}, {b.sql})" if a.sql and b.sql else None
        return self._lazy(f"coalesce({a.text}, {b.text})", sql, first, a, b)

    def _part_of_time(self, depth: int) -> Drawn:
        name = self.dice.choice(["year", "month", "day", "hour", "minute", "second", "weekday", "epoch"])
        a = self.time(depth - 1)
        part: Callable[[Any], Any] = {
            "weekday": lambda t: t.weekday(),
            "epoch": lambda t: microseconds(t) // 1000,
        }.get(name, lambda t: getattr(t, name))
        sql = {"weekday": f"(isodow({a.sql}) - 1)", "epoch": f"floor(epoch_us({a.sql}) / 1000)"}.get(
            name, f"{name}({a.sql})"
        )
        return self._made(f"{name}({a.text})", f"({sql})::bigint", strict(part), a)

    def _of_category(self) -> Drawn:
        kind, mood, level = self._field("kind"), self._field("mood"), self._field("level")
        text, sql, test, field = self.dice.choice(
            [
                ("({} == 'view')", "({} = 'view')", lambda p: p == "view", kind),
                (
                    "({} in ('click', 'buy'))",
                    "({} in ('click', 'buy'))",
                    lambda p: p in ("click", "buy"),
                    kind,
                ),
                ("({} < 'd')", "({} < 'd')", lambda p: p < "d", kind),
                ("({} == 'good')", "({} = 'good')", strict(lambda p: p == "good"), mood),
                ("({} is null)", "({} is null)", lambda p: p is None, mood),
                ("({} == 1)", "({} = 1)", lambda p: p == 1, level),
                ("({} < 2.5)", "({} < 2.5)", lambda p: p < 2.5, level),
            ]
        )
        return self._made(text.format(field.text), sql.format(field.sql), test, field)


def _time(value: int) -> datetime:
    """Of a number of milliseconds."""
    try:
        return EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        raise NoValueError(value) from None


def _upper(text: str) -> str:
    """One character becomes one (docs/expressions.md), so this is not Python's "SS"."""
    return text.replace("ß", "ẞ").upper()


def _rounded(digits: int) -> Callable[[float], float]:
    return lambda value: round(value, digits) if math.isfinite(value) else value
