"""The channels between workers of a plan in different processes: the only cycles there are. Carries, decides nothing.

What a worker has to say never waits for room: it is kept until there is, so a full channel holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.dgs.messages import Promise
from actorstream.events.jumbo import JumboTuple
from actorstream.events.row_format import RowFormat
from actorstream.runtime.dependency.messages import aligned
from actorstream.transports.base import Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.native.arena import Arena
    from actorstream.runtime.dependency.cuts import Share
    from actorstream.runtime.dependency.messages import Codec, Message
    from actorstream.transports.base import Channel, ReceiveChannel, SendChannel

END = int(FrameKind.END)
SHORT = 70
"""Bytes of messages that travel in the entry of the ring itself, if all before them were taken: no block, no loan."""
ROW = f"H{SHORT}s"
FORM = Struct(f"<{ROW}")


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A channel of the job from one worker of a plan to its parent or a child, by replica numbers of the plan."""

    channel: Channel
    actor: str
    sender: int
    receiver: int
    """Numbers of the two in the synchronization plan, from 1."""


class TreeSender:
    """The sending end: messages in their order, as few hand-overs as there are turns."""

    def __init__(self, channel: SendChannel, arena: Arena, codec: Codec) -> None:
        self.channel, self.arena, self.codec = channel, arena, codec
        self.pending: list[Message] = []
        self._send_short = channel.rows(ROW)
        self._encoded: Frame | None = None
        self._ending = False

    def end(self) -> None:
        """Nothing follows what was said."""
        self._ending = True

    @property
    def waits(self) -> bool:
        """Whether there is something to send."""
        return bool(self.pending) or self._encoded is not None or self._ending

    def flush(self) -> bool:
        """Sends what waits; False: there is no room for all of it, and the doorbell will ring when there is."""
        if self._encoded is None and not self.pending and not self._ending:
            return True
        if self._encoded is None and self.pending and self._send_short is not None:
            messages, self.pending = self.pending, []
            data = self.codec.encode(messages)
            if (
                self.codec.room
                or len(data) > SHORT
                or not self._send_short((len(data), data), 0, 0, 0, 0, 0, 0)
            ):
                self._encoded = self._frame(messages, data)
            elif not self._ending:
                return True
        self.channel.poll()
        while (frame := self._encoded or self._next()) is not None:
            self._encoded = frame
            if not self.channel.send_nowait(frame):
                return False
            self._encoded = None
        return True

    def hand_over(self, messages: list[Any]) -> None:
        """`say` and `flush`, in one if nothing waits before."""
        if self.pending or self._encoded is not None or self._ending or self._send_short is None:
            self.say(messages)
        else:
            data = self.codec.encode(messages)
            if (
                not self.codec.room
                and len(data) <= SHORT
                and self._send_short((len(data), data), 0, 0, 0, 0, 0, 0)
            ):
                messages.clear()
                return
            self._encoded = self._frame(messages, data)
            messages.clear()
        self.flush()

    def _next(self) -> Frame | None:
        if self.pending:
            messages, self.pending = self.pending, []
            return self._frame(messages, self.codec.encode(messages))
        if self._ending:
            self._ending = False
            return Frame(FrameKind.END)
        return None

    def _frame(self, messages: list[Message], data: bytes) -> Frame:
        codec, beside = self.codec, aligned(8 + len(data))
        block = self.arena.allocate(beside + codec.room)
        view = block.view()
        view[:8].view(np.int64)[0] = len(data)
        view[8 : 8 + len(data)] = np.frombuffer(data, np.uint8)
        for at, array in codec.apart:
            place = view[beside + at : beside + at + array.nbytes]
            place.view(array.dtype).reshape(array.shape)[...] = array
        nbytes = len(data) + codec.room
        codec.apart = []
        return Frame(FrameKind.DATA, JumboTuple(block), rows=len(messages), nbytes=nbytes)

    def say(self, messages: list[Any]) -> None:
        """Takes messages over. A promise that a later one of its tag follows with nothing between is left out."""
        waiting = self.pending
        for message in messages:
            if (
                waiting
                and isinstance(message, Promise)
                and isinstance(waiting[-1], Promise)
                and waiting[-1].tag == message.tag
            ):
                waiting[-1] = message
            else:
                waiting.append(message)
        messages.clear()


class _Short(RowFormat):
    """How a short message lies in the entry of the ring."""

    __slots__ = ()

    def __init__(self) -> None:
        self.layout, self.plain = ROW, _said
        self.event = lambda row: _said(*row)


def _said(size: int, data: bytes) -> Any:
    return data[:size]


class TreeReceiver:
    """The receiving end. BrokenError from `take`: the sender is lost."""

    def __init__(self, channel: ReceiveChannel, codec: Codec) -> None:
        self.channel, self.codec = channel, codec
        self._take_short = channel.rows(ROW)
        watch = channel.watch_events(_Short())
        self.wait = None if watch is None else watch.wait
        """Waits as `EventWatch.wait` does, and takes a short message: its bytes, for `codec.decode`."""
        self.ended = False
        self.shares: list[Share] = []
        """Of checkpoints whose mark has not come yet: what comes belongs to them."""

    def take(self) -> Iterator[Message]:
        """Everything that has come, one after the other: an end behind a message is seen after it was dealt with."""
        channel, take_short = self.channel, self._take_short
        while True:
            if take_short is not None and (short := take_short()) is not None:
                yield from self._short(*short[0])
                continue
            if (frame := channel.peek()) is None:
                return
            if frame.kind == END:
                channel.consume()
                self.ended = True
                for share in self.shares:
                    share.close()
                self.shares.clear()
                return
            if type(frame.payload) is bytes:  # it has come between the two looks
                channel.consume()
                yield from self._short(*FORM.unpack_from(frame.payload))
                continue
            view = frame.payload.block.view()
            size = int(view[:8].view(np.int64)[0])
            messages = self.codec.decode(memoryview(view[8 : 8 + size]), view[aligned(8 + size) :])
            del view
            channel.consume()
            yield from messages

    def take_one(self) -> Sequence[Message]:
        """What has come in the entry of the ring itself, if that is the first that waits."""
        short = None if self._take_short is None else self._take_short()
        return () if short is None else self._short(*short[0])

    def _short(self, size: int, data: bytes) -> list[Message]:
        return self.codec.decode(data[:size])
