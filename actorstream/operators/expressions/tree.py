"""Syntax trees of expressions: what was written, with its place in the text. No types, no schema."""

from __future__ import annotations

from typing import Any

import msgspec


class Syntax(msgspec.Struct, frozen=True):
    """A part of an expression, from character `start` to before `end`."""

    start: int
    end: int


class Literal(Syntax, frozen=True):
    """An int, float, bool, str, bytes, or None."""

    value: Any


class Name(Syntax, frozen=True):
    name: str


class Negative(Syntax, frozen=True):
    operand: Syntax


class Arithmetic(Syntax, frozen=True):
    """`operator`: one of + - * / // %."""

    operator: str
    left: Syntax
    right: Syntax


class Logic(Syntax, frozen=True):
    """`operator`: "and" or "or", over at least two parts."""

    operator: str
    parts: tuple[Syntax, ...]


class Not(Syntax, frozen=True):
    operand: Syntax


class Comparison(Syntax, frozen=True):
    """operands[0] operators[0] operands[1] operators[1] ...: chained as in Python."""

    operators: tuple[str, ...]
    operands: tuple[Syntax, ...]


class Membership(Syntax, frozen=True):
    """`item in (a, b)`, or `item in container` with one text."""

    item: Syntax
    among: tuple[Syntax, ...]
    listed: bool
    negated: bool


class NullTest(Syntax, frozen=True):
    operand: Syntax
    negated: bool


class Call(Syntax, frozen=True):
    name: str
    name_end: int
    arguments: tuple[Syntax, ...]
