"""Copies a jumbo tuple whose memory the receiver could not map, or should not keep."""

from __future__ import annotations

import numpy as np

from actorstream.events.jumbo import HeapBlock, JumboTuple
from actorstream.native.arena import Arena


def copied(payload: JumboTuple, arena: Arena | None) -> JumboTuple:
    """The same jumbo tuple in `arena`, or on the heap."""
    data = np.frombuffer(payload.buffer(), np.uint8)
    block = HeapBlock.allocate(len(data)) if arena is None else arena.allocate(len(data))
    block.view()[: len(data)] = data
    return JumboTuple(block, trusted=payload.trusted)
