"""Messages between workers of a plan as bytes: a head of fixed length, then times or a state (msgpack, never pickle). Knows
nothing of channels."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

import msgspec
import numpy as np

from actorstream.dgs.mailbox import NOTHING
from actorstream.dgs.messages import Mark, Message, Promise, Request, StateDown, StateUp
from actorstream.dgs.state_bytes import NUMBERS, is_array, packed, read_array, written_array
from actorstream.errors import DataError

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
Encoded = tuple[int, int, int, int, bytes]
"""Messages as bytes: the four numbers of the first one's head, and all that follows."""
PROMISE, REQUEST, REQUESTS, UP, DOWN, MARK = range(1, 7)
END_OF_INPUT = -1
"""The tag of the request at the end of all input."""
APART = 4096
"""Bytes from which on an array lies beside its message: it is copied once into shared memory, and once out of it."""
ALIGNED = 64
NONE: np.ndarray = np.empty(0, np.uint8)


def as_bytes(encoded: Encoded) -> bytes:
    """All bytes of messages in one."""
    return HEAD.pack(*encoded[:4]) + encoded[4]


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
        """Arrays of the messages encoded since `placed`, and where each begins in the room beside them."""
        self.room = 0
        """Bytes that these take."""
        self._beside = NONE

    def encode(self, messages: Sequence[Any]) -> Encoded:
        """DataError: a state is not of values that msgpack can carry."""
        first = self.encode_one(messages[0])
        if len(messages) == 1:
            return first
        return *first[:4], first[4] + b"".join(as_bytes(self.encode_one(each)) for each in messages[1:])

    def encode_one(self, message: Any) -> Encoded:
        """As `encode` of a single message."""
        kind = type(message)
        if kind is StateUp or kind is StateDown:
            state, number = message
            data = packed(state, self.where, self._encoder)
            return UP if kind is StateUp else DOWN, number, self.clock.now, len(data), data
        if kind is Request:
            tag, times, places = message
            if tag is None:
                tag = END_OF_INPUT
            if len(times) == 1 and places is None:
                return REQUEST, tag, int(times[0]), 0, b""
            data = np.asarray(times).tobytes() + (b"" if places is None else places.tobytes())
            return REQUESTS, tag, len(times), len(data), data
        if kind is Promise:
            place = b"" if message.place == NOTHING else message.place.to_bytes(8, "little", signed=True)
            return PROMISE, message.tag, message.bound, len(place), place
        return MARK, message.barrier, 0, 0, b""

    def placed(self) -> None:
        """The arrays beside the encoded messages have been copied to their place."""
        self.apart, self.room = [], 0

    def _write(self, value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.nbytes < APART or value.dtype.kind not in NUMBERS:
            return written_array(value)
        at, self.room = self.room, self.room + aligned(value.nbytes)
        self.apart.append((at, value))
        return [value.dtype.str, list(value.shape), at]

    def decode(
        self, kind: int, number: int, other: int, size: int, data: Any, beside: np.ndarray = NONE
    ) -> tuple[Message, ...]:
        """Messages as `encode` gave them, and perhaps bytes 0 behind them. `beside`: where the arrays lie that are apart.
        DataError: a state is not of the class that the program says."""
        if kind == REQUEST and data and not data[0]:  # nothing follows: the most frequent one
            return (Request(number, (other,)),)
        self._beside = beside
        message = self._decoded(kind, number, other, data[:size])
        at, last = size, len(data) - HEAD.size
        if at > last or not data[at]:
            self._beside = NONE
            return (message,)
        found = [message]
        while at <= last and data[at]:
            kind, number, other, size = HEAD.unpack_from(data, at)
            at += HEAD.size
            found.append(self._decoded(kind, number, other, data[at : at + size]))
            at += size
        self._beside = NONE
        return tuple(found)

    def decode_bytes(self, data: Any, beside: np.ndarray = NONE) -> tuple[Message, ...]:
        """As `decode`, of `as_bytes`."""
        kind, number, other, size = HEAD.unpack_from(data)
        return self.decode(kind, number, other, size, data[HEAD.size :], beside)

    def _decoded(self, kind: int, number: int, other: int, data: Any) -> Message:
        if kind == REQUEST:
            return Request(number, (other,))
        if kind in (UP, DOWN):
            try:
                state = self._decode_state(data)
            except (msgspec.DecodeError, UnicodeDecodeError, NotImplementedError) as error:
                raise DataError(
                    f"{self.where}: a state that came from another process is no {self._name}: {error}; allowed: what "
                    "the annotations of its fields say"
                ) from error
            self.clock.heard(other)
            return StateUp(state, number) if kind == UP else StateDown(state, number)
        if kind == PROMISE:
            return Promise(number, other, int.from_bytes(data, "little", signed=True) if data else NOTHING)
        if kind == REQUESTS:
            words = np.frombuffer(bytes(data), np.int64)
            places = words[other:] if len(words) > other else None
            return Request(None if number == END_OF_INPUT else number, words[:other], places)
        return Mark(number)

    def _read(self, kind: type, value: Any) -> Any:
        if not is_array(kind) or not isinstance(value[2], int):
            return read_array(kind, value)
        name, shape, at = value
        found = np.empty(shape, np.dtype(name))
        found.reshape(-1).view(np.uint8)[:] = self._beside[at : at + found.nbytes]
        return found
