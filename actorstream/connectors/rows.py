"""Rows: Arrow arrays that a file gave as a batch, and which of the rows do not fit the schema. Reads no
bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.connectors.dead_rows import BadRow
from actorstream.connectors.json_values import DEEPEST, is_too_deep
from actorstream.connectors.structures import json_decoder
from actorstream.errors import SchemaError
from actorstream.events.arrow_arrays import arrow_array
from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.connectors.source import Source
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

Misfits = dict[int, tuple[str, str]]
"""Row -> (field, what is wrong with its value)."""

_PLACE = re.compile(r"^field '.*?'(, row \d+)?(?= is |:)(: )?")


def batch_of(schema: Schema, arrays: Mapping[str, Any]) -> tuple[Batch, Misfits]:
    """The rows that fit, and those that do not: a null in a field that is not nullable, a value that is no
    category or out of range. `arrays`: field -> Arrow array or list of Python values. SchemaError if a
    whole column is of a type that cannot be the field's."""
    from actorstream.events.batch import Batch

    try:
        return Batch.of_columns(
            schema, {field.name: column(field, arrays[field.name]) for field in schema.fields}
        ), {}
    except SchemaError:
        misfits: Misfits = {}
        for field in schema.fields:
            for row, why in _misfits(field, arrays[field.name]):
                misfits.setdefault(row, (field.name, why))
        if not misfits:
            raise
    keep = np.ones(len(next(iter(arrays.values()))), np.bool_)
    keep[list(misfits)] = False
    rows = np.flatnonzero(keep)
    kept = {field.name: column(field, _taken(arrays[field.name], rows)) for field in schema.fields}
    return Batch.of_columns(schema, kept), misfits


def column(field: Field, values: Any) -> Column:
    """A column of an Arrow array or list; a MSGPACK field's text is JSON."""
    if field.kind is Kind.MSGPACK and hasattr(values, "type") and _is_text(values.type):
        decode = json_decoder(field)
        texts = [None if text is None else text.encode() for text in values.to_pylist()]
        try:
            if any(text is not None and is_too_deep(text) for text in texts):
                raise SchemaError(f"field {field.name!r}: is nested too deeply, allowed: {DEEPEST}")
            values = [None if text is None else decode(text) for text in texts]
        except msgspec.MsgspecError as error:
            raise SchemaError(f"field {field.name!r}: is not JSON for {field.annotation}: {error}") from error
    return Column.of(field, values)


def _misfits(field: Field, values: Any) -> list[tuple[int, str]]:
    """(row, why) of the values that are none of the field's: nulls at once, the others by halving."""
    found: list[tuple[int, str]] = []
    rows = np.arange(len(values))
    if not field.nullable and hasattr(values, "null_count") and values.null_count:
        nulls = np.array(values.is_null().to_pylist(), np.bool_)
        why = f"has no value, and {field.kind.value} is needed (a type that ends in '?' allows none)"
        found += [(int(row), why) for row in np.flatnonzero(nulls)]
        rows = np.flatnonzero(~nulls)
    parts = [rows]
    while parts:
        part = parts.pop()
        try:
            column(field, _taken(values, part))
        except SchemaError as error:
            if len(part) == 1:
                found.append((int(part[0]), _PLACE.sub("", str(error))))
            else:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
    return found


def _taken(values: Any, rows: np.ndarray) -> Any:
    if isinstance(values, list):
        return [values[row] for row in rows.tolist()]

    return values.take(arrow_array(rows))


def _is_text(found: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(found) or pa.types.is_large_string(found))


def leave_out_misfits(source: Source, rows: Any, misfits: Misfits, first: int, file: str) -> None:
    """Has a source leave out the rows of an Arrow table that do not fit. first: rows of the file before the table."""
    for row, (name, why) in sorted(misfits.items()):
        text = str(rows.slice(row, 1).to_pylist()[0])
        source.leave_out(BadRow(row, first + row + 1, name, text, why), file)
