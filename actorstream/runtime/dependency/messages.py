"""What workers of a plan say to each other, as bytes: msgpack, never pickle. Knows nothing of channels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from actorstream.dgs.messages import Promise, Request, StateDown, StateUp
from actorstream.dgs.state_bytes import NUMBERS, is_array, packed, read_array, written_array
from actorstream.errors import DataError

if TYPE_CHECKING:
    from actorstream.runtime.dependency.clock import Clock


class Mark(NamedTuple):
    """To a neighbour: what I said before belongs to the checkpoint of this barrier, what follows does not."""

    barrier: int


Message = Request | StateUp | StateDown | Promise | Mark

PROMISE, REQUEST, UP, DOWN, MARK = range(5)
END_OF_INPUT = -1
"""The tag of the request at the end of all input."""


APART = 4096
"""Bytes from which on an array lies beside its message: it is copied once into shared memory, and once out of it."""
ALIGNED = 64
NONE: np.ndarray = np.empty(0, np.uint8)


def aligned(nbytes: int) -> int:
    """Where the next array may begin."""
    return -(-nbytes // ALIGNED) * ALIGNED


class _Promise(msgspec.Struct, array_like=True, tag=PROMISE):
    tag: int
    bound: int
    place: int


class _Request(msgspec.Struct, array_like=True, tag=REQUEST):
    tag: int
    times: bytes | int
    """A number: of the only event."""
    places: bytes | None


class _Mark(msgspec.Struct, array_like=True, tag=MARK):
    barrier: int


class Codec:
    """Messages of one link as bytes, and back. Large arrays of states lie apart from them.

    Args:
        state: class of the states that come in.
        where: "ACTOR, wN", for errors.
        clock: its time goes with each state, and it hears the time of each that comes.
    """

    def __init__(self, state: Any, where: str, clock: Clock) -> None:
        self.where, self.clock = where, clock
        self._name = getattr(state, "__name__", str(state))
        fields = [("number", int), ("time", int), ("state", state)]
        self._up = msgspec.defstruct("_Up", fields, array_like=True, tag=UP)
        down = msgspec.defstruct("_Down", fields, array_like=True, tag=DOWN)
        messages = list[_Promise | _Request | _Mark | self._up | down]  # type: ignore[name-defined, valid-type]
        self._decode: Callable[[Any], Any] = msgspec.msgpack.Decoder(messages, dec_hook=self._read).decode
        self._decode_state = msgspec.msgpack.Decoder(state, dec_hook=self._read).decode
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._write)
        self.apart: list[tuple[int, np.ndarray]] = []
        """Arrays of the messages encoded last, and where each begins in the room beside them."""
        self.room = 0
        """Bytes that these take."""
        self._beside = NONE

    def encode(self, messages: Iterable[Any]) -> bytes:
        """DataError: a state is not of values that msgpack can carry."""
        self.apart, self.room = [], 0
        parts: list[Any] = []
        for message in messages:
            kind = type(message)
            if kind is StateUp:
                parts.append((UP, message.covered, self.clock.now, message.state))
            elif kind is Promise:
                parts.append((PROMISE, message.tag, message.bound, message.place))
            elif kind is Request:
                places = None if message.places is None else message.places.tobytes()
                tag = END_OF_INPUT if message.tag is None else message.tag
                times = message.times
                said = times.tobytes() if len(times) != 1 else int(times[0])  # type: ignore[union-attr]
                parts.append((REQUEST, tag, said, places))
            elif kind is Mark:
                parts.append((MARK, message.barrier))
            else:
                parts.append((DOWN, message.done, self.clock.now, message.state))
        return packed(parts, self.where, self._encoder)

    def bytes_of(self, state: Any) -> bytes | None:
        """A state by itself; None: it has arrays that must lie apart. DataError: as `encode`."""
        data = packed(state, self.where, self._encoder)
        if self.room:
            self.apart, self.room = [], 0
            return None
        return data

    def state_of(self, data: Any) -> Any:
        """The state of what `bytes_of` has answered. DataError: as `decode`."""
        try:
            return self._decode_state(data)
        except (msgspec.DecodeError, NotImplementedError) as error:
            raise self._strange(error) from error

    def _write(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.nbytes < APART or value.dtype.kind not in NUMBERS:
            return written_array(value)
        at, self.room = self.room, self.room + aligned(value.nbytes)
        self.apart.append((at, value))
        return [value.dtype.str, list(value.shape), at]

    def _read(self, kind: type, value: Any) -> Any:
        if not is_array(kind) or not isinstance(value[2], int):
            return read_array(kind, value)
        name, shape, at = value
        found = np.empty(shape, np.dtype(name))
        found.reshape(-1).view(np.uint8)[:] = self._beside[at : at + found.nbytes]
        return found

    def decode(self, data: Any, beside: np.ndarray | None = None) -> list[Message]:
        """`beside`: where the arrays lie that are apart. DataError: a state is not of the class that the program says."""
        try:
            if beside is not None:
                self._beside = beside
            said = self._decode(data)
            if len(said) == 1:
                return [self._message(said[0])]
            return [self._message(each) for each in said]
        except (msgspec.DecodeError, NotImplementedError) as error:
            raise self._strange(error) from error
        finally:
            self._beside = NONE

    def _strange(self, error: Exception) -> DataError:
        return DataError(
            f"{self.where}: a state that came from another process is no {self._name}: {error}; allowed: what "
            "the annotations of its fields say"
        )

    def _message(self, said: Any) -> Message:
        kind = type(said)
        if kind is self._up:
            self.clock.heard(said.time)
            return StateUp(said.state, said.number)
        if kind is _Promise:
            return Promise(said.tag, said.bound, said.place)
        if kind is _Request:
            return Request(
                None if said.tag == END_OF_INPUT else said.tag,
                (said.times,) if type(said.times) is int else np.frombuffer(said.times, np.int64),
                None if said.places is None else np.frombuffer(said.places, np.int64),
            )
        if kind is _Mark:
            return Mark(said.barrier)
        self.clock.heard(said.time)
        return StateDown(said.state, said.number)
