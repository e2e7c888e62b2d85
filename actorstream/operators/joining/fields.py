"""The fields that come out of a join: those of the left, then the right's others under names that are free."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from actorstream.events.fields import Field
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


def nullable(field: Field) -> Field:
    """The field, of rows that may have none."""
    return field if field.nullable else replace(field, nullable=True)
