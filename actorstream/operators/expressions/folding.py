"""Computes before a run what does not depend on its rows: constants, and what hangs on one field of categories only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.operators.expressions.errors import ExpressionError, RowErrors
from actorstream.operators.expressions.nodes import Apply, Constant, FieldValue, Node, walk
from actorstream.operators.expressions.tables import Table

MOST_CATEGORIES = 4096


class CategoryRows:
    """What a plan needs of a batch: some rows, and columns by name."""

    def __init__(self, rows: int, columns: dict[str, Column]) -> None:
        self.rows, self._columns = rows, columns

    def column(self, name: str) -> Column:
        return self._columns[name]


def constant_of(node: Node, text: str) -> Constant:
    """The one value of a node whose operands are constants; ExpressionError if it has none."""
    try:
        (value,) = _values(node, text, CategoryRows(1, {}))
    except RowErrors as error:
        raise ExpressionError(text, node.start, node.end, str(error)) from None
    return Constant(node.type.optional(value is None), node.start, node.end, value)


def fold_categories(node: Node, text: str) -> Node:
    """The node with each part that hangs on one field of categories replaced by a look-up."""
    if not isinstance(node, Apply):
        return node
    named = {each.name: each for each in walk(node) if isinstance(each, FieldValue)}
    if len(named) == 1:
        (coded,) = named.values()
        if coded.type.kind is Kind.DICTIONARY and len(coded.type.categories) <= MOST_CATEGORIES:
            table = _table(node, text, coded)
            if table is not None:
                return Apply(node.type, node.start, node.end, "lookup", (coded,), table)
    return replace(node, arguments=tuple(fold_categories(each, text) for each in node.arguments))


def _table(node: Node, text: str, coded: FieldValue) -> Table | None:
    """The node's value for each category and for null; None if one of them is an error."""
    field = coded.type.field(coded.name)
    count = len(field.categories)
    try:
        values = _values(node, text, CategoryRows(count, {coded.name: _every(field)}))
        at_null = (
            _values(node, text, CategoryRows(1, {coded.name: _null(field)}))[0] if field.nullable else None
        )
    except RowErrors:
        return None
    return Table.of(node.type, values, at_null)


def _every(field: Field) -> Column:
    assert field.dtype is not None
    return Column(
        field, len(field.categories), None, np.arange(len(field.categories), dtype=field.dtype), None
    )


def _null(field: Field) -> Column:
    assert field.dtype is not None
    return Column(field, 1, np.zeros(1, np.uint8), np.zeros(1, field.dtype), None)


def _values(node: Node, text: str, rows: CategoryRows) -> list[Any]:
    """The values of a node as columns hold them: a time as microseconds."""
    from actorstream.operators.expressions.plan import Plan

    plan = Plan()
    plan.add_column(node, node.type.field("value"), text)
    (column,) = plan.run(rows)
    if column.field.kind is Kind.DATETIME:
        numbers = column.data[column.first : column.first + column.length].tolist()
        return [value if there else None for value, there in zip(numbers, column.valid().tolist())]
    values: list[Any] = column.tolist()
    return values
