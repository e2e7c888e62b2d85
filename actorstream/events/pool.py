"""A pool of jumbo tuples to write in place again and again: their arrays are made once a block, not once a batch.

A block is written again only when nobody can see it any more: all its loans are back, and neither batch nor array
of the last use is held by user code. Otherwise another one is taken; what is kept for good leaves the pool.
"""

from __future__ import annotations

from collections import deque
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from actorstream.events.jumbo import JumboTuple
from actorstream.events.writable import WritableBatch, allocate

if TYPE_CHECKING:
    import numpy as np

    from actorstream.events.schema import Schema
    from actorstream.native.arena import Arena

MOST = 64
"""Blocks that a pool holds at the most."""
TRIES = 2
"""Blocks that are looked at before a new one is taken. The oldest comes first, so that a block rests while its consumer
reads it, and lies beyond the nearest cache when it is written again: that is cheaper than to write what the other core
still holds (`ipc` numpy-sum: 12% more)."""


class _Slot:
    """A block with its arrays, and how many references each has while nobody uses them."""

    __slots__ = ("arrays", "block", "open", "references", "root", "uses")

    def __init__(self, batch: WritableBatch) -> None:
        jumbo: Any = batch._jumbo
        self.block: Any = jumbo.block
        self.open: dict[str, np.ndarray] = batch._open  # type: ignore[assignment]
        self.arrays = list(self.open.values())
        self.root: np.ndarray = self.arrays[0].base  # type: ignore[assignment]
        self.uses: int = self.block.uses
        self.references = 0

    def count(self) -> int:
        """References to the block, its root array and its columns."""
        return getrefcount(self.block) + getrefcount(self.root) + sum(map(getrefcount, self.arrays))


class WritablePool:
    """Writable batches of `rows` rows of `schema` in `arena`."""

    def __init__(self, schema: Schema, rows: int, arena: Arena) -> None:
        self.schema, self.rows, self.arena = schema, rows, arena
        self._slots: deque[_Slot] = deque()
        self._user = schema.user
        self._fields = len(self._user.fields)
        self._size = 0

    def take(self) -> WritableBatch:
        """A batch with undefined values. ResourceError if the arena is full."""
        slots = self._slots
        for _ in range(min(TRIES, len(slots))):
            slot = slots.popleft()
            if slot.block.uses == slot.uses:
                if slot.count() == slot.references:
                    slots.append(slot)
                    return self._batch(slot)
                continue  # user code holds an array or the batch: it is his from now on
            slots.append(slot)
        if len(slots) >= MOST:
            slots.popleft()
        batch = allocate(self.schema, self.rows, self.arena)
        self._size = batch._jumbo.size  # type: ignore[union-attr]
        slot = _Slot(batch)
        del batch
        slot.references = slot.count()
        slots.append(slot)
        return self._batch(slot)

    def _batch(self, slot: _Slot) -> WritableBatch:
        jumbo = JumboTuple(slot.block, self.rows, size=self._size)
        batch = WritableBatch(self._user, self.rows, [None] * self._fields, None, jumbo, self.schema)
        batch._open = slot.open
        batch._pooled = True
        return batch
