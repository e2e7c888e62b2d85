"""Messages between workers of a plan as bytes: a head of fixed length, then times or a state (msgpack, never pickle). Knows
nothing of channels."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, NamedTuple

import msgspec
import numpy as np

from actorstream.dgs.mailbox import NOTHING
from actorstream.dgs.messages import Promise, Request, StateDown, StateUp
from actorstream.dgs.state_bytes import NUMBERS, is_array, packed, read_array, written_array
from actorstream.errors import DataError


class Mark(NamedTuple):
    """To a neighbour: the messages sent before belong to the checkpoint of this barrier, those that follow do not."""

    barrier: int


Message = Request | StateUp | StateDown | Promise | Mark

HEAD = Struct("<BqqI")
"""The kind of a message, two numbers, and how many bytes follow. Kind 0 ends the messages before the bytes end.

    kind      numbers                     what follows
    PROMISE   tag, bound                  the place in the stream, unless any is meant
    REQUEST   tag, time of its event      nothing: a request for one event without a place
    REQUESTS  tag, how many events        their times, and their places if they have any
    UP, DOWN  events covered or done,     the state
              the sender's clock
    MARK      barrier, 0                  nothing
"""
_head, _head_of = HEAD.pack, HEAD.unpack_from
PROMISE, REQUEST, REQUESTS, UP, DOWN, MARK = range(1, 7)
END_OF_INPUT = -1
"""The tag of the request at the end of all input."""
APART = 4096
"""Bytes from which on an array lies beside its message: it is copied once into shared memory, and once out of it."""
ALIGNED = 64
NONE: np.ndarray = np.empty(0, np.uint8)


def aligned(nbytes: int) -> int:
    """Where the next array may begin."""
    return -(-nbytes // ALIGNED) * ALIGNED


class Clock:
    """Lamport's clock of the workers of a plan in one process: it counts the states that they have received. Dependent
    outputs are ordered by it at their consumer."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        self.now = 1

    def heard(self, time: int) -> None:
        """A state has come from a worker whose clock was at `time`. Everything that is sent from now on is later."""
        self.now = max(self.now, time) + 1


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
        self._decode_state = msgspec.msgpack.Decoder(state, dec_hook=self._read).decode
        self._encoder = msgspec.msgpack.Encoder(enc_hook=self._write)
        self.apart: list[tuple[int, np.ndarray]] = []
        """Arrays of the messages encoded last, and where each begins in the room beside them."""
        self.room = 0
        """Bytes that these take."""
        self._beside = NONE

    def encode(self, messages: Sequence[Any]) -> bytes:
        """DataError: a state is not of values that msgpack can carry."""
        if self.room:
            self.apart, self.room = [], 0
        return self._encoded(messages[0]) if len(messages) == 1 else b"".join(map(self._encoded, messages))

    def _encoded(self, message: Any) -> bytes:
        kind = type(message)
        if kind is StateUp or kind is StateDown:
            state, number = message
            data = packed(state, self.where, self._encoder)
            return _head(UP if kind is StateUp else DOWN, number, self.clock.now, len(data)) + data
        if kind is Request:
            tag, times, places = message
            if tag is None:
                tag = END_OF_INPUT
            if len(times) == 1 and places is None:
                return _head(REQUEST, tag, int(times[0]), 0)
            data = np.asarray(times).tobytes() + (b"" if places is None else places.tobytes())
            return _head(REQUESTS, tag, len(times), len(data)) + data
        if kind is Promise:
            place = b"" if message.place == NOTHING else message.place.to_bytes(8, "little", signed=True)
            return _head(PROMISE, message.tag, message.bound, len(place)) + place
        return _head(MARK, message.barrier, 0, 0)

    def _write(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.nbytes < APART or value.dtype.kind not in NUMBERS:
            return written_array(value)
        at, self.room = self.room, self.room + aligned(value.nbytes)
        self.apart.append((at, value))
        return [value.dtype.str, list(value.shape), at]

    def decode(self, data: Any, beside: np.ndarray = NONE) -> tuple[Message, ...]:
        """`beside`: where the arrays lie that are apart. DataError: a state is not of the class that the program says."""
        self._beside = beside
        found: list[Message] = []
        at, last = 0, len(data) - HEAD.size
        while at <= last:
            kind, number, other, size = _head_of(data, at)
            if not kind:
                break
            at += HEAD.size
            if kind == REQUEST:
                found.append(Request(number, (other,)))
            elif kind in (UP, DOWN):
                state = self._state(data[at : at + size])
                self.clock.heard(other)
                found.append(StateUp(state, number) if kind == UP else StateDown(state, number))
            elif kind == PROMISE:
                place = int.from_bytes(data[at : at + size], "little", signed=True) if size else NOTHING
                found.append(Promise(number, other, place))
            elif kind == REQUESTS:
                words = np.frombuffer(bytes(data[at : at + size]), np.int64)
                places = words[other:] if len(words) > other else None
                found.append(Request(None if number == END_OF_INPUT else number, words[:other], places))
            else:
                found.append(Mark(number))
            at += size
        self._beside = NONE
        return tuple(found)

    def _state(self, data: Any) -> Any:
        try:
            return self._decode_state(data)
        except (msgspec.DecodeError, UnicodeDecodeError, NotImplementedError) as error:
            raise DataError(
                f"{self.where}: a state that came from another process is no {self._name}: {error}; allowed: what "
                "the annotations of its fields say"
            ) from error

    def _read(self, kind: type, value: Any) -> Any:
        if not is_array(kind) or not isinstance(value[2], int):
            return read_array(kind, value)
        name, shape, at = value
        found = np.empty(shape, np.dtype(name))
        found.reshape(-1).view(np.uint8)[:] = self._beside[at : at + found.nbytes]
        return found
