"""Structures: the values of Arrow's lists, structs and maps as the types that a field's annotation names. Packs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa


def structured_values(name: str, wanted: Any, array: pa.Array) -> list[Any]:
    """The values of `array`, converted to the annotation `wanted` of the field `name`. A map may be a dict or a list of
    pairs. SchemaError names the first that is none of the annotation's."""
    try:
        pairs = array.to_pylist()
    except (ValueError, OverflowError) as error:  # a time that no datetime can hold
        raise SchemaError(f"field {name!r}: {error}") from error
    values = [_with_dicts(value, array.type) for value in pairs] if _has_maps(array.type) else pairs
    try:
        return msgspec.convert(values, list[wanted])
    except (msgspec.ValidationError, RecursionError):
        return [_one(name, wanted, row, *each) for row, each in enumerate(zip(values, pairs))]


def _one(name: str, wanted: Any, row: int, value: Any, pairs: Any) -> Any:
    try:
        return msgspec.convert(value, wanted)
    except (msgspec.ValidationError, RecursionError) as error:
        if value is not pairs:
            try:
                return msgspec.convert(pairs, wanted)
            except msgspec.ValidationError:
                pass
        raise SchemaError(f"field {name!r}, row {row}: {error}") from error


def _has_maps(kind: pa.DataType) -> bool:
    import pyarrow as pa

    parts = (kind.field(number).type for number in range(kind.num_fields))
    return pa.types.is_map(kind) or any(map(_has_maps, parts))


def _with_dicts(value: Any, kind: pa.DataType) -> Any:
    """`value` with a dict in place of the pairs that `to_pylist` makes of a map, unless a key is there twice or cannot be that
    of a dict."""
    import pyarrow as pa

    if value is None:
        return None
    if pa.types.is_map(kind):
        made = [(key, _with_dicts(each, kind.item_type)) for key, each in value]
        try:
            return found if len(found := dict(made)) == len(made) else made
        except TypeError:
            return made
    if pa.types.is_struct(kind):
        parts = {kind.field(number).name: kind.field(number).type for number in range(kind.num_fields)}
        return {name: _with_dicts(value[name], part) for name, part in parts.items()}
    if kind.num_fields == 1:
        return [_with_dicts(each, kind.field(0).type) for each in value]
    return value
