"""What one side of a link has to say and has not written yet, as frames in one buffer. Writes nothing itself."""

from __future__ import annotations

from typing import Any

import msgspec

from actorstream.actors.failure import Failure, shortened
from actorstream.actors.ref import ActorRef
from actorstream.actors.typetable import OutboundTypes
from actorstream.actors.wire import (
    BLANK,
    HEADER,
    LENGTH_BYTES,
    ActorFrameKind,
    Control,
    DefineType,
    control_frame,
)
from actorstream.errors import ActorError


class SendQueue:
    """Frames in the order in which they leave. `limit`: largest frame that the peer takes."""

    __slots__ = ("_encoder", "_types", "frames", "limit")

    def __init__(self) -> None:
        self.frames = bytearray()
        self.limit = 0
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_encode_ref)
        self._types = OutboundTypes(ActorRef)

    def encode(self, kind: int, target: int, ask: int, message: Any) -> int:
        """Appends a message's frame and returns where it starts. Raises ActorError if the message cannot travel."""
        number = self._types.numbers.get(message.__class__)
        if number is None:
            number, name = self._types.introduce(message)
            if name:
                self.control(DefineType(number, name))
        frames = self.frames
        start = len(frames)
        frames += BLANK
        try:
            self._encoder.encode_into(message, frames, -1)
        except Exception as error:
            del frames[start:]
            raise ActorError(
                f"a {type(message).__name__} cannot be sent to another process: {error}; allowed: msgspec Structs and "
                "values that msgpack can carry"
            ) from error
        size = len(frames) - start
        if size > self.limit:
            del frames[start:]
            raise ActorError(
                f"a {type(message).__name__} of {size} bytes is over the receiver's limit of {self.limit}: send it in "
                "parts, or raise `max_frame` of that System"
            )
        HEADER.pack_into(frames, start, size - LENGTH_BYTES, kind, 0, number, target, ask)
        return start

    def cut(self, start: int) -> bytes:
        """Takes back the frame that starts at `start`, the last one."""
        frame = bytes(self.frames[start:])
        del self.frames[start:]
        return frame

    def control(self, message: Control) -> None:
        self.frames += control_frame(message)

    def failure(self, ask: int, failure: Failure) -> None:
        """Answers an ask by an exception, or by what is short enough for the peer to take. It never fails."""
        start = len(self.frames)
        for told in (failure, *shortened(failure)):
            self.frames += BLANK
            try:
                self._encoder.encode_into(told, self.frames, -1)
            except Exception:  # such as a value that is nested too deeply
                del self.frames[start:]
                continue
            size = len(self.frames) - start
            if size <= self.limit:
                kind = ActorFrameKind.ERROR
                HEADER.pack_into(self.frames, start, size - LENGTH_BYTES, kind, 0, 0, 0, ask)
                return
            del self.frames[start:]

    def stop(self, target: int, ask: int) -> None:
        self.frames += HEADER.pack(HEADER.size - LENGTH_BYTES, ActorFrameKind.STOP, 0, 0, target, ask)

    def take(self) -> bytearray:
        """Everything gathered so far, to be written."""
        frames, self.frames = self.frames, bytearray()
        return frames


def _encode_ref(value: Any) -> Any:
    if isinstance(value, ActorRef):
        return value.address
    raise NotImplementedError(f"objects of type {type(value).__name__} do not travel between processes")
