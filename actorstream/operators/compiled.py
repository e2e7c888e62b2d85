"""Keeps what an operator compiles, one result for each schema of its rows. It holds no rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

Made = TypeVar("Made")
MOST = 64
"""Schemas that are kept at the most. Each producer of an operator may have one of its own."""


class Compiled(Generic[Made]):
    """`of(schema)`: what `make` made of the schema, kept for the last MOST schema objects. Equal schemas may differ in
    their names, event classes and time units, so each object has its own."""

    __slots__ = ("_kept", "_made", "_make", "_schema")

    def __init__(self, make: Callable[[Schema], Made]) -> None:
        self._make = make
        self._schema: Schema | None = None
        self._made: Made | None = None
        self._kept: dict[int, tuple[Schema, Made]] = {}
        """By the schema's id, the least recently used first; the schema is kept so that its id is its own."""

    def of(self, schema: Schema) -> Made:
        if schema is not self._schema:
            found = self._kept.pop(id(schema), None) or (schema, self._make(schema))
            self._kept[id(schema)] = found
            if len(self._kept) > MOST:
                del self._kept[next(iter(self._kept))]
            self._schema, self._made = found
        return self._made  # type: ignore[return-value]
