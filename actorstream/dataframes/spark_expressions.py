"""Expressions of actors as expressions of Spark SQL that mean the same. Pure."""

from __future__ import annotations

from actorstream.events.fields import FLOATS, INTEGERS, Kind
from actorstream.events.schema import Schema
from actorstream.operators.expressions import tree
from actorstream.operators.expressions.check import Checker
from actorstream.operators.expressions.parser import parse

_OPERATORS = {"==": "=", "!=": "<>"}
_SAME = {"coalesce", "if", "abs", "contains", "startswith", "endswith", "lower", "upper"}
"""Functions that Spark has under the same name."""
_NUMBERS = INTEGERS | FLOATS


class UntranslatableError(Exception):
    """Spark SQL has nothing that means the same. The message names the part."""


def quoted(name: str) -> str:
    """A name as Spark takes it whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


class SparkExpression:
    """An expression over the rows of a schema.

    Raises UntranslatableError for a part that has no counterpart."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._text, self._schema, self._checker = text, schema, Checker(text, schema)

    def sql(self) -> str:
        return self.of(parse(self._text))

    def is_float(self) -> bool:
        return self._kind(parse(self._text)) in FLOATS

    def call(self) -> tuple[str, list[str]]:
        """Of a call of an aggregate: its name and its arguments."""
        found = parse(self._text)
        if not isinstance(found, tree.Call):
            raise self._refused(found)
        return found.name, [self.of(each) for each in found.arguments]

    def of(self, part: tree.Syntax) -> str:
        match part:
            case tree.Literal(value=value):
                return self._literal(part, value)
            case tree.Name(name=name):
                kind = self._schema.field(name).kind
                return f"CAST({quoted(name)} AS BIGINT)" if kind in INTEGERS else quoted(name)
            case tree.Negative(operand=operand):
                return f"(-{self.of(operand)})"
            case tree.Arithmetic():
                return self._arithmetic(part)
            case tree.Logic(operator=operator, parts=parts):
                return "(" + f" {operator.upper()} ".join(map(self.of, parts)) + ")"
            case tree.Not(operand=operand):
                return f"(NOT {self.of(operand)})"
            case tree.Comparison(operators=operators, operands=operands):
                sides = [self.of(each) for each in operands]
                pairs = zip(sides, operators, sides[1:])
                return "(" + " AND ".join(f"{a} {_OPERATORS.get(by, by)} {b}" for a, by, b in pairs) + ")"
            case tree.Membership(item=item, among=among, listed=listed, negated=negated):
                one, several = self.of(item), [self.of(each) for each in among]
                found = f"{one} IN ({', '.join(several)})" if listed else f"contains({several[0]}, {one})"
                return f"(NOT {found})" if negated else f"({found})"
            case tree.NullTest(operand=operand, negated=negated):
                return f"({self.of(operand)} IS {'NOT ' if negated else ''}NULL)"
            case tree.Call():
                return self._call(part)
        raise self._refused(part)

    def _kind(self, part: tree.Syntax) -> Kind | None:
        return self._checker.check(part).type.kind

    def _literal(self, part: tree.Syntax, value: object) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, bool):
            return str(value).upper()
        if isinstance(value, int) and -(2**63) < value < 2**63:
            return f"{value}L"
        if isinstance(value, float):
            return f"CAST('{value!r}' AS DOUBLE)"
        if isinstance(value, str):
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        raise self._refused(part)

    def _arithmetic(self, part: tree.Arithmetic) -> str:
        left, right = self.of(part.left), self.of(part.right)
        kinds = {self._kind(part.left), self._kind(part.right)}
        if part.operator == "+" and not kinds & _NUMBERS:
            return f"concat({left}, {right})"
        if part.operator in ("+", "-", "*"):
            return f"({left} {part.operator} {right})"
        if part.operator == "/":
            a, b = f"CAST({left} AS DOUBLE)", f"CAST({right} AS DOUBLE)"
            return (
                f"(CASE WHEN {b} <> 0 THEN {a} / {b} WHEN {b} = 0 THEN {a} * CAST('Infinity' AS DOUBLE) END)"
            )
        if not kinds <= INTEGERS:
            raise self._refused(part)
        rest = f"mod(mod({left}, {right}) + {right}, {right})"
        return rest if part.operator == "%" else f"(({left} - {rest}) DIV {right})"

    def _call(self, part: tree.Call) -> str:
        arguments = [self.of(each) for each in part.arguments]
        kinds = [self._kind(each) for each in part.arguments]
        joined = ", ".join(arguments)
        if part.name in _SAME:
            return f"{part.name}({joined})"
        if part.name in ("min", "max") and set(kinds) <= INTEGERS:
            nulls = " OR ".join(f"{each} IS NULL" for each in arguments)
            return f"if({nulls}, NULL, {'least' if part.name == 'min' else 'greatest'}({joined}))"
        if part.name == "length" and kinds != [Kind.BYTES]:
            return f"CAST(length({joined}) AS BIGINT)"
        if part.name == "float" and set(kinds) <= _NUMBERS:
            return f"CAST({joined} AS DOUBLE)"
        if part.name in ("year", "month", "day", "hour", "minute", "weekday") and kinds == [Kind.DATETIME]:
            return f"CAST({part.name}({joined}) AS BIGINT)"
        raise self._refused(part)

    def _refused(self, part: tree.Syntax) -> UntranslatableError:
        return UntranslatableError(f"{self._text[part.start : part.end]!r} in {self._text!r}")
