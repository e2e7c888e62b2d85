"""Outputs: what `aggregates = {total = "sum(price)"}` asks for, checked against the rows that come in. Pure."""

from __future__ import annotations

import msgspec

from actorstream.events.fields import Field, Kind
from actorstream.events.schema import Schema
from actorstream.native import kernels
from actorstream.operators.expressions import AggregateCall, Expression, Type, compile_call
from actorstream.operators.folds import ARITIES
from actorstream.operators.native_aggregate import NativeOutput

_ORDERED = (Kind.DATETIME, Kind.BOOL)
_HOWS = {
    Kind.STRING: kernels.BYTES,
    Kind.BYTES: kernels.BYTES,
    Kind.MSGPACK: kernels.BYTES,
    Kind.FLOAT32: kernels.FLOAT,
    Kind.FLOAT64: kernels.FLOAT,
    Kind.UINT8: kernels.UNSIGNED,
    Kind.UINT16: kernels.UNSIGNED,
    Kind.UINT32: kernels.UNSIGNED,
    Kind.UINT64: kernels.UNSIGNED,
    Kind.BOOL: kernels.UNSIGNED,
}


def how_of(field: Field | Type) -> int:
    """How native code reads the values of a field or expression (kernels.SIGNED, UNSIGNED, FLOAT, BYTES)."""
    assert field.kind is not None
    return _HOWS.get(field.kind, kernels.SIGNED)


class AggregateOutput(msgspec.Struct, frozen=True):
    """One aggregate that comes out.

    Attributes:
        call: which aggregate, of what. field: of its value; nullable where all values of a group may be null.
        at: the place of a quantile.
    """

    call: AggregateCall
    field: Field
    at: float = 0.0

    @property
    def name(self) -> str:
        return self.call.name

    @property
    def value(self) -> Expression | None:
        """What is aggregated; None: the rows."""
        return self.call.arguments[0] if self.call.arguments else None


AnyOutput = AggregateOutput | NativeOutput


def output_of(name: str, text: str, schema: Schema) -> AggregateOutput:
    """The aggregate `text` as the field `name`. ExpressionError if it does not fit the rows."""
    call = compile_call(text, schema, ARITIES)
    given = call.arguments[0].type if call.arguments else Type(Kind.INT64)
    null = given.nullable
    match call.name:
        case "count" | "count_distinct":
            return AggregateOutput(call, Field(name, Kind.INT64))
        case "sum" | "mean" | "quantile" if not given.is_number or given.kind is Kind.DICTIONARY:
            raise call.fail(0, f"{call.name} of {given}", "a number", "int(...) and float(...) convert")
        case "sum" if not given.is_float:
            return AggregateOutput(call, Field(name, Kind.INT64, null))
        case "sum" | "mean":
            return AggregateOutput(call, Field(name, Kind.FLOAT64, null))
        case "min" | "max":
            number = given.is_number and given.kind is not Kind.DICTIONARY
            if not number and given.kind not in _ORDERED:
                raise call.fail(0, f"{call.name} of {given}", "a number, a time or a bool")
            return AggregateOutput(call, given.field(name))
        case "first" | "last":
            return AggregateOutput(call, given.field(name))
    at = call.constant(1)
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at <= 1:
        raise call.fail(1, f"quantile at {at!r}", "0 to 1")
    return AggregateOutput(call, Field(name, Kind.FLOAT64, null), float(at))
