"""Annotations: which field a Python type annotation means. Decides only; builds no classes and converts no values."""

from __future__ import annotations

import enum
import types
import typing
from datetime import datetime
from typing import Annotated, Any, Literal, Union

import msgspec
import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.event import EventTimeMark
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind

_SCALARS: dict[Any, Kind] = {
    bool: Kind.BOOL,
    int: Kind.INT64,
    float: Kind.FLOAT64,
    str: Kind.STRING,
    bytes: Kind.BYTES,
    datetime: Kind.DATETIME,
    np.bool_: Kind.BOOL,
    **{np.dtype(kind.value).type: kind for kind in INTEGERS | FLOATS},
}
_ALLOWED = (
    "bool, int, Int8 ... UInt64, float, Float32, str, bytes, datetime, Literal, an Enum, any of them `| None`, or a "
    "type that msgspec decodes (list[int], dict[str, float], a Struct, ...)"
)


def field_of(name: str, annotation: Any, where: str) -> tuple[Field, bool]:
    """The field that `annotation` means, and whether it is marked as the event time. `where`: the class, for errors."""
    base, marks = _strip(annotation)
    nullable = False
    if typing.get_origin(base) in (Union, types.UnionType):
        members = typing.get_args(base)
        rest = tuple(member for member in members if member is not type(None))
        nullable = len(rest) < len(members)
        base = rest[0] if len(rest) == 1 else Union[rest]  # noqa: UP007 - built at run time
        base, inner = _strip(base)
        marks += inner
    categories: tuple[Any, ...] = ()
    if typing.get_origin(base) is Literal:
        values = typing.get_args(base)
        categories = tuple(value for value in values if value is not None)
        nullable = nullable or len(categories) < len(values)
    elif isinstance(base, type) and issubclass(base, enum.Enum) and not issubclass(base, enum.Flag):
        categories = tuple(base)
    if categories:
        _check_categories(name, categories, where)
        kind = Kind.DICTIONARY
    else:
        kind = _kind(name, base, marks, where)
    is_time = any(isinstance(mark, EventTimeMark) for mark in marks)
    return Field(name, kind, nullable, categories, base), is_time


def _strip(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """Takes Annotated, NewType and `type` aliases off; answers what is inside and the marks that were on it."""
    marks: tuple[Any, ...] = ()
    while True:
        if typing.get_origin(annotation) is Annotated:
            marks += annotation.__metadata__
            annotation = annotation.__origin__
        elif hasattr(annotation, "__supertype__"):
            annotation = annotation.__supertype__
        elif type(annotation).__name__ == "TypeAliasType":
            annotation = annotation.__value__
        else:
            return annotation, marks


def _kind(name: str, base: Any, marks: tuple[Any, ...], where: str) -> Kind:
    kind = _SCALARS.get(base) if isinstance(base, type) else None
    for mark in marks:
        if isinstance(mark, Kind):
            fits = (
                (kind in INTEGERS and mark in INTEGERS) or (kind in FLOATS and mark in FLOATS) or kind is mark
            )
            if not fits:
                raise SchemaError(
                    f"field {name!r} of {where}: {annotation_text(base)} cannot be kept as {mark.value}; allowed: an integer "
                    "kind for int, a float kind for float"
                )
            return mark
    if kind is not None:
        return kind
    _check_typed(name, base, where)
    return Kind.MSGPACK


def _check_categories(name: str, categories: tuple[Any, ...], where: str) -> None:
    seen: dict[Any, Any] = {}
    for category in categories:
        if category in seen:
            raise SchemaError(
                f"field {name!r} of {where}: the categories {seen[category]!r} and {category!r} are equal; allowed: "
                "values that differ by =="
            )
        seen[category] = category


def _check_typed(name: str, base: Any, where: str) -> None:
    """Refuses what msgspec would decode without a type, or not at all: decoding is always typed."""
    try:
        info = msgspec.inspect.type_info(base)
    except Exception as error:
        raise SchemaError(
            f"field {name!r} of {where} is annotated {annotation_text(base)}: {error}; allowed: {_ALLOWED}"
        ) from error
    for bad, why in (
        (msgspec.inspect.AnyType, "which leaves a part of its values without a type"),
        (msgspec.inspect.CustomType, "which has no encoding"),
    ):
        if _mentions(info, bad, set()):
            raise SchemaError(
                f"field {name!r} of {where} is annotated {annotation_text(base)}, {why}; allowed: {_ALLOWED} "
                "(a msgspec.Struct or a dataclass names every part)"
            )


def _mentions(node: Any, kind: type, seen: set[int]) -> bool:
    """Whether a type of class `kind` occurs anywhere in a msgspec.inspect description."""
    if isinstance(node, kind):
        return True
    if isinstance(node, tuple):
        return any(_mentions(part, kind, seen) for part in node)
    if not isinstance(node, (msgspec.inspect.Type, msgspec.inspect.Field)) or id(node) in seen:
        return False
    seen.add(id(node))
    return any(
        _mentions(getattr(node, part), kind, seen) for part in node.__struct_fields__ if part != "default"
    )


def annotation_text(annotation: Any) -> str:
    """An annotation as messages name it."""
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)
