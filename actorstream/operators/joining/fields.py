"""The fields that come out of a join: those of the left, then the right's others under names that are free."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

SUFFIX = "_right"


def others(
    right: Schema, without: Collection[str], taken: Iterable[str], *, nullable: bool
) -> list[tuple[str, Field]]:
    """(name in `right`, field in the output) of the right's fields that are not among `without`; a name that is
    `taken` gets `_right`. nullable: rows may have no right."""
    used = set(taken)
    found = []
    for field in right.fields:
        if field.name in without:
            continue
        name = field.name
        while name in used:
            name += SUFFIX
        used.add(name)
        found.append((field.name, replace(field, name=name, nullable=nullable or field.nullable)))
    return found


def common(left: Field, right: Field) -> Field | None:
    """The left's field in a type that holds the values of both; None: there is none (uint64 and signed integers)."""
    if left.kind is right.kind:
        return left if left.categories == right.categories else None
    if left.kind in FLOATS and right.kind in FLOATS:
        return replace(left, kind=Kind.FLOAT64)
    if left.kind not in INTEGERS or right.kind not in INTEGERS:
        return None
    signs = [field.kind.value.startswith("int") for field in (left, right)]
    widths = [field.width for field in (left, right)]
    if all(signs) or not any(signs):
        return left if widths[0] >= widths[1] else replace(left, kind=right.kind)
    signed, unsigned = (widths[0], widths[1]) if signs[0] else (widths[1], widths[0])
    width = max(signed, 2 * unsigned)
    return replace(left, kind=Kind(f"int{8 * width}")) if width <= 8 else None


def nullable(field: Field) -> Field:
    """The field, of rows that may have none."""
    return field if field.nullable else replace(field, nullable=True)
