"""Stretches of a ScaleGate as batches: which of them become one, and of which runs its rows are (include/stretches.h)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.merge import Tags
from actorstream.native.scalegate import Stretches

MOST_ROWS = 65_535
"""Of a batch of several stretches."""
_WORDS, _TAGS = ffi.typeof("uint64_t *"), ffi.typeof("uint16_t *")
_cast = ffi.cast


class StretchBatches:
    """Divides stretches among batches.

    Args:
        references: of the runs in the gate, 0 and up.
        inputs: by source; rows of several do not become one batch.
        longest: so many rows of a stretch are a batch by themselves.
    """

    __slots__ = ("_inputs", "_longest", "_numbers", "_rows")

    def __init__(self, references: int, inputs: Sequence[int], longest: int) -> None:
        self._inputs, self._longest = ffi.new("uint32_t[]", list(inputs)), longest
        self._numbers, self._rows = ffi.new("uint32_t[]", references), ffi.new("uint64_t *")

    def cut(self, stretches: Stretches, at: int, most: int) -> tuple[int, int]:
        """How many stretches from `at` on become one batch, and its rows: one of `longest` rows or more by itself, else
        shorter ones of one input that have at most `most` rows together."""
        most = min(most, MOST_ROWS)
        memory, left = stretches.memory + at, stretches.count - at
        count = lib.as_stretches_cut(memory, left, self._inputs, self._longest, most, self._rows)
        return int(count), int(self._rows[0])

    def parts(self, stretches: Stretches, at: int, count: int, rows: int) -> tuple[Tags, list[int]]:
        """The runs that have the `rows` rows of some stretches, as parts. Returns the number of the part of each row, and a list
        with two numbers for each part: the reference of its run, and the first row of the run that is in the batch."""
        tags = np.empty(rows, np.uint16)
        parts = np.empty(2 * count, np.uint64)
        found = lib.as_stretches_parts(
            stretches.memory + at,
            count,
            self._numbers,
            _cast(_WORDS, address_of(parts)),
            _cast(_TAGS, address_of(tags)),
        )
        return tags, parts[: 2 * found].tolist()
