"""How comparisons and numbers of text, and look-ups by the code of a category, are lowered."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from actorstream.events.fields import Kind
from actorstream.native.expression import NONE
from actorstream.native.expression import kind as native_kind
from actorstream.operators.expressions.lowering import (
    Guards,
    Lowered,
    Lowering,
    Rule,
    Validity,
)
from actorstream.operators.expressions.nodes import Apply, Constant, FieldValue, Node
from actorstream.operators.expressions.tables import Table
from actorstream.operators.expressions.types import INT, stored_as

FEW_RUNS = 8
"""Ranges of codes up to which comparing with each (0.03 ns a row and range) beats looking codes up (1.4 ns)."""


def relation(name: str) -> Rule:
    def rule(to: Lowering, node: Apply, guards: Guards) -> Lowered:
        left = to.words(node.arguments[0], guards, whole=True)
        right = to.words(node.arguments[1], guards)
        at = to.code.emit(name, left.column, right.column, table=right.constant, size=len(right.constant))
        return to.truth(at, to.all_valid(left, right))

    return rule


def of_text(name: str) -> Rule:
    """A number of text."""

    def rule(to: Lowering, node: Apply, guards: Guards) -> Lowered:
        value = to.words(node.arguments[0], guards, whole=True)
        active = to.active(guards, value.valid) if name.startswith("TEXT_TO") else NONE
        found = to.code.emit(name, value.column, active=active)
        if node.type.kind is Kind.BOOL:
            return to.truth(to.code.emit("TEST_I", found, x=1, y=1), value.valid)
        return Lowered(found, value.valid)

    return rule


def computed_bools(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    """A bool that is computed with text, outside the program."""
    column = to.step(node, guards)
    kind = native_kind("U8")
    return to.truth(
        to.code.emit("TEST", column, kind=kind, x=1, y=255),
        to.valid_of(column) if node.type.nullable else None,
    )


# -- categories


def labels(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    value = node.arguments[0]
    return _looked_up(to, value, Table.of(INT, value.type.labels, None))


def lookup(to: Lowering, node: Apply, guards: Guards) -> Lowered:
    return _looked_up(to, node.arguments[0], node.extra)


def _looked_up(to: Lowering, coded: Node, table: Table) -> Lowered:
    """A value by the code of a category, and another where it is null."""
    assert isinstance(coded, FieldValue)
    column = to.field(coded)
    kind = stored_as(coded.type.field(coded.name))
    found, known = _by_code(to, column, kind, table)
    if not coded.type.nullable:
        return to.truth(found, known) if table.type.kind is Kind.BOOL else Lowered(found, known)
    there = to.code.emit("VALID", column)
    if table.at_null is None:
        valid: Validity = lambda: there if known is None else to.code.emit("AND", there, known())  # noqa: E731
        return to.truth(found, valid) if table.type.kind is Kind.BOOL else Lowered(found, valid)
    other = to.lower(Constant(table.type, coded.start, coded.end, table.at_null))
    valid = None if known is None else lambda: to.choose(there, known(), to.code.all(True))
    if table.type.kind is Kind.BOOL:
        return to.truth(to.choose(there, found, other.at), valid)
    return Lowered(to.select(there, found, other.at), valid)


def _by_code(to: Lowering, column: int, kind: int, table: Table) -> tuple[int, Validity]:
    known: Validity = None
    if None in table.values:
        present = table.codes(lambda value: value is not None)
        known = lambda: _code_in(to, column, kind, present)  # noqa: E731
    if table.type.kind is Kind.BOOL:
        return _code_in(to, column, kind, table.codes(lambda value: value is True)), known
    numbers = table.numbers()
    return to.code.emit("LOOK_UP", column, kind=kind, table=numbers, size=len(numbers)), known


def _code_in(to: Lowering, column: int, kind: int, codes: Sequence[int]) -> int:
    """The mask of rows with one of these ascending codes."""
    runs = _runs(codes)
    if not runs:
        return to.code.all(False)
    if len(runs) <= FEW_RUNS:
        found = to.code.emit("TEST", column, kind=kind, x=runs[0][0], y=runs[0][1])
        for least, most in runs[1:]:
            found = to.code.emit("OR", found, to.code.emit("TEST", column, kind=kind, x=least, y=most))
        return found
    marks = np.zeros((codes[-1] // 64 + 1) * 64, np.uint8)
    marks[list(codes)] = 1
    bitmap = np.packbits(marks, bitorder="little")
    return to.code.emit("TEST_CODES", column, kind=kind, table=bitmap, size=codes[-1] + 1)


def _runs(codes: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending codes as (least, most) of those that follow on each other."""
    found: list[tuple[int, int]] = []
    for code in codes:
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found
