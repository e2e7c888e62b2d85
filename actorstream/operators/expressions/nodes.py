"""Checked expressions: every part with its type, every conversion spelt out. `check` makes, `lowering` reads them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from actorstream.operators.expressions.types import BOOL, Type


@dataclass(frozen=True)
class Node:
    """A value a row. `start` and `end` say where it was written; equal nodes have the same value in every row."""

    type: Type
    start: int = field(compare=False)
    end: int = field(compare=False)

    @property
    def parts(self) -> tuple[Node, ...]:
        return ()


@dataclass(frozen=True)
class Constant(Node):
    """One value for all rows: as the column holds it (a datetime as int64 microseconds); None: null."""

    value: Any
    spelt: str = field(init=False)
    """Tells 1, 1.0 and True, and 0.0 and -0.0 apart, which Python calls equal."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelt", repr(self.value))


@dataclass(frozen=True)
class FieldValue(Node):
    """The value of a field."""

    name: str


@dataclass(frozen=True)
class Apply(Node):
    """An operation of `lowering` on values. `extra`: what else it is told (digits, a part of a date, a table)."""

    operation: str
    arguments: tuple[Node, ...]
    extra: Any = None

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """Kept: a part of deep nodes is a key again and again."""
        return hash((self.operation, self.arguments))

    @property
    def parts(self) -> tuple[Node, ...]:
        return self.arguments


def walk(node: Node) -> Iterator[Node]:
    """A node and everything in it."""
    yield node
    for part in node.parts:
        yield from walk(part)


def fields_of(node: Node) -> tuple[str, ...]:
    """Names of the fields that a node reads, each once, as written."""
    return tuple(dict.fromkeys(each.name for each in walk(node) if isinstance(each, FieldValue)))


def negated(node: Node) -> Node:
    """`not node`, of a boolean."""
    return Apply(BOOL.optional(node.type.nullable), node.start, node.end, "not", (node,))


def is_true(node: Node) -> Node:
    """Whether a boolean is true, which a null is not; never null."""
    return Apply(BOOL, node.start, node.end, "is_true", (node,)) if node.type.nullable else node
