"""Links between workers of a plan in different processes. Only their channels form cycles. Decides nothing.

A message never waits for room in the worker that sends it: the link keeps it, so a full channel holds up nobody else.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from actorstream.dgs.message_bytes import HEAD, aligned, as_bytes
from actorstream.dgs.messages import Promise
from actorstream.errors import BrokenError
from actorstream.events.batch import Batch
from actorstream.events.row_format import RowFormat
from actorstream.events.schema import Schema
from actorstream.events.writable import allocate
from actorstream.transports.base import Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.dgs.message_bytes import Codec
    from actorstream.dgs.messages import Message
    from actorstream.native.arena import Arena
    from actorstream.transports.base import ReceiveChannel, SendChannel

END = int(FrameKind.END)
WORDS = Schema.from_dict({"words": "int"})
"""Messages between processes are the bytes of such rows, so that any transport carries them as a jumbo tuple. The first word
says how many bytes of messages follow; arrays lie behind these."""
ENTRY = 72 - HEAD.size
"""Most bytes behind the head of the first message that lie in the entry of a ring itself, which needs no block."""


class EntryFormat(RowFormat):
    """Messages in the entry of a ring: `Encoded` is what is sent, and what comes is decoded."""

    __slots__ = ()

    def __init__(self, codec: Codec) -> None:
        self.layout, self.names, self.reads = f"{HEAD.format[1:]}{ENTRY}s", {}, ["*event"]
        self.plain = codec.decode  # type: ignore[assignment]
        self.event = lambda values: codec.decode(*values)  # type: ignore[assignment, return-value]


class Neighbour:
    """The parent or a child of a worker, in another process. Messages go there and come from there in their order, in as few
    hand-overs as there are turns.

    Args:
        child: its number among the worker's children; -1: it is the parent.
        out, into: the channels to it and from it.
        arena: where jumbo tuples of messages are built; None: on the heap.
        watches: whether the process waits for messages.
    """

    def __init__(
        self,
        child: int,
        out: SendChannel,
        into: ReceiveChannel,
        codec: Codec,
        *,
        arena: Arena | None = None,
        watches: bool = False,
    ) -> None:
        self.child, self.out, self.into, self.codec, self.arena = child, out, into, codec, arena
        self.pending: list[Message] = []
        entries = EntryFormat(codec)
        self._send_entry = out.events(entries, 0, 0)
        """Sends messages in the entry of the ring, if the receiver has taken everything before; None: it has no such entries."""
        self._take_entry = into.rows(entries.layout)
        watch = into.watch_events(entries) if watches else None
        self.wait = None if watch is None else watch.wait
        """Waits as `EventWatch.wait` does, and takes what lies in the entry of a ring: messages, as a tuple."""
        self._frame: Frame | None = None
        """The frame for which there was no room."""
        self._ending = False
        self.closed = False
        """Whether the end of its messages has come."""

    # -- what goes there

    def end(self) -> None:
        """Ends the link: no further message follows."""
        self._ending = True

    @property
    def waits(self) -> bool:
        """Whether there is something to send."""
        return bool(self.pending) or self._frame is not None or self._ending

    def send(self, messages: list[Any], *, at_once: bool) -> None:
        """Takes messages off a list. The receiver waits for those that are sent at once; others wait for the end of the turn.
        A promise is left out if a later promise of its tag follows it directly."""
        if at_once and not self.pending and self._frame is None and not self._ending:
            self._post(messages)
            messages.clear()
            if self._frame is None:
                return
        waiting = self.pending
        for message in messages:
            before = waiting[-1] if waiting else None
            if type(message) is Promise and type(before) is Promise and before.tag == message.tag:
                waiting[-1] = message
            else:
                waiting.append(message)
        messages.clear()
        if at_once:
            self.flush()

    def flush(self) -> bool:
        """Sends the messages that wait. False: there is no room for all of them, and the doorbell will ring when there is."""
        while self.waits:
            if self.pending and self._frame is None:
                messages, self.pending = self.pending, []
                self._post(messages)
            elif self._frame is None:
                self._frame, self._ending = Frame(FrameKind.END), False
            if self._frame is not None:
                self.out.poll()
                if not self.out.send_nowait(self._frame):
                    return False
                self._frame = None
        return True

    def _post(self, messages: list[Any]) -> None:
        """Sends messages in the entry of a ring, or makes a frame of them that is to be sent."""
        codec, send = self.codec, self._send_entry
        encoded = codec.encode_one(messages[0]) if len(messages) == 1 else codec.encode(messages)
        if send is None or len(encoded[4]) > ENTRY or codec.room or not send(encoded, 0, 0):  # type: ignore[arg-type]
            self._frame = self._framed(as_bytes(encoded))

    def _framed(self, data: bytes) -> Frame:
        codec, beside = self.codec, aligned(8 + len(data))
        batch = allocate(WORDS, (beside + codec.room) // 8, self.arena)
        words = batch.arrays()[0]
        words[0] = len(data)
        view = words.view(np.uint8)
        view[8 : 8 + len(data)] = np.frombuffer(data, np.uint8)
        for at, array in codec.apart:
            place = view[beside + at : beside + at + array.nbytes]
            place.view(array.dtype).reshape(array.shape)[...] = array
        codec.placed()
        jumbo: Any = batch.seal()._jumbo
        return Frame(FrameKind.DATA, jumbo, rows=batch.rows, nbytes=jumbo.nbytes, schema=WORDS.fingerprint)

    # -- what comes from there

    def take_entry(self) -> tuple[Message, ...]:
        """The messages in the entry of a ring, if that entry is the first that waits; costs a third of a look by `take`."""
        entry = None if self._take_entry is None else self._take_entry()
        return () if entry is None else self.codec.decode(*entry[0])

    def take(self) -> Iterator[Message]:
        """Yields the messages that have come, one by one. An end is seen only after the message before it was handled.
        BrokenError: the neighbour is lost."""
        channel, codec, take_entry = self.into, self.codec, self._take_entry
        while True:
            if take_entry is not None and (entry := take_entry()) is not None:
                yield from codec.decode(*entry[0])
                continue
            if (frame := channel.peek()) is None:
                return
            if frame.kind == END:
                channel.consume()
                self.closed = True
                return
            payload = frame.payload
            if type(payload) is bytes:  # an entry has come between the two looks
                channel.consume()
                yield from codec.decode_bytes(payload)
                continue
            words = Batch.from_jumbo(WORDS, payload).column("words").data
            size, view = int(words[0]), cast("Any", words.view(np.uint8))
            data = memoryview(view[8 : 8 + size])
            if len(data) < HEAD.size:
                raise BrokenError(
                    f"{channel}: a message of {size} bytes is shorter than its head ({HEAD.size} bytes)"
                )
            messages = codec.decode_bytes(data, view[aligned(8 + size) :])
            del words, view, data, payload
            channel.consume()
            yield from messages
