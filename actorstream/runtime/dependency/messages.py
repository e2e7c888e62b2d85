"""What workers of a plan say to each other, as bytes: msgpack, never pickle. Knows nothing of channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np

from actorstream.dgs.worker import Promise, Request, StateDown, StateUp
from actorstream.errors import DataError

Message = Request | StateUp | StateDown | Promise

PROMISE, REQUEST, UP, DOWN = range(4)
END_OF_INPUT = -1
"""The tag of the request at the end of all input."""


def _array(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufM":
        return [value.dtype.str, list(value.shape), np.ascontiguousarray(value).tobytes()]
    if isinstance(value, np.generic):
        return value.item()
    raise NotImplementedError(f"a state with a {type(value).__name__}")


def _from_array(kind: type, value: Any) -> Any:
    if kind is np.ndarray:
        name, shape, data = value
        return np.frombuffer(bytearray(data), np.dtype(name)).reshape(shape)
    raise NotImplementedError(f"a state with a {kind.__name__}")


_Parts = list[tuple[int, int, msgspec.Raw]]
_encoder = msgspec.msgpack.Encoder(enc_hook=_array)
_decoder = msgspec.msgpack.Decoder(_Parts)
_request = msgspec.msgpack.Decoder(tuple[bytes, bytes | None])


class Codec:
    """Messages of one link as bytes, and back.

    Args:
        state: class of the states that come in.
        where: "ACTOR, wN", for errors.
    """

    def __init__(self, state: Any, where: str) -> None:
        self.where = where
        self._name = getattr(state, "__name__", str(state))
        self._state: Callable[[Any], Any] = msgspec.msgpack.Decoder(state, dec_hook=_from_array).decode

    def encode(self, messages: Iterable[Message]) -> bytes:
        """DataError: a state is not of values that msgpack can carry."""
        parts: list[Any] = []
        for message in messages:
            if isinstance(message, Promise):
                parts.append((PROMISE, message.tag, (message.bound, message.place)))
            elif isinstance(message, Request):
                places = None if message.places is None else message.places.tobytes()
                tag = END_OF_INPUT if message.tag is None else message.tag
                parts.append((REQUEST, tag, (message.times.tobytes(), places)))
            elif isinstance(message, StateUp):
                parts.append((UP, message.covered, message.state))
            else:
                parts.append((DOWN, message.done, message.state))
        try:
            return _encoder.encode(parts)
        except (TypeError, NotImplementedError, OverflowError, ValueError) as error:
            raise DataError(
                f"{self.where}: a state cannot travel to another process: {error}; allowed: msgspec Structs and "
                "dataclasses of values that msgpack carries, and NumPy arrays of numbers"
            ) from error

    def decode(self, data: Any) -> list[Message]:
        """DataError: a state is not of the class that the program says."""
        try:
            return [self._message(kind, number, raw) for kind, number, raw in _decoder.decode(data)]
        except (msgspec.DecodeError, NotImplementedError) as error:
            raise DataError(
                f"{self.where}: a state that came from another process is no {self._name}: {error}; allowed: what "
                "the annotations of its fields say"
            ) from error

    def _message(self, kind: int, number: int, raw: msgspec.Raw) -> Message:
        if kind == PROMISE:
            return Promise(number, *msgspec.msgpack.decode(raw))
        if kind == REQUEST:
            times, places = _request.decode(raw)
            return Request(
                None if number == END_OF_INPUT else number,
                np.frombuffer(times, np.int64),
                None if places is None else np.frombuffer(places, np.int64),
            )
        if kind == UP:
            return StateUp(self._state(raw), number)
        return StateDown(self._state(raw), number)
