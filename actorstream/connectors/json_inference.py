"""What the fields of JSON lines are that nobody declared: told from their first objects. Reads no files."""

from __future__ import annotations

from typing import Any

import msgspec

from actorstream.connectors.json_values import NotARowError, object_of

_INT64 = (-(2**63), 2**63 - 1)
_UINT64 = (0, 2**64 - 1)
_CALLED = {bool: "a bool", int: "a number", float: "a number", str: "text"}


def told_fields(data: bytes) -> list[Any]:
    """The Arrow fields of the objects that are lines of `data`: those that hold one value, in the order in which they
    first appear; nullable where one is null or missing. Lines that are no objects are for `on_error`, and fields that
    hold objects or lists are left out. ValueError: a field has no type that fits all its values."""
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
    """The Arrow type of a field by its values that are not null; None: it holds objects or lists."""
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
    """The Arrow type of integers from `least` to `most`. ValueError: neither int64 nor uint64 holds them."""
    import pyarrow as pa

    for (low, high), found in ((_INT64, pa.int64()), (_UINT64, pa.uint64())):
        if low <= least and most <= high:
            return found
    raise ValueError(
        f"field {name!r} has integers from {least} to {most}, which fit neither int64 nor uint64"
    )


def _told_text(values: list[str]) -> Any:
    """Text, or the times that Arrow finds in it."""
    import pyarrow as pa
    import pyarrow.json as pajson

    if not values:
        return pa.string()
    lines = msgspec.json.Encoder().encode_lines([{"x": value} for value in values])
    options = pajson.ReadOptions(use_threads=False, block_size=2**31 - 1)
    return pajson.read_json(pa.BufferReader(lines), options).column("x").type
