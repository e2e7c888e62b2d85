"""The channels between workers of a plan in different processes. Only these channels form cycles. Decides nothing.

What a worker has to say never waits for room: it is kept until there is, so a full channel holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from actorstream.dgs.messages import Promise, Request, StateDown, StateUp
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.events.writable import allocate
from actorstream.runtime.dependency.messages import aligned
from actorstream.runtime.dependency.short_form import (
    DOWN,
    FIELDS,
    FORM,
    SHORT,
    STATE,
    UP,
    Bytes,
    OneRequest,
    OneState,
    Said,
)
from actorstream.transports.base import Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.native.arena import Arena
    from actorstream.runtime.dependency.messages import Codec, Message
    from actorstream.runtime.dependency.share import Share
    from actorstream.transports.base import ReceiveChannel, SendChannel

END = int(FrameKind.END)
WORDS = Schema.from_dict({"words": "int"})
"""Messages between processes are the bytes of such rows, so that any transport carries them as a jumbo tuple. The first word
says how many bytes of messages follow; arrays lie behind these."""


class TreeSender:
    """The sending end: messages in their order, as few hand-overs as there are turns.

    Args:
        arena: where jumbo tuples of messages are built; None: on the heap.
    """

    def __init__(self, channel: SendChannel, arena: Arena | None, codec: Codec) -> None:
        self.channel, self.arena, self.codec = channel, arena, codec
        self.pending: list[Message] = []
        short = (channel.events(form, 0, 0) for form in (Bytes(), OneRequest(), OneState(codec)))
        self._send_bytes, self._send_request, self._send_state = short
        """Send short messages in the entry of the ring, which needs no block, if all messages before them were taken."""
        self._brief = True
        """Whether no state so far was too long for an entry."""
        self._encoded: Frame | None = None
        self._ending = False

    def end(self) -> None:
        """Ends the link: no further message follows."""
        self._ending = True

    @property
    def waits(self) -> bool:
        """Whether there is something to send."""
        return bool(self.pending) or self._encoded is not None or self._ending

    def flush(self) -> bool:
        """Sends the messages that wait. False: there is no room for all of them, and the doorbell will ring when there is."""
        if self._encoded is None and not self.pending and not self._ending:
            return True
        if self._encoded is None and self.pending:
            messages, self.pending = self.pending, []
            self._say_bytes(messages)
            if self._encoded is None and not self._ending:
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
        if self.pending or self._encoded is not None or self._ending:
            self.say(messages)
        elif len(messages) == 1 and self._say_one(messages[0]):
            messages.clear()
            return
        else:
            self._say_bytes(messages)
            messages.clear()
            if self._encoded is None:
                return
        self.flush()

    def _say_one(self, message: Any) -> bool:
        """Sends the only message as it is, if it can go so; False: nothing was changed."""
        kind = type(message)
        if kind is Request:
            send = self._send_request
            return (
                send is not None
                and len(message.times) == 1
                and message.places is None
                and send(message, 0, 0)
            )
        send = self._send_state
        if not self._brief or send is None or (kind is not StateUp and kind is not StateDown):
            return False
        state, number = message
        data = self.codec.bytes_of(state)
        if data is None or len(data) > STATE:
            self._brief = False
            return False
        return send((UP if kind is StateUp else DOWN, number, data), 0, 0)  # type: ignore[arg-type]

    def _say_bytes(self, messages: list[Any]) -> None:
        """Sends messages in the entry of the ring, or makes a frame of them that is to be sent."""
        data, send = self.codec.encode(messages), self._send_bytes
        if send is None or self.codec.room or len(data) > SHORT or not send(data, 0, 0):  # type: ignore[arg-type]
            self._encoded = self._frame(data)

    def _next(self) -> Frame | None:
        if self.pending:
            messages, self.pending = self.pending, []
            return self._frame(self.codec.encode(messages))
        if self._ending:
            self._ending = False
            return Frame(FrameKind.END)
        return None

    def _frame(self, data: bytes) -> Frame:
        codec, beside = self.codec, aligned(8 + len(data))
        batch = allocate(WORDS, (beside + codec.room) // 8, self.arena)
        words = batch.arrays()[0]
        words[0] = len(data)
        view = words.view(np.uint8)
        view[8 : 8 + len(data)] = np.frombuffer(data, np.uint8)
        for at, array in codec.apart:
            place = view[beside + at : beside + at + array.nbytes]
            place.view(array.dtype).reshape(array.shape)[...] = array
        codec.apart = []
        jumbo: Any = batch.seal()._jumbo
        return Frame(FrameKind.DATA, jumbo, rows=batch.rows, nbytes=jumbo.nbytes, schema=WORDS.fingerprint)

    def say(self, messages: list[Any]) -> None:
        """Queues messages. A promise is left out if a later promise of its tag follows it directly."""
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


class TreeReceiver:
    """The receiving end. `take` raises BrokenError if the sender is lost."""

    def __init__(self, channel: ReceiveChannel, codec: Codec) -> None:
        self.channel, self.codec = channel, codec
        said = Said(codec)
        self._said = said.said
        self._take_short = channel.rows(FIELDS)
        watch = channel.watch_events(said)
        self.wait = None if watch is None else watch.wait
        """Waits as `EventWatch.wait` does, and takes what lies in the entry of a ring: messages, as `Said` does."""
        self.ended = False
        self.shares: list[Share] = []
        """Checkpoints whose mark has not come yet; messages that come now belong to them."""

    def take(self) -> Iterator[Message]:
        """Yields the messages that have come, one by one. An end is seen only after the message before it was handled."""
        channel, take_short = self.channel, self._take_short
        while True:
            if take_short is not None and (short := take_short()) is not None:
                yield from self._said(*short[0])
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
                yield from self._said(*FORM.unpack_from(frame.payload))
                continue
            words = Batch.from_jumbo(WORDS, frame.payload).column("words").data
            size, view = int(words[0]), cast("Any", words.view(np.uint8))
            messages = self.codec.decode(memoryview(view[8 : 8 + size]), view[aligned(8 + size) :])
            del words, view
            channel.consume()
            yield from messages

    def take_one(self) -> Sequence[Message]:
        """The messages in the entry of the ring itself, if that entry is the first that waits."""
        short = None if self._take_short is None else self._take_short()
        return () if short is None else self._said(*short[0])
