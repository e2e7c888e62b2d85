"""JSON lines of batches. Formats in bulk, writes nowhere."""

from __future__ import annotations

import json
import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.connectors.structures import json_values
from actorstream.events.fields import FLOATS, Kind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.column import Column

_encode_lines = msgspec.json.Encoder().encode_lines


def json_lines(batch: Batch) -> bytes:
    """The rows as one object a line. Times are ISO 8601 (UTC), bytes base64; `nan` and `inf`, which JSON
    has not, are the strings "nan", "inf" and "-inf", as jsonl-source reads them."""
    names, columns = batch.schema.names(), map(_values, batch.columns())
    row = _row_class(names)
    if row is None:
        return _encode_lines([dict(zip(names, values)) for values in zip(*columns)])
    return _encode_lines(list(map(row, *columns)))


@lru_cache(maxsize=256)
def _row_class(names: tuple[str, ...]) -> Any:
    """A struct that is encoded under these names, which need not be identifiers; None: msgspec has none with a name
    that JSON spells with an escape."""
    if any(json.dumps(name, ensure_ascii=False) != f'"{name}"' for name in names):
        return None
    fields = [(f"f{number}", Any) for number in range(len(names))]
    renamed = {f"f{number}": name for number, name in enumerate(names)}
    return msgspec.defstruct("Row", fields, rename=renamed, gc=False)


def _values(column: Column) -> list[Any]:
    if column.field.kind is Kind.MSGPACK:
        return json_values(column)
    values = column.tolist()
    if column.field.kind in FLOATS and not np.isfinite(column.data).all():
        return [_finite(value) for value in values]
    if column.field.kind is Kind.DICTIONARY:
        labels = dict(zip(column.field.categories, column.field.labels))
        return [labels.get(value) for value in values]
    return values


def _finite(value: float | None) -> float | str | None:
    return value if value is None or math.isfinite(value) else str(value)
