"""What an operator compiles for the schema of its rows, once per schema. Holds no rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

Made = TypeVar("Made")


class Compiled(Generic[Made]):
    """`of(schema)`: what `make` made of the schema, kept while the schema stays the same object."""

    __slots__ = ("_made", "_make", "_schema")

    def __init__(self, make: Callable[[Schema], Made]) -> None:
        self._make = make
        self._schema: Schema | None = None
        self._made: Made | None = None

    def of(self, schema: Schema) -> Made:
        if schema is not self._schema:
            self._made, self._schema = self._make(schema), schema
        return self._made  # type: ignore[return-value]
