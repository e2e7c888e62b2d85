"""Expressions in topologies, such as "event_type == 'view' and price * 2 > 10" (docs/expressions.md): parsed by our own
grammar, checked against a schema before anything runs, computed on whole columns. Never `eval`."""

from __future__ import annotations

from actorstream.operators.expressions.aggregates import AggregateCall, compile_call
from actorstream.operators.expressions.errors import ExpressionError, RowError, RowErrors
from actorstream.operators.expressions.expression import (
    Cases,
    Expression,
    Projection,
    compile_condition,
    compile_expression,
)
from actorstream.operators.expressions.types import Type

__all__ = [
    "AggregateCall",
    "Cases",
    "Expression",
    "ExpressionError",
    "Projection",
    "RowError",
    "RowErrors",
    "Type",
    "compile_call",
    "compile_condition",
    "compile_expression",
]
