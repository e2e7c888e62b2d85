"""Types of expressions: what a value is, and whether it may be null. Pure description."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.native.expression import kind as native_kind


@dataclass(frozen=True)
class Type:
    """What the rows of an expression hold: a `Kind` with its categories, as in a `Field`; `kind` None: only nulls."""

    kind: Kind | None
    nullable: bool = False
    categories: tuple[Any, ...] = ()
    annotation: Any = field(default=None, compare=False)

    @property
    def is_integer(self) -> bool:
        return self.kind in INTEGERS or (self.kind is Kind.DICTIONARY and not self.is_text)

    @property
    def is_float(self) -> bool:
        return self.kind in FLOATS

    @property
    def is_number(self) -> bool:
        return self.is_integer or self.is_float

    @property
    def is_text(self) -> bool:
        """A string, or a category known by one."""
        return self.kind is Kind.STRING or (self.kind is Kind.DICTIONARY and isinstance(self.labels[0], str))

    @property
    def labels(self) -> tuple[Any, ...]:
        """What the categories are called, by their codes."""
        return Field("category", Kind.DICTIONARY, False, self.categories).labels

    def field(self, name: str) -> Field:
        """A field of this type."""
        assert self.kind is not None
        return Field(name, self.kind, self.nullable, self.categories, self.annotation)

    def optional(self, nullable: bool = True) -> Type:
        """The same, also or not at all null."""
        return self if self.nullable == nullable else replace(self, nullable=nullable)

    def __str__(self) -> str:
        if self.kind is None:
            return "null"
        name = self.kind.value if self.kind is not Kind.DICTIONARY else f"one of {list(self.labels)}"
        return f"{name}?" if self.nullable else name

    @classmethod
    def of(cls, field_: Field) -> Type:
        return cls(field_.kind, field_.nullable, field_.categories, field_.annotation)


BOOL = Type(Kind.BOOL)
INT = Type(Kind.INT64)
FLOAT = Type(Kind.FLOAT64)
TEXT = Type(Kind.STRING)
BYTES = Type(Kind.BYTES)
DATETIME = Type(Kind.DATETIME)
NULL = Type(None, True)

_NATIVE = {
    Kind.BOOL: "U8",
    Kind.INT8: "I8",
    Kind.INT16: "I16",
    Kind.INT32: "I32",
    Kind.INT64: "I64",
    Kind.UINT8: "U8",
    Kind.UINT16: "U16",
    Kind.UINT32: "U32",
    Kind.UINT64: "U64",
    Kind.FLOAT32: "F32",
    Kind.FLOAT64: "F64",
    Kind.DATETIME: "I64",
}


def stored_as(field_: Field) -> int:
    """The kind of values, for native code, that a fixed-width column of a field holds."""
    if field_.categories:
        return native_kind({1: "I8", 2: "I16", 4: "I32"}[field_.width])
    return native_kind(_NATIVE[field_.kind])
