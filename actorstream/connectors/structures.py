"""Structures: the values of structured fields as JSON has them, and back. JSON has neither nan nor infinities: they are the
strings "nan", "inf" and "-inf", and numbers again where the annotation has a float. Reads and writes no files."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

if TYPE_CHECKING:
    from actorstream.events.column import Column
    from actorstream.events.fields import Field

_PACKED = re.compile(rb"\xcb[\x7f\xff][\xf0-\xff]")
"""How msgpack begins a float that is not finite; few other bytes are like that."""
_TEXT = re.compile(rb'"(?:nan|-?inf)"')


def json_values(column: Column) -> list[Any]:
    """The values of a structured column, for msgspec to encode as JSON, which writes null for a float that is not finite."""
    values = column.tolist()
    assert column.offsets is not None
    offsets = column.offsets[column.first : column.first + column.length + 1]
    start = int(offsets[0])
    packed = column.data[start : int(offsets[-1])].data
    places = [found.start() for found in _PACKED.finditer(packed)]
    if places:
        for row in np.unique(np.searchsorted(offsets, np.add(places, start), side="right") - 1).tolist():
            values[row] = _with_texts(msgspec.to_builtins(values[row]))
    return values


def _with_texts(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {key: _with_texts(each) for key, each in value.items()}
    return [_with_texts(each) for each in value] if isinstance(value, list | tuple) else value


def json_decoder(field: Field) -> Callable[[bytes], Any]:
    """Returns the function that decodes a field's JSON text by its annotation. It raises msgspec.ValidationError if the text does
    not fit."""
    found = field.kept.get("decode json")
    if found is None:
        strict = msgspec.json.Decoder(field.annotation).decode
        lax = msgspec.json.Decoder(field.annotation, strict=False).decode

        def decode(text: bytes) -> Any:
            try:
                return strict(text)
            except msgspec.ValidationError:
                if _TEXT.search(text) is None:
                    raise
            return lax(text)

        found = field.kept["decode json"] = decode
    return found  # type: ignore[no-any-return]
