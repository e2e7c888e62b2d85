"""Tables to msgspec Structs, field by field, so that every wrong key is found, not only the first. Pure."""

from __future__ import annotations

import functools
import typing
from typing import Any, TypeVar

import msgspec

from actorstream.errors import Problem
from actorstream.topology.conversion import MismatchError, allowed_by, convert
from actorstream.topology.positions import Path as KeyPath
from actorstream.topology.quantities import SIZE_ALLOWED, parse_size
from actorstream.topology.suggestions import did_you_mean, listed
from actorstream.topology.written import Written, dotted

S = TypeVar("S", bound=msgspec.Struct)


def decode_struct(
    kind: type[S], table: dict[str, Any], path: KeyPath, written: Written, problems: list[Problem]
) -> S | None:
    """The Struct that a table at `path` describes; wrong fields keep their default and add to `problems`.

    None if a field without default is missing or wrong, so nothing can be built."""
    hints = _hints(kind)
    fields = _fields(kind)
    problems.extend(unknown_key(key, fields, (*path, key), written) for key in table if key not in fields)
    values: dict[str, Any] = {}
    complete = True
    for key, field in fields.items():
        if key in table:
            try:
                values[field.name] = decode_value(
                    table[key], hints[field.name], (*path, key), written, problems
                )
                continue
            except MismatchError as mismatch:
                problems.append(mismatched(mismatch, (*path, key), written))
        elif field.required:
            problems.append(written.problem((*path, key), "is missing", allowed_by(hints[field.name])))
        complete = complete and not field.required
    return kind(**values) if complete else None


def decode_value(
    value: Any, annotation: Any, path: KeyPath, written: Written, problems: list[Problem] | None = None
) -> Any:
    """One value as its annotation asks for it; MismatchError if it is not that."""
    struct = _struct_in(annotation)
    if struct is not None and isinstance(value, dict | list) and problems is not None:
        if typing.get_origin(annotation) is list:
            if isinstance(value, dict):
                raise MismatchError(value, f"an array of tables: [[{dotted(path)}]], or [{{ … }}]")
            return _decode_structs(struct, value, path, written, problems)
        if isinstance(value, list):
            raise MismatchError(value, f"one table: [{dotted(path)}]")
        return decode_struct(struct, value, path, written, problems)
    if _is_size(annotation):
        try:
            value = parse_size(value)
        except ValueError:
            raise MismatchError(value, SIZE_ALLOWED) from None
    return convert(value, annotation, written.base_within(path))


def _decode_structs(
    struct: Any, value: list[Any], path: KeyPath, written: Written, problems: list[Problem]
) -> list[Any]:
    """The Structs of an array of tables."""
    found = []
    for number, each in enumerate(value):
        if not isinstance(each, dict):
            raise MismatchError(each, "a table", path=(number,))
        found.append(decode_struct(struct, each, (*path, number), written, problems))
    return [each for each in found if each is not None]


def mismatched(mismatch: MismatchError, path: KeyPath, written: Written) -> Problem:
    """The problem that a mismatch at `path` (and deeper, by the mismatch's own path) is."""
    return written.problem((*path, *mismatch.path), mismatch.message, mismatch.allowed, mismatch.hint)


def unknown_key(key: str, allowed: typing.Iterable[str], path: KeyPath, written: Written) -> Problem:
    """A key that a table does not have, with those it has and the nearest."""
    names = list(allowed)
    return written.problem(path, "is not a key here", listed(names), did_you_mean(key, names))


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind, include_extras=True)


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.encode_name: field for field in msgspec.structs.fields(kind)}


def _struct_in(annotation: Any) -> Any:
    for part in (annotation, *typing.get_args(annotation)):
        if isinstance(part, type) and issubclass(part, msgspec.Struct):
            return part
    return None


def _is_size(annotation: Any) -> bool:
    return any(
        (getattr(each, "extra", None) or {}).get("bytes") for each in getattr(annotation, "__metadata__", ())
    )
