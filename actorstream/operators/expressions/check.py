"""Syntax trees to checked nodes: names against the schema, types against operators. All there is to be said against an
expression before it runs is said here. Computes nothing but parts that are constant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorstream.events.annotation import annotation_text
from actorstream.events.fields import Kind
from actorstream.events.schema import Schema
from actorstream.operators.expressions import comparing, functions
from actorstream.operators.expressions.errors import ExpressionError
from actorstream.operators.expressions.nodes import Apply, Constant, FieldValue, Node, negated
from actorstream.operators.expressions.tree import (
    Arithmetic,
    Call,
    Comparison,
    Literal,
    Logic,
    Membership,
    Name,
    Negative,
    Not,
    NullTest,
    Syntax,
)
from actorstream.operators.expressions.types import BOOL, BYTES, FLOAT, INT, NULL, TEXT, Type
from actorstream.topology.suggestions import did_you_mean, listed

INT_MIN, INT_MAX, UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
HIGHEST = 150
_OPERATIONS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
}
_LITERALS = {bool: BOOL, int: INT, float: FLOAT, str: TEXT, bytes: BYTES}


class Checker:
    """Checks one expression. Every method answers a node, or raises ExpressionError for the place it is at."""

    def __init__(self, text: str, schema: Schema) -> None:
        self.text, self.schema = text, schema
        self.height = 0

    def check(self, syntax: Syntax) -> Node:
        self.height += 1
        if self.height > HIGHEST:
            raise ExpressionError(
                self.text, syntax.start, syntax.end, "nested too deeply", f"{HIGHEST} operators in each other"
            )
        node = self._check(syntax)
        self.height -= 1
        return node

    def _check(self, syntax: Syntax) -> Node:
        match syntax:
            case Literal():
                return self.literal(syntax)
            case Name():
                return self.field(syntax)
            case Negative():
                return self.negative(syntax)
            case Arithmetic():
                return self.arithmetic(syntax)
            case Logic():
                return self.logic(syntax)
            case Not():
                operand = self.boolean(self.check(syntax.operand), "not")
                return self.apply(operand.type, syntax, "not", operand)
            case Comparison():
                return comparing.comparison(self, syntax)
            case Membership():
                return comparing.membership(self, syntax)
            case NullTest():
                return self.null_test(syntax)
            case Call():
                return functions.call(self, syntax)
        raise AssertionError(syntax)

    # -- what others build with

    def wrong(self, at: Syntax | Node, message: str, allowed: str = "", hint: str = "") -> ExpressionError:
        """The error of a part of the expression, to be raised."""
        return ExpressionError(self.text, at.start, at.end, message, allowed, hint)

    def apply(
        self,
        type_: Type,
        at: Syntax | Node,
        operation: str,
        *arguments: Node,
        extra: Any = None,
        strict: bool = True,
    ) -> Node:
        """An operation on values, its value at once if they are constants. `strict`: null if one of them is."""
        if strict:
            type_ = type_.optional(any(each.type.nullable for each in arguments))
        node = Apply(type_, at.start, at.end, operation, arguments, extra)
        if arguments and all(isinstance(each, Constant) for each in arguments):
            from actorstream.operators.expressions.folding import constant_of

            return constant_of(node, self.text)
        return node

    def boolean(self, node: Node, what: str) -> Node:
        if node.type.kind is Kind.BOOL:
            return node
        hint = ""
        if node.type.is_number:
            hint = "write what it is compared with, such as x != 0"
        elif node.type.kind is None:
            hint = "test for null with 'is null'"
        raise self.wrong(node, f"{what!r} of {self.described(node)}", "a bool", hint)

    def number(self, node: Node, what: str) -> Node:
        """A node that is a number; categories that are integers become what they stand for."""
        if node.type.is_number:
            return self.plain(node)
        hint = ""
        if node.type.kind is Kind.BOOL:
            hint = "int(...) makes 1 or 0 of it"
        elif node.type.is_text:
            hint = "int(...) or float(...) reads a number from text"
        elif node.type.kind is Kind.DATETIME:
            hint = f"epoch(...) is the time since 1970 in {self.schema.time_unit}"
        elif node.type.kind is None:
            hint = "coalesce(x, 0) puts a number in place of a null"
        raise self.wrong(node, f"{what!r} of {self.described(node)}", "numbers", hint)

    def words(self, node: Node, what: str) -> Node:
        """A node that is text; categories become their labels."""
        if not node.type.is_text:
            raise self.wrong(
                node, f"{what!r} of {self.described(node)}", "text", "str(...) makes text of any value"
            )
        return self.plain(node)

    def plain(self, node: Node) -> Node:
        """Categories as the values they stand for; everything else as it is."""
        if node.type.kind is not Kind.DICTIONARY:
            return node
        return self.apply(TEXT if node.type.is_text else INT, node, "labels", node)

    def integer(self, node: Node) -> Node:
        """An integer node as int64; a row of uint64 that does not fit fails."""
        node = self.plain(node)
        if node.type.kind is Kind.UINT64:
            return self.apply(INT, node, "fits", node, extra=(0, INT_MAX, Kind.INT64))
        return node

    def real(self, node: Node) -> Node:
        """A number as float64."""
        if node.type.is_float:
            return node
        if isinstance(node, Constant):
            return Constant(FLOAT, node.start, node.end, float(node.value))
        return self.apply(FLOAT, node, "int_to_float", self.integer(node))

    def unified(self, nodes: Sequence[Node], what: str) -> tuple[list[Node], Type]:
        """Nodes of one type (for `if` and `coalesce`), and that type; nulls take it."""
        known = [node for node in nodes if node.type.kind is not None]
        if not known:
            raise self.wrong(nodes[0], f"every value of {what} is null", "at least one that has a type")
        first = known[0].type
        for node in known[1:]:
            if node.type.kind is first.kind is Kind.MSGPACK and node.type.annotation != first.annotation:
                types = [annotation_text(each.annotation) for each in (first, node.type)]
                raise self.wrong(
                    node, f"{what} has values of {types[0]} and of {types[1]}", "values of one type"
                )
        if any(node.type.optional(False) != first.optional(False) for node in known):
            if all(node.type.is_integer for node in known):
                first, known = INT, [self.integer(node) for node in known]
            elif all(node.type.is_number for node in known):
                first, known = FLOAT, [self.real(node) for node in known]
            elif all(node.type.is_text for node in known):
                first, known = TEXT, [self.plain(node) for node in known]
            else:
                other = next(node for node in known if node.type.optional(False) != first.optional(False))
                raise self.wrong(
                    other, f"{what} has values of {first} and of {other.type}", "values of one type",
                    "convert with int(...), float(...) or str(...)",
                )  # fmt: skip
        elif first.kind in (Kind.DICTIONARY,) or len(known) < len(nodes):
            known = [self.plain(node) for node in known]
            first = known[0].type
        rest = iter(known)
        nulls = Type(first.kind, True, first.categories)
        made = [
            Constant(nulls, node.start, node.end, None) if node.type.kind is None else next(rest)
            for node in nodes
        ]
        return made, first

    def described(self, node: Node) -> str:
        if node.type.kind is None:
            return "null"
        if isinstance(node, FieldValue):
            return f"field {node.name!r}, which is {node.type}"
        return f"{self.text[node.start : node.end]}, which is {node.type}"

    # -- kinds of syntax

    def literal(self, syntax: Literal) -> Node:
        value = syntax.value
        if value is None:
            return Constant(NULL, syntax.start, syntax.end, None)
        if type(value) is int and INT_MAX < value <= UINT_MAX:
            return Constant(Type(Kind.UINT64), syntax.start, syntax.end, value)
        if type(value) is int and not INT_MIN <= value <= INT_MAX:
            raise self.wrong(
                syntax,
                f"{value} does not fit int64 or uint64",
                f"{INT_MIN} to {UINT_MAX}",
                f"write {value}.0 for a float",
            )
        return Constant(_LITERALS[type(value)], syntax.start, syntax.end, value)

    def field(self, syntax: Name) -> Node:
        name = syntax.name
        if name in self.schema:
            return FieldValue(Type.of(self.schema.field(name)), syntax.start, syntax.end, name)
        hint = did_you_mean(name, self.schema.names())
        if not hint and name in functions.FUNCTIONS:
            hint = f"the function is called as {functions.FUNCTIONS[name].usage}"
        elif not hint:
            hint = f"text is written in quotes: '{name}'"
        names = listed(self.schema.names()) or "none: the rows have no fields"
        raise self.wrong(syntax, f"there is no field {name!r}", names, hint)

    def negative(self, syntax: Negative) -> Node:
        operand = self.number(self.check(syntax.operand), "-")
        if operand.type.is_float:
            return self.apply(FLOAT, syntax, "negate", operand)
        return self.apply(INT, syntax, "negate", self.integer(operand))

    def arithmetic(self, syntax: Arithmetic) -> Node:
        left, right = self.check(syntax.left), self.check(syntax.right)
        if syntax.operator == "+" and left.type.is_text and right.type.is_text:
            return self.apply(TEXT, syntax, "concat", self.plain(left), self.plain(right))
        left, right = self.number(left, syntax.operator), self.number(right, syntax.operator)
        operation = _OPERATIONS[syntax.operator]
        if operation == "divide" or left.type.is_float or right.type.is_float:
            return self.apply(FLOAT, syntax, operation, self.real(left), self.real(right))
        return self.apply(INT, syntax, operation, self.integer(left), self.integer(right))

    def logic(self, syntax: Logic) -> Node:
        parts = [self.boolean(self.check(part), syntax.operator) for part in syntax.parts]
        return self.apply(BOOL, syntax, syntax.operator, *parts)

    def null_test(self, syntax: NullTest) -> Node:
        operand = self.check(syntax.operand)
        found = self.apply(BOOL, syntax, "is_null", operand, strict=False)
        return negated(found) if syntax.negated else found
