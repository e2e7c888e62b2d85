"""States of a program as bytes: msgpack, never pickle, with NumPy arrays of numbers. Knows no messages and no channels."""

from __future__ import annotations

import typing
from typing import Any

import msgspec
import numpy as np

from actorstream.errors import DataError

NUMBERS = "biufM"
"""Kinds of arrays that can be carried: booleans, numbers, times."""


def written_array(value: Any) -> Any:
    """What stands for an array among values of msgpack: type, shape and bytes; for a number of NumPy's, the number.

    Raises:
        NotImplementedError: it is no array of numbers.
    """
    if isinstance(value, np.ndarray) and value.dtype.kind in NUMBERS:
        return [value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes()]
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a state with a {_named(value)}")


def read_array(kind: Any, value: Any) -> Any:
    """The array that `written_array` wrote, in memory of its own. `kind`: what the annotation says, `np.ndarray` or one
    with shape and type.

    Raises:
        NotImplementedError: it is to be no array.
    """
    if not is_array(kind):
        raise NotImplementedError(f"a state with a {getattr(kind, '__name__', kind)}")
    name, shape, data = value
    return np.frombuffer(bytearray(data), np.dtype(name)).reshape(shape)


def is_array(kind: Any) -> bool:
    """Whether an annotation is that of an array: `np.ndarray`, or `NDArray[np.int64]`."""
    return (typing.get_origin(kind) or kind) is np.ndarray


_encoder = msgspec.msgpack.Encoder(enc_hook=written_array)


def packed(states: Any, where: str, encoder: msgspec.msgpack.Encoder = _encoder) -> bytes:
    """States, or what holds them, as bytes. DataError: one is not of values that msgpack can carry."""
    try:
        return encoder.encode(states)
    except (TypeError, NotImplementedError, OverflowError, ValueError) as error:
        raise DataError(
            f"{where}: a state cannot travel to another process: {error}; allowed: msgspec Structs and "
            "dataclasses of values that msgpack carries, and NumPy arrays of numbers"
        ) from error


def unpacked(kind: Any, data: bytes) -> Any:
    """A state of class `kind` from its bytes. msgspec.DecodeError: it is none."""
    return msgspec.msgpack.decode(data, type=kind, dec_hook=read_array)


def _named(value: Any) -> str:
    return f"{value.dtype} array" if isinstance(value, np.ndarray) else type(value).__name__
