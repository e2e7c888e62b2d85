"""Inference: the schema of columns that came without one. Looks at types, and at values only where there is no type."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.column import Column, by_name
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind
from actorstream.events.schema import Schema

_PYTHON = {
    bool: Kind.BOOL,
    int: Kind.INT64,
    float: Kind.FLOAT64,
    str: Kind.STRING,
    bytes: Kind.BYTES,
    datetime: Kind.DATETIME,
}
_NUMPY = {np.dtype(kind.value): kind for kind in INTEGERS | FLOATS} | {np.dtype(np.bool_): Kind.BOOL}


def infer_schema(columns: Mapping[str, Any], name: str = "Row") -> Schema:
    """A schema whose fields are the columns, without an event time. SchemaError where a type cannot be told."""
    return Schema(name, tuple(_field(field_name, values) for field_name, values in by_name(columns).items()))


def _field(name: str, values: Any) -> Field:
    if isinstance(values, Column):
        own = values.field
        return Field(name, own.kind, own.nullable, own.categories, own.annotation)
    if isinstance(values, np.ndarray):
        kind = Kind.DATETIME if values.dtype.kind == "M" else _NUMPY.get(values.dtype)
        if kind is not None:
            return Field(name, kind)
        if values.dtype.kind in "UT":
            return Field(name, Kind.STRING)
        values = values.tolist()
    if hasattr(values, "null_count"):
        import pyarrow as pa

        from actorstream.events.arrow import field_of_arrow

        return field_of_arrow(pa.field(name, values.type), bool(values.null_count), "the batch")
    if isinstance(values, list | tuple):
        sample = next((value for value in values if value is not None), None)
        kind = _PYTHON.get(type(sample))
        if kind is not None:
            return Field(name, kind, any(value is None for value in values))
    raise SchemaError(
        f"field {name!r}: the type of {type(values).__name__} cannot be told; allowed: a NumPy or Arrow array, a list "
        "of one scalar type (or name the Event class: Batch.of(columns, event=...))"
    )
