"""The sending side of serial edges: every jumbo tuple has a serial number, and numbers ascend on every channel.

Rows of two numbers never share a jumbo tuple, and what has no rows of a number for a consumer promises that none come:
the frontier word beside the ring, which a full ring cannot delay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.runtime.output import OutLane
from actorstream.transports.base import Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.runtime.serial.numbering import Numbering

SERIAL_WORD = 1
"""The frontier word of a channel that promises serial numbers."""


class SerialLane(OutLane):
    """Numbered rows that wait for one replica of one consumer: `pending` has (number, rows) pairs beside control marks.
    `numbering`: the number of what is pushed."""

    __slots__ = ("numbering", "waiting_promise")

    def __init__(self, *arguments: Any, numbering: Numbering, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.numbering = numbering
        self.waiting_promise = 0
        numbering.lanes.append(self)

    def push(self, batch: Batch) -> None:
        self.pending.append((self.numbering.number, batch))
        self.rows += batch.rows
        if not self.blocked:
            self.flush()

    def advance(self, frontier: int) -> None:
        """Event time goes in band: it takes effect behind the rows of the same number, on every lane alike."""
        number = self.numbering.number
        self.pending.append(
            Frame(FrameKind.HEARTBEAT, producer=self.producer, serial=number, max_time=frontier)
        )
        if not self.blocked:
            self.flush()

    def promise(self, number: int) -> None:
        """Promises that no lower number follows, as soon as the rows before the promise are sent."""
        if self.pending or self._encoded is not None:
            self.waiting_promise = number
        else:
            self.channel.advance(SERIAL_WORD, number)

    def flush(self) -> bool:
        if not super().flush():
            return False
        if self.waiting_promise:
            self.channel.advance(SERIAL_WORD, self.waiting_promise)
            self.waiting_promise = 0
        return True

    def _next_frame(self) -> Frame | None:
        """Takes the next piece of a number's rows, or mark, off the queue; None if the channel would not admit it."""
        item = self.pending[0]
        if isinstance(item, Frame):
            self.pending.popleft()
            return item
        number, batch = item
        nbytes, rows = batch.nbytes, min(batch.rows, self.batch_size)
        if nbytes > self.cut_bytes:
            rows = max(1, min(rows, batch.rows * self.cut_bytes // nbytes))
        if not self.channel.admits(nbytes * rows // batch.rows):
            return None
        part = batch
        if rows < batch.rows:
            part, rest = batch.slice(0, rows), batch.slice(rows, batch.rows - rows)
            part.began = rest.began = batch.began
            self.pending[0] = (number, rest)
        else:
            self.pending.popleft()
        self.rows -= rows
        frame = self._whole(part) or self._parts([part], part.nbytes)
        frame.serial = number
        return frame


class ByNumber:
    """The route of a serial edge that may choose freely: a number's rows all go to one consumer, in turn."""

    def __init__(self, numbering: Numbering, consumers: int) -> None:
        self.numbering, self.consumers = numbering, consumers

    def __call__(self, batch: Batch) -> list[tuple[int, Batch]]:
        numbering = self.numbering
        return [(numbering.number // numbering.phases % self.consumers, batch)]
