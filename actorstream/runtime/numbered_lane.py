"""A lane whose rows belong to a number that every frame carries: a serial number, or an implementation tag. Rows of two
numbers never share a jumbo tuple. Decides nothing about order."""

from __future__ import annotations

from actorstream.runtime.output import OutLane
from actorstream.transports.base import Frame


class NumberedLane(OutLane):
    """`pending` has (number, rows) pairs beside control marks."""

    __slots__ = ()

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
