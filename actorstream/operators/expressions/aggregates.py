"""Calls of aggregates, such as "sum(price * quantity)" or "quantile(latency, 0.99)": the name, and its arguments as
expressions. What an aggregate does with them is the operator's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from actorstream.events.schema import Schema
from actorstream.operators.expressions.check import Checker
from actorstream.operators.expressions.errors import ExpressionError
from actorstream.operators.expressions.expression import Expression
from actorstream.operators.expressions.nodes import Constant
from actorstream.operators.expressions.parser import parse
from actorstream.operators.expressions.tree import Call
from actorstream.topology.suggestions import did_you_mean, listed


class AggregateCall(msgspec.Struct, frozen=True):
    """`name` of `arguments`; errors about an argument are for `text` at its place (`fail`)."""

    text: str
    name: str
    arguments: tuple[Expression, ...]
    places: tuple[tuple[int, int], ...]

    def constant(self, number: int) -> Any:
        """The value of an argument that is a constant; ExpressionError if it is none."""
        node = self.arguments[number].node
        if not isinstance(node, Constant):
            raise self.fail(number, "is no constant", "a number")
        return node.value

    def fail(self, number: int, message: str, allowed: str = "", hint: str = "") -> ExpressionError:
        """The error of an argument, to be raised."""
        return ExpressionError(self.text, *self.places[number], message, allowed, hint)


def compile_call(text: str, schema: Schema, arities: Mapping[str, tuple[int, int]]) -> AggregateCall:
    """The one aggregate that `text` calls. arities: name -> least and greatest number of arguments.

    ExpressionError for another name, another number of arguments, or an argument that does not fit the schema."""
    syntax = parse(text)
    allowed = listed(f"{name}(...)" for name in arities)
    if not isinstance(syntax, Call):
        raise ExpressionError(text, syntax.start, syntax.end, "is no aggregate", allowed)
    if syntax.name not in arities:
        hint = did_you_mean(syntax.name, arities)
        raise ExpressionError(
            text, syntax.start, syntax.name_end, f"there is no aggregate {syntax.name!r}", allowed, hint
        )
    least, most = arities[syntax.name]
    count = len(syntax.arguments)
    if not least <= count <= most:
        wanted = str(least) if least == most else f"{least} to {most}"
        raise ExpressionError(text, syntax.start, syntax.end, f"{syntax.name} has {count} arguments", wanted)
    nodes = [Checker(text, schema).check(each) for each in syntax.arguments]
    arguments = tuple(Expression(text, schema, node) for node in nodes)
    return AggregateCall(text, syntax.name, arguments, tuple((each.start, each.end) for each in nodes))
