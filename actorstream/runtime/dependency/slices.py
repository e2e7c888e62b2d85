"""The sending end of a channel from a source to a worker of a plan: slices of one tag each, and promises behind them.

Only while a turn lasts does a slice wait for more of its tag, or a promise for the slices before it: at the turn's end all
goes that there is room for, since what a worker waits for may be all that it needs to make room elsewhere.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from actorstream.runtime.output import OutLane
from actorstream.transports.base import Frame, FrameKind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch


class _Slices:
    """Rows of one tag that wait on a lane."""

    __slots__ = ("batches", "rows", "tag")

    def __init__(self, tag: int) -> None:
        self.tag, self.rows = tag, 0
        self.batches: deque[Batch] = deque()


class SliceLane(OutLane):
    """Slices that wait for one worker of a plan; rows of two tags never share a jumbo tuple. `pending` has slices by tag
    beside control marks: while the worker has something to do, small selections of a tag's rows are gathered."""

    __slots__ = ("_open", "_promises")

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        if self.arena is None:  # parts would share its memory, and give none of it back earlier
            self.cut_bytes = max(self.channel.channel.budget, self.byte_limit)
        self._promises: dict[int, int] = {}
        """Frontier words that wait until the rows before them are sent."""
        self._open: dict[int, _Slices] = {}
        """Tag -> where its next rows wait: behind the last mark."""

    def promise(self, word: int, bound: int) -> None:
        """Promises for one stream, or (word 0) for all, as soon as the rows before the promise are sent."""
        if self.pending or self._encoded is not None:
            self._promises[word] = bound
        else:
            self.channel.advance(word, bound)

    def flush(self) -> bool:
        if not super().flush():
            return False
        if self._promises:
            for word, bound in self._promises.items():
                self.channel.advance(word, bound)
            self._promises.clear()
        return True

    def control(self, kind: FrameKind, barrier: int) -> None:
        self._open.clear()
        super().control(kind, barrier)

    def push_slice(self, tag: int, batch: Batch) -> None:
        """Sends at once what is a batch of its own, or large, or all that the worker has to do; else rows that were picked
        out of a batch, and so are copied anyway, wait for more of their tag until the turn ends."""
        rows, gathers = batch.rows, batch.is_selection
        if (
            not self.pending
            and self._encoded is None
            and not self.blocked
            and rows <= self.batch_size
            and (not gathers or rows + rows > self.batch_size or self.channel.is_empty())
        ):
            frame = self._whole(batch)
            if frame is not None:
                frame.serial = tag
                self._send(frame)
                return
        found = self._open.get(tag)
        if found is None:
            found = self._open[tag] = _Slices(tag)
            self.pending.append(found)
        found.batches.append(batch)
        found.rows += rows
        self.rows += rows
        if not self.blocked and (not gathers or found.rows >= self.batch_size or self.channel.is_empty()):
            self.flush()

    def _next_frame(self) -> Frame | None:
        """Takes the next rows of a tag, or mark, off the queue; None if the channel would not admit them."""
        head = self.pending[0]
        if isinstance(head, Frame):
            self.pending.popleft()
            return head
        tag, parts = head.tag, list[Any]()
        waiting, rows, nbytes = head.batches, 0, 0
        schema = self._schema(waiting[0])
        for batch in waiting:
            size = schema.row_bytes * batch.rows if schema.fixed else batch.nbytes
            if parts and (
                rows + batch.rows > self.batch_size
                or nbytes + size > self.byte_limit
                or self._schema(batch) is not schema
            ):
                break
            parts.append(batch)
            rows += batch.rows
            nbytes += size
        if len(parts) == 1:
            most = min(rows, self.batch_size)
            if nbytes > self.cut_bytes:
                most = max(1, min(most, rows * self.cut_bytes // nbytes))
            nbytes, rows = nbytes * most // rows, most
        if not self.channel.admits(nbytes):
            return None
        first = parts[0]
        if rows < first.rows:
            parts[0], rest = first.slice(0, rows), first.slice(rows, first.rows - rows)
            parts[0].began = rest.began = first.began
            waiting[0] = rest
        else:
            for _ in parts:
                waiting.popleft()
        self.rows -= rows
        head.rows -= rows
        if not waiting:
            self.pending.popleft()
            if self._open.get(tag) is head:
                del self._open[tag]
        frame = (self._whole(parts[0]) if len(parts) == 1 else None) or self._parts(parts, nbytes)
        frame.serial = tag
        return frame
