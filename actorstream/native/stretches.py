"""Stretches of a ScaleGate as columns of batches; include/stretches.h says how. Knows addresses only."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.scalegate import Stretches

_WORDS, _INT64 = ffi.typeof("uint64_t *"), ffi.typeof("int64_t *")
_cast = ffi.cast

Marks = tuple[int, int, int]
"""entry_min, entry_max, began."""


class StretchColumns:
    """Where the columns of the runs in a gate lie, by the reference that they were added with.

    Args:
        count: references, 0 and up. widths: bytes of a value of each column: 1, 2, 4 or 8.
        inputs: by source; rows of several do not become one batch.

    Raises:
        ValueError: another width.
    """

    __slots__ = ("_columns", "_from", "_from_at", "_inputs", "_marks", "_marks_at", "_widths")

    def __init__(self, count: int, widths: Sequence[int], inputs: Sequence[int]) -> None:
        if any(width not in (1, 2, 4, 8) for width in widths):
            raise ValueError(f"stretches: values of {list(widths)} bytes; allowed: 1, 2, 4, 8")
        self._columns = len(widths)
        self._inputs = ffi.new("uint32_t[]", list(inputs))
        self._widths = ffi.new("uint32_t[]", list(widths))
        self._from = np.zeros((count, len(widths)), np.uint64)
        self._marks = np.zeros((count, 3), np.int64)
        self._from_at = _cast(_WORDS, address_of(self._from))
        self._marks_at = _cast(_INT64, address_of(self._marks))

    def put(self, reference: int, addresses: Sequence[int] | np.ndarray, marks: Marks) -> None:
        """Where each column of a run begins, and its times. Before it is added."""
        self._from[reference] = addresses
        self._marks[reference] = marks

    def pour(self, stretches: Stretches, at: int, count: int, to: Sequence[int]) -> None:
        """Puts the rows of `count` stretches behind each other, column by column, from the addresses `to` on."""
        lib.as_stretches_pour(
            stretches.memory + at,
            count,
            self._from_at,
            self._widths,
            self._columns,
            ffi.new("uint64_t[]", list(to)),
        )

    def cut(self, stretches: Stretches, at: int, longest: int, most: int) -> tuple[int, int]:
        """How many stretches from `at` on become one batch, and its rows: one of `longest` rows or more by itself, else
        shorter ones of one input that have at most `most` rows together."""
        rows = ffi.new("uint64_t *")
        count = lib.as_stretches_cut(
            stretches.memory + at, stretches.count - at, self._inputs, longest, most, rows
        )
        return int(count), int(rows[0])

    def marks(self, stretches: Stretches, at: int, count: int) -> Marks:
        """The times of the runs that stretches are of, together."""
        found = ffi.new("int64_t[3]")
        lib.as_stretches_marks(stretches.memory + at, count, self._marks_at, found)
        return found[0], found[1], found[2]
