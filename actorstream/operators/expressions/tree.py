"""Syntax trees of expressions: what was written, with its place in the text. No types, no schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Syntax:
    """A part of an expression, from character `start` to before `end`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Literal(Syntax):
    """An int, float, bool, str, bytes, or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(Syntax):
    name: str


@dataclass(frozen=True, slots=True)
class Negative(Syntax):
    operand: Syntax


@dataclass(frozen=True, slots=True)
class Arithmetic(Syntax):
    """`operator`: one of + - * / // %."""

    operator: str
    left: Syntax
    right: Syntax


@dataclass(frozen=True, slots=True)
class Logic(Syntax):
    """`operator`: "and" or "or", over at least two parts."""

    operator: str
    parts: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Not(Syntax):
    operand: Syntax


@dataclass(frozen=True, slots=True)
class Comparison(Syntax):
    """operands[0] operators[0] operands[1] operators[1] ...: chained as in Python."""

    operators: tuple[str, ...]
    operands: tuple[Syntax, ...]


@dataclass(frozen=True, slots=True)
class Membership(Syntax):
    """`item in (a, b)`, or `item in container` with one text."""

    item: Syntax
    among: tuple[Syntax, ...]
    listed: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class NullTest(Syntax):
    operand: Syntax
    negated: bool


@dataclass(frozen=True, slots=True)
class Call(Syntax):
    name: str
    name_end: int
    arguments: tuple[Syntax, ...]
