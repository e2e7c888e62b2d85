"""Stretches of a ScaleGate as batches: which of them become one, and of which runs its rows are (include/stretches.h)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.merge import Tags
from actorstream.native.scalegate import Stretches

_TAGS = ffi.typeof("uint16_t *")


class StretchBatches:
    """Divides the stretches that a reader is given among batches.

    Args:
        stretches: where they are. references: of the runs in the gate, 0 and up. sources: of the gate.
        longest: so many rows of one run that go before those of all others are a batch by themselves.
    """

    __slots__ = ("_given", "_kept", "_parts", "_rows", "_stretches", "_tags", "_tags_at")

    def __init__(self, stretches: Stretches, references: int, sources: int, longest: int) -> None:
        self._stretches = stretches
        self._parts, self._rows = ffi.new("uint64_t[]", 2 * stretches.room), ffi.new("uint32_t *")
        self._tags = np.empty(stretches.rows + max(longest, lib.AS_SCALEGATE_BLOCK), np.uint16)
        self._tags_at = ffi.cast(_TAGS, address_of(self._tags))
        numbers, parts_of = self._kept = ffi.new("uint32_t[]", references), ffi.new("uint16_t[]", sources)
        keys = {"stretch": stretches.memory, "longest": longest, "numbers": numbers, "parts_of": parts_of}
        self._given = ffi.new("as_stretches *", keys)

    def divide(self) -> Iterator[tuple[int, list[int], Tags | None]]:
        """The batches that the stretches become, to be taken before the reader is given others. Yields for each how many rows it
        has; a list with two numbers for each run that they are of, its reference and which of its rows comes first; and, if
        these are several, of each row the number of its run."""
        given, parts, rows = self._given, self._parts, self._rows
        given.tags, given.count, given.at = self._stretches.tags, self._stretches.count, 0
        while found := lib.as_stretches_next(given, parts, self._tags_at, rows):
            count = rows[0]
            yield count, ffi.unpack(parts, 2 * found), self._tags[:count].copy() if found > 1 else None
