"""A pool of jumbo tuples to write in place again and again: their arrays are made once a block, not once a batch.

A block is written again only when nobody can see it any more: all its loans are back, and neither batch nor array
of the last use is held by user code. Otherwise another one is taken.
"""

from __future__ import annotations

from collections import deque
from sys import getrefcount
from typing import TYPE_CHECKING, Any

from actorstream.events.jumbo import JumboTuple
from actorstream.events.schema import Schema
from actorstream.events.writable import WritableBatch, allocate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np

    from actorstream.native.arena import Arena

MOST_POOLS = 4
"""Sizes of batches for which a replica keeps blocks."""
MOST = 64
"""Blocks that a pool holds at the most."""
TRIES = 2
"""Blocks that are looked at before a new one is taken. The oldest comes first, so that a block rests while its consumer
reads it, and lies beyond the nearest cache when it is written again: that is cheaper than to write what the other core
still holds (`ipc` numpy-sum: 12% more)."""


class _Slot:
    """A block with its batch and arrays, and how many references each has while nobody uses them."""

    __slots__ = ("batch", "block", "jumbo", "open", "parts", "references", "uses")

    def __init__(self, batch: WritableBatch) -> None:
        jumbo: Any = batch._jumbo
        self.batch, self.jumbo = batch, jumbo
        self.block: Any = jumbo.block
        self.open: dict[str, np.ndarray] = batch._open  # type: ignore[assignment]
        arrays = list(self.open.values())
        self.parts = [batch, jumbo, self.block, arrays[0].base, *arrays]
        self.uses: int = self.block.uses
        self.references = 0

    def forget(self) -> None:
        """Lets go of what was made when somebody read the batch: views that use the block."""
        batch, jumbo = self.batch, self.jumbo
        jumbo._data, jumbo._table, jumbo._layout = None, None, None
        jumbo._typed = JumboTuple(self.block, size=jumbo.size)._typed
        batch._columns = [None] * len(batch._columns)
        batch._events = batch._system = batch._times = batch._table = batch._lineage = None


class WritablePool:
    """Writable batches of `rows` rows of `schema` in `arena`."""

    def __init__(self, schema: Schema, rows: int, arena: Arena) -> None:
        self.schema, self.rows, self.arena = schema, rows, arena
        self._slots: deque[_Slot] = deque()

    def take(self) -> WritableBatch:
        """A batch with undefined values. ResourceError if the arena is full."""
        slots = self._slots
        for _ in range(min(TRIES, len(slots))):
            slot = slots[0]
            slots.rotate(-1)
            if sum(map(getrefcount, slot.parts)) == slot.references:  # nobody in this process holds it
                batch = slot.batch
                # A single row becomes an event without the views of columns.
                if slot.jumbo._data is not None or batch._events is not None or batch._lineage is not None:
                    slot.forget()
                if slot.block.uses == slot.uses:  # nor does a consumer
                    batch._open = slot.open
                    return batch
        if len(slots) >= MOST:
            slots.popleft()
        batch = allocate(self.schema, self.rows, self.arena)
        batch._pooled = True
        slot = _Slot(batch)
        del batch
        slot.references = sum(map(getrefcount, slot.parts))
        slots.append(slot)
        return slot.batch


class Allocations:
    """Batches that a replica writes in place: blocks of MOST_POOLS sizes are kept, others are allocated anew.

    Args:
        outputs: name -> schema; a batch of an equal schema is of that very object.
        unfit: makes the error of rows that do not fit their schema; it names who made them.
    """

    def __init__(
        self, outputs: Mapping[str, Schema], unfit: Callable[[Exception], Exception] | None = None
    ) -> None:
        self._outputs, self._unfit = outputs, unfit
        self._pools: dict[tuple[Any, int], WritablePool] = {}

    def take(self, event: Any, rows: int, arena: Arena | None) -> WritableBatch:
        """A batch of an event class to be written. `arena`: where it lies; None: on the heap."""
        pool = self._pools.get((event, rows))
        batch = self._allocated(event, rows, arena) if pool is None else pool.take()
        batch._unfit = self._unfit
        return batch

    def _allocated(self, event: Any, rows: int, arena: Arena | None) -> WritableBatch:
        schema = Schema.of(event)
        schema = next((output for output in self._outputs.values() if output == schema), schema)
        if arena is None or len(self._pools) >= MOST_POOLS:
            return allocate(schema, rows, arena)
        pool = self._pools[event, rows] = WritablePool(schema, rows, arena)
        return pool.take()
