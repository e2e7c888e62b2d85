"""Keys of a join: the pairs of fields that must be equal, whether their types can be, how native code reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from actorstream.errors import Problem
from actorstream.events.fields import FLOATS, INTEGERS, VARIABLE, Kind
from actorstream.native.kernels import BYTES, FLOAT, SIGNED, UNSIGNED
from actorstream.native.lookup import POSITIVE
from actorstream.native.pieces import ColumnTable
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.events.column import Column
    from actorstream.events.fields import Field
    from actorstream.events.schema import Schema

MOST_KEYS = 8
"""Fields of a key at the most."""

On = str | list[str] | dict[str, str]
Pairs = list[tuple[str, str]]


def key_pairs(on: Any) -> Pairs:
    """(field of the left, field of the right) of each key: `on` is a field, a list of them, or {left = right}."""
    if isinstance(on, str):
        return [(on, on)]
    if isinstance(on, Mapping):
        return [(str(left), str(right)) for left, right in on.items()]
    return [(str(name), str(name)) for name in on]


def key_problems(
    on: Any, left: Schema, right: Schema, names: tuple[str, str], *, where: str = "on", converts: bool = False
) -> list[Problem]:
    """What is wrong with the keys of a join: none, too many, fields that are missing, types that are never equal.

    names: what to call the inputs. converts: a `Literal` or Enum may be compared with text, or with other categories
    (what a table can be converted to; streams are routed by their codes)."""
    pairs = key_pairs(on)
    if not pairs or len(pairs) > MOST_KEYS:
        allowed = f"1 to {MOST_KEYS} fields that both inputs have, or {{ left = right }}"
        return [Problem(where, f"names {len(pairs)} fields", allowed)]
    problems: list[Problem] = []
    for number, (first, second) in enumerate(pairs):
        if (first, second) in pairs[:number]:
            problems.append(Problem(where, f"names {first!r} twice", "each field once"))
            continue
        missing = False
        for name, schema, input_name in ((first, left, names[0]), (second, right, names[1])):
            if name not in schema:
                hint = did_you_mean(name, schema.names())
                message = f"{input_name} has no field {name!r}"
                problems.append(Problem(where, message, listed(schema.names()), hint))
                missing = True
        if not missing:
            why = _incomparable(left.field(first), right.field(second), converts)
            if why:
                message = f"{names[0]}'s {left.field(first)} and {names[1]}'s {right.field(second)} {why}"
                problems.append(Problem(where, message, "keys of one type: integers, floats, text, ..."))
    return problems


def _incomparable(left: Field, right: Field, converts: bool) -> str:
    """Why values of two fields are never equal; "" if they can be."""
    if Kind.MSGPACK in (left.kind, right.kind):
        return "are structured, which has no equality"
    if family(left) is family(right):
        if left.kind is Kind.DICTIONARY and left.categories != right.categories and not converts:
            return "have different categories"
        return ""
    texts = {Kind.STRING, Kind.DICTIONARY}
    if converts and {left.kind, right.kind} == texts:
        labels = left.labels or right.labels
        return "" if all(isinstance(label, str) for label in labels) else "have no common type"
    return "have no common type"


def family(field: Field) -> Kind:
    """Fields of one family can be equal: integers of all widths, floats of both, else the same kind."""
    if field.kind in INTEGERS:
        return Kind.INT64
    return Kind.FLOAT64 if field.kind in FLOATS else field.kind


def how_of(field: Field) -> int:
    """How native code reads the values of a key (kernels.SIGNED, ...)."""
    if field.kind in FLOATS:
        return FLOAT
    if field.kind in VARIABLE:
        return BYTES
    return UNSIGNED if field.kind.value.startswith("uint") else SIGNED


def table_hows(table: Sequence[Field], asked: Sequence[Field]) -> list[int]:
    """How the key columns of a lookup's table are read, given those that are looked up: int64 and uint64 keys are equal
    only where both are positive."""
    hows = []
    for own, other in zip(table, asked):
        mixed = (own.kind is Kind.UINT64) != (other.kind is Kind.UINT64)
        signed = how_of(own) == SIGNED or how_of(other) == SIGNED
        hows.append(how_of(own) | (POSITIVE if mixed and signed and own.kind not in FLOATS else 0))
    return hows


def key_table(columns: Sequence[Column]) -> ColumnTable:
    """The columns for native code; they must be kept for as long as it is used."""
    table = ColumnTable(len(columns))
    table.fill([column.descriptor for column in columns])
    return table
