"""Expressions over the rows of a batch: compiled once against a schema, then evaluated on whole columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.operators.chain import LinkedColumn, LinkedRows, Linking
from actorstream.operators.expressions.check import Checker
from actorstream.operators.expressions.errors import ExpressionError
from actorstream.operators.expressions.folding import fold_categories
from actorstream.operators.expressions.nodes import Apply, FieldValue, Node, fields_of, is_true
from actorstream.operators.expressions.parser import parse
from actorstream.operators.expressions.plan import Plan
from actorstream.operators.expressions.types import BOOL

if TYPE_CHECKING:
    from actorstream.operators.expressions.plan import RowColumns
    from actorstream.operators.prepared import Prepared


def checked(text: str, schema: Schema) -> Node:
    """The node of an expression; ExpressionError if it does not parse or does not fit the schema."""
    return Checker(text, schema).check(parse(text))


class Expression:
    """One value a row. For one thread at a time.

    Attributes:
        text: as written.
        schema: that of the batches it takes.
        type: what its values are.
        fields: the fields it reads.
    """

    __slots__ = ("_column", "_field", "_mask", "_node", "_rows", "fields", "schema", "text", "type")

    def __init__(self, text: str, schema: Schema, node: Node | None = None) -> None:
        node = checked(text, schema) if node is None else node
        if node.type.kind is None:
            raise ExpressionError(text, 0, len(text), "the value is always null", "a value that has a type")
        self.text, self.schema, self.type, self.fields = text, schema, node.type, fields_of(node)
        self._node = fold_categories(node, text)
        self._field = node.type.field("value")
        self._column: Plan | None = None
        self._mask: Plan | None = None
        self._rows: Plan | None = None

    @property
    def node(self) -> Node:
        """The checked expression."""
        return self._node

    @property
    def is_field(self) -> bool:
        """Whether it is one field as it is."""
        return isinstance(self._node, FieldValue)

    def field(self, name: str) -> Field:
        """A field that its values fit."""
        return self.type.field(name)

    def evaluate(self, batch: RowColumns) -> Column:
        """Its values, a column of `field("value")`. RowErrors names the rows that have none."""
        if self._column is None:
            self._column = Plan()
            self._column.add_column(self._node, self._field, self.text)
        found: Column = self._column.run(batch)[0]
        return found

    def mask(self, batch: RowColumns) -> np.ndarray:
        """Of a bool: an array of bools, True where it is true, False where it is false or null."""
        if self._mask is None:
            self._mask = Plan()
            self._mask.add_mask(self._bool(), self.text)
        found: np.ndarray = self._mask.run(batch)[0]
        return found

    def rows(self, batch: RowColumns) -> np.ndarray:
        """Of a bool: the numbers of the rows where it is true, uint32, ascending: what `batch.selection` takes."""
        if self._rows is None:
            self._rows = Plan()
            self._rows.add_rows(self._bool(), self.text)
        found: np.ndarray = self._rows.run(batch)[0]
        return found

    def prepare_rows(self, batch: RowColumns, finish: Callable[[np.ndarray], Any]) -> Prepared | None:
        """`rows` as a job of a pool, and `finish` on the numbers; None: it is no kernel alone."""
        if self._rows is None:
            self._rows = Plan()
            self._rows.add_rows(self._bool(), self.text)
        return self._rows.prepare(batch, lambda found: finish(found[0]))

    def link_rows(self, chain: Linking, rows: LinkedRows) -> LinkedRows:
        """`rows` as a step of a chain; UnlinkedError: it is none."""
        if self._rows is None:
            self._rows = Plan()
            self._rows.add_rows(self._bool(), self.text)
        (made,) = self._rows.link(chain, rows)
        assert isinstance(made, int)
        return LinkedRows(made, rows.schema, rows.columns)

    def _bool(self) -> Node:
        if self.type.kind is not Kind.BOOL:
            raise ExpressionError(
                self.text, 0, len(self.text), f"is {self.type}", "a bool, such as price > 10"
            )
        return self._node

    def __repr__(self) -> str:
        return f"Expression({self.text!r}: {self.type})"


def compile_expression(text: str, schema: Schema) -> Expression:
    """An expression over rows of `schema` (docs/expressions.md). ExpressionError says what is wrong with it, where,
    what is allowed and which name is near."""
    return Expression(text, schema)


def compile_condition(text: str, schema: Schema) -> Expression:
    """An expression that is a bool; ExpressionError if it is none."""
    made = Expression(text, schema)
    made._bool()
    return made


class Cases:
    """Conditions in order; a row belongs to the first that is true, and to the rest if none is."""

    def __init__(self, conditions: Mapping[str, Expression]) -> None:
        self.names = tuple(conditions)
        self._plan = Plan()
        self._parts: list[tuple[Node, str]] = []
        """The condition of each case, and of the rest, with its text."""
        before: list[Node] = []
        for expression in conditions.values():
            node = expression._bool()
            found = is_true(node)
            both = Apply(BOOL, node.start, node.end, "and", (*before, found)) if before else found
            self._add(both, expression.text)
            before.append(Apply(BOOL, node.start, node.end, "not", (found,)))
        rest = before[0] if len(before) == 1 else Apply(BOOL, 0, 0, "and", tuple(before))
        self._add(rest, "")

    def _add(self, node: Node, text: str) -> None:
        self._plan.add_rows(node, text)
        self._parts.append((node, text))

    def link_rows(self, chain: Linking, rows: LinkedRows, count: int) -> list[LinkedRows]:
        """The first `count` of `rows` as steps of a chain, one for each; UnlinkedError: they are none."""
        made: list[LinkedRows] = []
        for node, text in self._parts[:count]:
            plan = Plan()
            plan.add_rows(node, text)
            (number,) = plan.link(chain, rows)
            made.append(LinkedRows(number, rows.schema, rows.columns))  # type: ignore[arg-type]
        return made

    def rows(self, batch: RowColumns) -> list[np.ndarray]:
        """The row numbers of each case, then of the rest: uint32, ascending. A condition is asked for those rows only
        that no earlier case has taken. RowErrors as for an expression."""
        return self._plan.run(batch)

    def prepare(self, batch: RowColumns, finish: Callable[[list[np.ndarray]], Any]) -> Prepared | None:
        """`rows` as a job of a pool, and `finish` on the numbers; None: it is no kernel alone."""
        return self._plan.prepare(batch, finish)


class Projection:
    """Several expressions computed in one pass, as columns of given fields.

    fields: the columns that come out, each with its expression."""

    def __init__(self, columns: Mapping[str, Expression]) -> None:
        self.fields = tuple(expression.field(name) for name, expression in columns.items())
        self._plan = Plan()
        for field, expression in zip(self.fields, columns.values()):
            self._plan.add_column(expression.node, field, expression.text)

    def prepare(self, batch: RowColumns, finish: Callable[[list[Column]], Any]) -> Prepared | None:
        """`evaluate` as a job of a pool, and `finish` on the columns; None: it is no kernel alone."""
        return self._plan.prepare(batch, finish)

    def link(self, chain: Linking, rows: LinkedRows) -> list[LinkedColumn]:
        """`evaluate` as a step of a chain: where each column is held. UnlinkedError: it is none."""
        return self._plan.link(chain, rows)  # type: ignore[return-value]

    def evaluate(self, batch: RowColumns) -> list[Column]:
        """The columns, in order. RowErrors names the rows that one of the expressions has no value for."""
        return self._plan.run(batch)
