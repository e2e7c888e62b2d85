"""How many bytes a message takes in memory: an estimate that costs far less than the message. Pure.

Never encodes, and looks at no more than `SAMPLE` items of a container.
"""

from __future__ import annotations

import enum
import sys
import types
import typing
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from typing import Any

import msgspec

ENTRY_BYTES = 104
"""What the mailbox itself needs for an entry: its tuple and its place in the queue."""
SAMPLE = 32
DEPTH = 6

Sizer = int | Callable[[Any], int]

_FIXED = (int, float, bool, type(None), complex, datetime, date, time, timedelta)
_VALUE_BYTES = 32

SIZES: dict[type, Sizer] = dict.fromkeys(_FIXED, ENTRY_BYTES + _VALUE_BYTES)
"""Message class -> its constant size, or the function that tells it. `estimate` learns the classes it meets."""


def estimate(message: Any) -> int:
    """Estimated bytes of a queued message, its entry in the mailbox included."""
    sizer = SIZES.get(message.__class__)
    if sizer is None:
        sizer = SIZES[message.__class__] = _sizer(message.__class__)
    return sizer if sizer.__class__ is int else sizer(message)  # type: ignore[operator,return-value]


def _sizer(cls: type) -> Sizer:
    if issubclass(cls, enum.Enum):
        return ENTRY_BYTES
    if issubclass(cls, msgspec.Struct):
        return _struct_sizer(cls)
    return lambda message: ENTRY_BYTES + measure(message)


def _struct_sizer(cls: type[msgspec.Struct]) -> Sizer:
    names = cls.__struct_fields__
    try:
        hints = typing.get_type_hints(cls)
        variable = tuple(name for name in names if not _is_fixed(hints.get(name)))
    except (NameError, TypeError):
        variable = names
    constant = ENTRY_BYTES + 16 + 8 * len(names) + _VALUE_BYTES * (len(names) - len(variable))
    if not variable:
        return constant
    if len(variable) == 1:
        only = variable[0]
        return lambda message: constant + measure(getattr(message, only))
    return lambda message: constant + sum([measure(getattr(message, name)) for name in variable])


def _is_fixed(annotation: Any) -> bool:
    origin = typing.get_origin(annotation)
    if origin is typing.Literal:
        return True
    if origin is typing.Union or origin is types.UnionType:
        return all(_is_fixed(part) for part in typing.get_args(annotation))
    return annotation in _FIXED or (isinstance(annotation, type) and issubclass(annotation, enum.Enum))


def measure(value: Any, depth: int = DEPTH) -> int:
    """Estimated bytes of a value that may have values inside, to `depth` levels."""
    cls = value.__class__
    if cls is str or cls is bytes or cls is bytearray:
        return 48 + len(value)
    if cls in _FIXED:
        return _VALUE_BYTES
    if cls is list or cls is tuple or cls is set or cls is frozenset:
        return 64 + 8 * len(value) + _sampled(value, depth)
    if cls is dict:
        return 64 + 16 * len(value) + _sampled(value, depth) + _sampled(value.values(), depth)
    if isinstance(value, msgspec.Struct):
        if depth == 0:
            return 64
        return 16 + sum(8 + measure(getattr(value, name), depth - 1) for name in value.__struct_fields__)
    nbytes = getattr(value, "nbytes", None)
    return 64 + nbytes if isinstance(nbytes, int) else sys.getsizeof(value, 64)


def _sampled(values: Any, depth: int) -> int:
    count = len(values)
    if not count or depth == 0:
        return _VALUE_BYTES * count
    total = seen = 0
    step = max(1, count // SAMPLE) if isinstance(values, list | tuple) else 1
    for value in values[::step] if step > 1 else values:
        total += measure(value, depth - 1)
        seen += 1
        if seen == SAMPLE:
            break
    return total * count // seen
