"""The functions that expressions may call: one row each, and what it makes of its checked arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.events.fields import INTEGERS, Kind
from actorstream.events.schema import TIME_UNITS
from actorstream.events.values import FIRST_TIME, LAST_TIME
from actorstream.operators.expressions.comparing import time_constant
from actorstream.operators.expressions.errors import ExpressionError
from actorstream.operators.expressions.nodes import Constant, Node, negated
from actorstream.operators.expressions.ranges import bounds
from actorstream.operators.expressions.tree import Call
from actorstream.operators.expressions.types import BOOL, DATETIME, FLOAT, INT, TEXT, Type
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.operators.expressions.check import Checker

Build = Callable[["Checker", Call, list[Node]], Node]
AGGREGATES = ("count", "sum", "mean", "avg", "first", "last", "count_distinct", "quantile")


class Function(msgspec.Struct, frozen=True):
    """`usage`: how it is called, for messages; it takes `least` to `most` arguments (-1: any number)."""

    usage: str
    least: int
    most: int
    build: Build


def call(checker: Checker, syntax: Call) -> Node:
    """The node of a call; an unknown function or a wrong number of arguments is an ExpressionError."""
    function = FUNCTIONS.get(syntax.name)
    if function is None:
        raise _unknown(checker, syntax)
    count = len(syntax.arguments)
    if count < function.least or count > function.most >= 0:
        raise checker.wrong(syntax, f"{syntax.name} has {count} arguments", function.usage)
    return function.build(checker, syntax, [checker.check(each) for each in syntax.arguments])


def _unknown(checker: Checker, syntax: Call) -> ExpressionError:
    name = Call(syntax.start, syntax.name_end, syntax.name, syntax.name_end, ())
    if syntax.name in AGGREGATES:
        hint = "aggregates over rows are for the operators 'aggregate' and 'reduce'"
    else:
        hint = did_you_mean(syntax.name, FUNCTIONS)
    return checker.wrong(name, f"there is no function {syntax.name!r}", listed(sorted(FUNCTIONS), 60), hint)


# -- numbers


def _kept(operation: str) -> Build:
    """A function of one number that keeps its type."""

    def build(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
        value = checker.number(arguments[0], syntax.name)
        if value.type.is_float:
            return checker.apply(FLOAT, syntax, operation, value)
        return checker.apply(INT, syntax, operation, checker.integer(value))

    return build


def _rounded(operation: str) -> Build:
    """A function of one number that leaves integers as they are."""

    def build(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
        value = checker.number(arguments[0], syntax.name)
        digits: Any = 0
        if len(arguments) > 1:
            digits = arguments[1].value if isinstance(arguments[1], Constant) else None
            if type(digits) is not int or not 0 <= digits <= 15:
                raise checker.wrong(arguments[1], "the digits of round", "a constant from 0 to 15")
        if not value.type.is_float:
            return checker.integer(value)
        extra = 10.0**digits if operation == "round" else None
        return checker.apply(FLOAT, syntax, operation, value, extra=extra)

    return build


def _extreme(operation: str) -> Build:
    def build(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
        if all(each.type.kind is Kind.DATETIME for each in arguments):
            kind, values = DATETIME, arguments
        else:
            values = [checker.number(each, syntax.name) for each in arguments]
            kind = FLOAT if any(each.type.is_float for each in values) else INT
            values = [checker.real(each) if kind is FLOAT else checker.integer(each) for each in values]
        found = values[0]
        for each in values[1:]:
            found = checker.apply(kind, syntax, operation, found, each)
        return found

    return build


def _is_nan(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = checker.real(checker.number(arguments[0], syntax.name))
    return negated(checker.apply(BOOL, syntax, "==", value, value))


# -- text


def _about_text(operation: str) -> Build:
    def build(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
        if all(each.type.kind is Kind.BYTES for each in arguments):
            return checker.apply(BOOL, syntax, operation, *arguments)
        return checker.apply(
            BOOL, syntax, operation, *(checker.words(each, syntax.name) for each in arguments)
        )

    return build


def _cased(operation: str) -> Build:
    return lambda checker, syntax, arguments: checker.apply(
        TEXT, syntax, operation, checker.words(arguments[0], syntax.name)
    )


def _length(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    if arguments[0].type.kind is Kind.BYTES:
        return checker.apply(INT, syntax, "bytes_length", arguments[0])
    return checker.apply(INT, syntax, "text_length", checker.words(arguments[0], syntax.name))


# -- conversions


def _to_int(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = checker.plain(arguments[0])
    if value.type.is_integer:
        return checker.integer(value)
    if value.type.is_float:
        return checker.apply(INT, syntax, "float_to_int", value)
    if value.type.kind is Kind.BOOL:
        return checker.apply(INT, syntax, "bool_to_int", value)
    if value.type.is_text:
        return checker.apply(INT, syntax, "text_to_int", value)
    return checker.number(value, syntax.name)


def _to_float(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = checker.plain(arguments[0])
    if value.type.is_text:
        return checker.apply(FLOAT, syntax, "text_to_float", value)
    if value.type.kind is Kind.BOOL:
        value = checker.apply(INT, syntax, "bool_to_int", value)
    return checker.real(checker.number(value, syntax.name))


def _to_single(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = _to_float(checker, syntax, arguments)
    if value.type.kind is Kind.FLOAT32:
        return value
    return checker.apply(Type(Kind.FLOAT32), syntax, "single", value)


def _to_width(kind: Kind) -> Build:
    def build(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
        if arguments[0].type.kind is kind:
            return arguments[0]
        value = _to_int(checker, syntax, arguments)
        least, most = bounds(kind)
        return checker.apply(Type(kind), syntax, "fits", value, extra=(least, min(most, 2**63 - 1), kind))

    return build


def _to_text(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = checker.plain(arguments[0])
    if value.type.kind in (None, Kind.BYTES, Kind.MSGPACK):
        raise checker.wrong(value, f"str of {checker.described(value)}", "numbers, bools, times, text")
    if value.type.is_text:
        return value
    return checker.apply(TEXT, syntax, "to_text", value)


def _to_bool(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = checker.plain(arguments[0])
    if value.type.kind is Kind.BOOL:
        return value
    if value.type.is_text:
        return checker.apply(BOOL, syntax, "text_to_bool", value)
    value = checker.number(value, syntax.name)
    extra = (0.0, 0.0) if value.type.is_float else (0, 0)
    return negated(checker.apply(BOOL, syntax, "test", value, extra=extra))


# -- times


def _to_time(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = arguments[0]
    if value.type.kind is Kind.DATETIME:
        return value
    if value.type.is_text and isinstance(value, Constant):
        return time_constant(checker, value)
    if not value.type.is_integer:
        raise checker.wrong(
            value, f"datetime of {checker.described(value)}",
            f"an integer ({checker.schema.time_unit} since 1970), or constant text in ISO 8601",
            "a source reads times from text, if its schema says datetime",
        )  # fmt: skip
    value = checker.integer(value)
    nanoseconds = TIME_UNITS[checker.schema.time_unit]
    if nanoseconds >= 1000:
        value = checker.apply(INT, syntax, "scale", value, extra=nanoseconds // 1000)
    else:
        divisor = Constant(INT, syntax.start, syntax.end, 1000)
        value = checker.apply(INT, syntax, "floor_divide", value, divisor)
    return checker.apply(DATETIME, syntax, "fits", value, extra=(FIRST_TIME, LAST_TIME, Kind.DATETIME))


def _epoch(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value = arguments[0]
    if value.type.is_integer:
        return checker.integer(value)
    _check_time(checker, syntax, value)
    nanoseconds = TIME_UNITS[checker.schema.time_unit]
    if nanoseconds < 1000:
        return checker.apply(INT, syntax, "scale", value, extra=1000 // nanoseconds)
    divisor = Constant(INT, syntax.start, syntax.end, nanoseconds // 1000)
    return checker.apply(INT, syntax, "floor_divide", value, divisor)


def _part(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    value, per_second = arguments[0], 1_000_000
    if value.type.is_integer:
        value, per_second = checker.integer(value), 1_000_000_000 // TIME_UNITS[checker.schema.time_unit]
    else:
        _check_time(checker, syntax, value)
    return checker.apply(INT, syntax, "date_part", value, extra=(syntax.name.upper(), per_second))


def _check_time(checker: Checker, syntax: Call, value: Node) -> None:
    if value.type.kind is not Kind.DATETIME:
        unit = checker.schema.time_unit
        allowed = f"a datetime, or an integer ({unit} since 1970)"
        raise checker.wrong(value, f"{syntax.name} of {checker.described(value)}", allowed)


# -- nulls and branches


def _coalesce(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    values, kind = checker.unified(arguments, "coalesce")
    nullable = all(each.type.nullable for each in values)
    return checker.apply(kind.optional(nullable), syntax, "coalesce", *values, strict=False)


def _if(checker: Checker, syntax: Call, arguments: list[Node]) -> Node:
    condition = checker.boolean(arguments[0], "if")
    values, kind = checker.unified(arguments[1:], "if")
    nullable = any(each.type.nullable for each in values)
    return checker.apply(kind.optional(nullable), syntax, "if", condition, *values, strict=False)


FUNCTIONS: dict[str, Function] = {
    "abs": Function("abs(number)", 1, 1, _kept("abs")),
    "min": Function("min(number, number, ...)", 2, -1, _extreme("min")),
    "max": Function("max(number, number, ...)", 2, -1, _extreme("max")),
    "round": Function("round(number) or round(number, digits)", 1, 2, _rounded("round")),
    "floor": Function("floor(number)", 1, 1, _rounded("floor")),
    "ceil": Function("ceil(number)", 1, 1, _rounded("ceil")),
    "isnan": Function("isnan(number)", 1, 1, _is_nan),
    "contains": Function("contains(text, part)", 2, 2, _about_text("contains")),
    "startswith": Function("startswith(text, start)", 2, 2, _about_text("starts")),
    "endswith": Function("endswith(text, end)", 2, 2, _about_text("ends")),
    "lower": Function("lower(text)", 1, 1, _cased("lower")),
    "upper": Function("upper(text)", 1, 1, _cased("upper")),
    "length": Function("length(text)", 1, 1, _length),
    "int": Function("int(value)", 1, 1, _to_int),
    "float": Function("float(value)", 1, 1, _to_float),
    "str": Function("str(value)", 1, 1, _to_text),
    "bool": Function("bool(value)", 1, 1, _to_bool),
    "float32": Function("float32(value)", 1, 1, _to_single),
    **{
        kind.value: Function(f"{kind.value}(value)", 1, 1, _to_width(kind))
        for kind in sorted(INTEGERS, key=str)
    },
    "datetime": Function("datetime(value)", 1, 1, _to_time),
    "epoch": Function("epoch(time)", 1, 1, _epoch),
    **{
        part: Function(f"{part}(time)", 1, 1, _part)
        for part in ("year", "month", "day", "hour", "minute", "second", "weekday")
    },
    "coalesce": Function("coalesce(value, value, ...)", 1, -1, _coalesce),
    "if": Function("if(condition, then, else)", 3, 3, _if),
}
