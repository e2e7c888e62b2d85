"""Checks comparisons and `in`: which types may meet, and what a comparison with a constant tests."""

from __future__ import annotations

import operator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from actorstream.events.fields import Kind
from actorstream.events.values import microseconds
from actorstream.operators.expressions.nodes import Apply, Constant, Node, negated
from actorstream.operators.expressions.ranges import range_of
from actorstream.operators.expressions.tree import Comparison, Membership, Syntax
from actorstream.operators.expressions.types import BOOL, DATETIME
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.operators.expressions.check import Checker

SWAPPED = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT = {"==": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
"""Python compares integers with floats as numbers, whatever their size."""
FEW = 8
"""Constants up to which `in` is one comparison each."""


def comparison(checker: Checker, syntax: Comparison) -> Node:
    """a < b < c as a < b and b < c."""
    nodes = [checker.check(operand) for operand in syntax.operands]
    pairs = [
        compare(checker, syntax, relation, left, right)
        for relation, left, right in zip(syntax.operators, nodes, nodes[1:])
    ]
    return pairs[0] if len(pairs) == 1 else checker.apply(BOOL, syntax, "and", *pairs)


def compare(checker: Checker, at: Syntax | Node, relation: str, left: Node, right: Node) -> Node:
    """One comparison of two values of types that can be compared."""
    for side in (left, right):
        if side.type.kind is None:
            test = "is null" if relation == "==" else "is not null"
            raise checker.wrong(
                side, f"comparison {relation} with null is never true", hint=f"write 'x {test}'"
            )
    left, right = _as_time(checker, left, right), _as_time(checker, right, left)
    if relation == "!=":
        return negated(compare(checker, at, "==", left, right))
    if isinstance(left, Constant) and not isinstance(right, Constant):
        relation, left, right = SWAPPED[relation], right, left
    a, b = left.type, right.type
    if relation == "==" and isinstance(right, Constant):
        _check_category(checker, left, right)
    if a.is_number and b.is_number:
        return _numbers(checker, at, relation, left, right)
    if a.is_text and b.is_text:
        if relation == "==" and a.kind is Kind.DICTIONARY and a.optional(False) == b.optional(False):
            return checker.apply(BOOL, at, "same_codes", left, right)
        return _ordered(checker, at, relation, checker.plain(left), checker.plain(right))
    if a.kind is b.kind and a.kind is Kind.BYTES:
        return _ordered(checker, at, relation, left, right)
    if a.kind is b.kind and a.kind is Kind.DATETIME:
        return _numbers(checker, at, relation, left, right)
    if a.kind is b.kind and a.kind is Kind.BOOL:
        if relation != "==":
            raise checker.wrong(at, f"{relation!r} of bools", "== and !=", "int(...) makes 1 or 0 of one")
        return checker.apply(BOOL, at, "same_bools", left, right)
    what = f"{checker.described(left)}, is compared with {checker.described(right)}"
    raise checker.wrong(
        at, what, "numbers with numbers, text with text, times with times", _conversion(left, right)
    )


def _conversion(left: Node, right: Node) -> str:
    kinds = {left.type.kind, right.type.kind}
    if Kind.DATETIME in kinds:
        return "a time is written as text: '2024-05-17T12:00:00Z'"
    if Kind.MSGPACK in kinds:
        return "such a field can only be tested for null"
    if left.type.is_text or right.type.is_text:
        return "int(...), float(...) or str(...) converts"
    return ""


def _check_category(checker: Checker, node: Node, constant: Constant) -> None:
    """A comparison with a category that is none is a mistake."""
    if node.type.kind is not Kind.DICTIONARY or type(constant.value) is not type(node.type.labels[0]):
        return
    if constant.value not in node.type.labels:
        labels = [str(label) for label in node.type.labels]
        what = f"{constant.value!r} is not one of the categories of {checker.text[node.start : node.end]}"
        raise checker.wrong(constant, what, listed(labels), did_you_mean(str(constant.value), labels))


def _numbers(checker: Checker, at: Syntax | Node, relation: str, left: Node, right: Node) -> Node:
    left, right = checker.plain(left), checker.plain(right)
    if isinstance(left, Constant) and isinstance(right, Constant):
        return Constant(BOOL, at.start, at.end, _EXACT[relation](left.value, right.value))
    if isinstance(right, Constant):
        assert left.type.kind is not None
        return checker.apply(BOOL, at, "test", left, extra=range_of(left.type.kind, relation, right.value))
    if left.type.kind is Kind.DATETIME:
        return _ordered(checker, at, relation, left, right)
    if left.type.kind is right.type.kind is Kind.UINT64 and relation == "==":
        return _ordered(checker, at, relation, left, right)
    if left.type.is_float or right.type.is_float:
        return _ordered(checker, at, relation, checker.real(left), checker.real(right))
    return _ordered(checker, at, relation, checker.integer(left), checker.integer(right))


def _ordered(checker: Checker, at: Syntax | Node, relation: str, left: Node, right: Node) -> Node:
    """With == < <= only; a constant stays on the right."""
    if relation in (">", ">="):
        if isinstance(right, Constant):  # of text and bytes, where nothing is unordered
            opposite = checker.apply(BOOL, at, "<=" if relation == ">" else "<", left, right)
            return (
                Apply(opposite.type, at.start, at.end, "not", (opposite,))
                if not isinstance(opposite, Constant)
                else checker.apply(BOOL, at, "not", opposite)
            )
        relation, left, right = SWAPPED[relation], right, left
    return checker.apply(BOOL, at, relation, left, right)


def membership(checker: Checker, syntax: Membership) -> Node:
    """`x in (1, 2)`, `'part' in text`."""
    item = checker.check(syntax.item)
    among = [checker.check(each) for each in syntax.among]
    found = (
        _among(checker, syntax, item, among) if syntax.listed else _inside(checker, syntax, item, among[0])
    )
    if not syntax.negated:
        return found
    return checker.apply(BOOL, syntax, "not", found)


def _inside(checker: Checker, syntax: Membership, item: Node, container: Node) -> Node:
    if not container.type.is_text:
        raise checker.wrong(
            container, f"'in' {checker.described(container)}", "a list in parentheses, or text",
            "write x in (1, 2, 3)",
        )  # fmt: skip
    return checker.apply(BOOL, syntax, "contains", checker.plain(container), checker.words(item, "in"))


def _among(checker: Checker, syntax: Membership, item: Node, among: list[Node]) -> Node:
    if not among:
        raise checker.wrong(syntax, "'in' an empty list", "at least one value")
    constants = [each for each in among if isinstance(each, Constant)]
    if len(among) > FEW and len(constants) == len(among) and not isinstance(item, Constant):
        if item.type.is_integer and all(each.type.is_number for each in among):
            for each in constants:
                _check_category(checker, item, each)
            item = checker.plain(item)
            assert item.type.kind is not None
            ranges = [range_of(item.type.kind, "==", each.value) for each in constants]
            values = tuple(sorted({int(each[0]) for each in ranges if each is not None}))
            return checker.apply(BOOL, syntax, "in", item, extra=values)
        if item.type.is_text and all(each.type.is_text for each in among):
            for each in constants:
                _check_category(checker, item, each)
            values = tuple(sorted({each.value for each in constants}))
            return checker.apply(BOOL, syntax, "text_in", checker.plain(item), extra=values)
    tests = [compare(checker, each, "==", item, each) for each in among]
    return tests[0] if len(tests) == 1 else checker.apply(BOOL, syntax, "any", *tests)


def _as_time(checker: Checker, node: Node, other: Node) -> Node:
    """Constant text beside a datetime as the time it says."""
    if other.type.kind is not Kind.DATETIME or not (isinstance(node, Constant) and node.type.is_text):
        return node
    return time_constant(checker, node)


def time_constant(checker: Checker, node: Constant) -> Constant:
    """The datetime that constant text says in ISO 8601; UTC where it names no zone."""
    try:
        found = datetime.fromisoformat(node.value)
    except ValueError:
        raise checker.wrong(
            node, f"{node.value!r} is no time", "ISO 8601, such as '2024-05-17' or '2024-05-17T12:00:00Z'"
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    try:
        return Constant(DATETIME, node.start, node.end, microseconds(found))
    except ValueError as error:
        raise checker.wrong(node, str(error)) from None
