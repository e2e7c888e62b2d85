"""Infers the fields of JSON lines that have no schema from the first lines. Reads no files."""

from __future__ import annotations

from typing import Any

import msgspec

from actorstream.connectors.json_values import NotARowError, object_of

_INT64 = (-(2**63), 2**63 - 1)
_UINT64 = (0, 2**64 - 1)
_CALLED = {bool: "a bool", int: "a number", float: "a number", str: "text"}


def told_fields(data: bytes) -> list[Any]:
    """Returns an Arrow field for each field of the objects in the lines of `data`, in the order in which the fields first
    appear. A field is nullable if one of its values is null or missing. Fields that hold objects or lists are left out, and
    lines that are no objects are left to `on_error`. ValueError: no type fits all values of a field."""
    import pyarrow as pa

    columns: dict[str, list[Any]] = {}
    objects = 0
    for line in data.split(b"\n"):
        if not line.strip():
            continue
        try:
            found = object_of(line)
        except NotARowError:
            continue
        objects += 1
        for name, value in found.items():
            values = columns.setdefault(name, [])
            if value is not None:
                values.append(value)
    types = {name: _told(name, values) for name, values in columns.items()}
    return [
        pa.field(name, found, nullable=len(columns[name]) < objects)
        for name, found in types.items()
        if found is not None
    ]


def _told(name: str, values: list[Any]) -> Any:
    """Returns the Arrow type of a field from its values that are not null, or None if it holds objects or lists."""
    import pyarrow as pa

    types = {type(value) for value in values}
    if types & {dict, list}:
        return None
    if types <= {str}:
        return _told_text(values)
    if types == {bool}:
        return pa.bool_()
    if types == {int}:
        return told_integer(name, min(values), max(values))
    if types <= {int, float}:
        return pa.float64()
    first = _CALLED[type(values[0])]
    other = next(_CALLED[type(value)] for value in values if _CALLED[type(value)] != first)
    raise ValueError(f"field {name!r} is {first}, then {other}")


def told_integer(name: str, least: int, most: int) -> Any:
    """Returns the Arrow type of integers from `least` to `most`. ValueError: neither int64 nor uint64 holds them."""
    import pyarrow as pa

    for (low, high), found in ((_INT64, pa.int64()), (_UINT64, pa.uint64())):
        if low <= least and most <= high:
            return found
    raise ValueError(
        f"field {name!r} has integers from {least} to {most}, which fit neither int64 nor uint64"
    )


def _told_text(values: list[str]) -> Any:
    """Returns the type of text, or that of times if Arrow reads all values as times."""
    import pyarrow as pa
    import pyarrow.json as pajson

    if not values:
        return pa.string()
    lines = msgspec.json.Encoder().encode_lines([{"x": value} for value in values])
    options = pajson.ReadOptions(use_threads=False, block_size=2**31 - 1)
    return pajson.read_json(pa.BufferReader(lines), options).column("x").type
