"""Fields: what one column of a schema holds. Pure description; no conversion of values happens here."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from actorstream.errors import SchemaError


class Kind(enum.Enum):
    """How the values of a field lie in memory. The values are part of schema fingerprints: never change one."""

    BOOL = "bool"
    INT8 = "int8"
    INT16 = "int16"
    INT32 = "int32"
    INT64 = "int64"
    UINT8 = "uint8"
    UINT16 = "uint16"
    UINT32 = "uint32"
    UINT64 = "uint64"
    FLOAT32 = "float32"
    FLOAT64 = "float64"
    DATETIME = "datetime"
    """int64 microseconds since 1970, UTC."""
    STRING = "string"
    """UTF-8: int32 or int64 offsets and data."""
    BYTES = "bytes"
    DICTIONARY = "dictionary"
    """A code (int8, int16 or int32 by the number of categories); the categories are in the schema."""
    MSGPACK = "msgpack"
    """Bytes that msgspec decodes with the field's annotation."""


INTEGERS = frozenset(
    {
        Kind.INT8,
        Kind.INT16,
        Kind.INT32,
        Kind.INT64,
        Kind.UINT8,
        Kind.UINT16,
        Kind.UINT32,
        Kind.UINT64,
    }
)
FLOATS = frozenset({Kind.FLOAT32, Kind.FLOAT64})
STRUCT_CODES: dict[Kind, str] = {
    Kind.BOOL: "B",
    Kind.INT8: "b",
    Kind.INT16: "h",
    Kind.INT32: "i",
    Kind.INT64: "q",
    Kind.UINT8: "B",
    Kind.UINT16: "H",
    Kind.UINT32: "I",
    Kind.UINT64: "Q",
    Kind.FLOAT32: "f",
    Kind.FLOAT64: "d",
    Kind.DATETIME: "q",
}
"""How a column holds a value of fixed width, as `struct` and NumPy name it."""
VARIABLE = frozenset({Kind.STRING, Kind.BYTES, Kind.MSGPACK})

_DTYPES: dict[Kind, np.dtype[Any]] = {
    Kind.BOOL: np.dtype(np.bool_),
    Kind.DATETIME: np.dtype(np.int64),
    **{kind: np.dtype(kind.value) for kind in INTEGERS | FLOATS},
}

WATERMARK = "_watermark"
"""The system column of rows behind their partition's watermark: the watermark."""
IN_TIME = -(2**63)
"""The value of that column in a row that is not behind its watermark."""
SYSTEM_NAMES = ("_time", "_origin", "_position", WATERMARK, "_ordinal")
"""Names (the last a prefix) that user fields must not have."""


@dataclass(frozen=True)
class Field:
    """One field of a schema.

    `categories` are the Python values a DICTIONARY field can have, in the order of their codes. `annotation` is the
    type that MSGPACK values are decoded with, and what events of a generated class are annotated with.
    """

    name: str
    kind: Kind
    nullable: bool = False
    categories: tuple[Any, ...] = ()
    annotation: Any = field(default=None, compare=False)
    dtype: np.dtype[Any] | None = field(init=False, compare=False, repr=False)
    """NumPy type of the values; None: variable width."""
    width: int = field(init=False, compare=False, repr=False)
    """Bytes a value; 0: variable."""
    plain: bool = field(init=False, compare=False, repr=False)
    """Fixed width and never null: `batch[name]` is a zero-copy NumPy array."""
    free: bool = field(init=False, compare=False, repr=False)
    """Any array of `dtype` is a column of the field: it is neither nullable, nor a code, nor a time."""
    kept: dict[str, Any] = field(init=False, compare=False, repr=False, default_factory=dict)
    """What values.py derives from the field once: look-up tables, decoders."""

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a field is named {self.name!r}; allowed: a non-empty string")
        if bool(self.categories) != (self.kind is Kind.DICTIONARY):
            raise SchemaError(
                f"field {self.name!r}: {len(self.categories)} categories for kind {self.kind.value}; "
                "allowed: at least one for a dictionary, none for any other kind"
            )
        dtype = code_dtype(len(self.categories)) if self.categories else _DTYPES.get(self.kind)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "width", 0 if dtype is None else dtype.itemsize)
        object.__setattr__(self, "plain", dtype is not None and not self.nullable)
        object.__setattr__(
            self, "free", self.plain and not self.categories and self.kind is not Kind.DATETIME
        )

    @property
    def labels(self) -> tuple[str, ...] | tuple[int, ...]:
        """What Arrow, CSV and fingerprints know the categories by: their values, else names or texts. Distinct."""
        values = [
            category.value if isinstance(category, enum.Enum) else category for category in self.categories
        ]
        if all(isinstance(value, str) for value in values):
            return tuple(str(value) for value in values)
        if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
            return tuple(int(value) for value in values)
        return tuple(
            category.name if isinstance(category, enum.Enum) else repr(category)
            for category in self.categories
        )

    def code(self, value: Any) -> int:
        """The code of a category, or of its label, as it stands in the column of a DICTIONARY field."""
        for candidates in (self.categories, self.labels):
            for code, candidate in enumerate(candidates):
                if candidate is value or (type(candidate) is type(value) and candidate == value):
                    return code
        raise SchemaError(
            f"field {self.name!r}: {value!r} is not one of its categories"
            f"{nearest_text(str(value), [str(label) for label in self.labels])}"
        )

    def holds(self, other: Field) -> bool:
        """Whether values of `other`, an equal field, are values of this one as they stand: structures and categories of the
        same Python types."""
        if self is other:
            return True
        if self.kind is Kind.MSGPACK:
            return bool(self.annotation == other.annotation)
        return not self.categories or list(map(type, self.categories)) == list(map(type, other.categories))

    def describe(self) -> list[Any]:
        """What makes two fields the same, as plain JSON values; the input of fingerprints."""
        return [self.name, self.kind.value, self.nullable, list(self.labels) if self.categories else []]

    def __str__(self) -> str:
        kind = f"one of {list(self.labels)}" if self.categories else self.kind.value
        return f"{self.name}: {kind}{'?' if self.nullable else ''}"


def code_dtype(categories: int) -> np.dtype[Any]:
    """The narrowest signed type that holds the codes of so many categories."""
    return np.dtype(np.int8 if categories <= 128 else np.int16 if categories <= 32768 else np.int32)


def nearest_text(name: str, known: list[str]) -> str:
    """The end of an error about an unknown name: what is allowed, and the nearest of it."""
    import difflib

    allowed = ", ".join(known[:20]) + (f", ... ({len(known)})" if len(known) > 20 else "")
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    return f"; allowed: {allowed or 'none'}" + (f"; did you mean {close[0]!r}?" if close else "")
