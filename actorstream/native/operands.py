"""Operands: columns of a batch as C reads them where they lie, gathered or only selected (include/operand.h).

Describes memory and never owns it: whoever passes an address keeps it alive until the call returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any

import numpy as np

from actorstream.native._core import ffi
from actorstream.native.address import address_of
from actorstream.native.pieces import Column

#: A column, the row numbers in it (None: its first rows), and how it is read (kernels.SIGNED, UNSIGNED, FLOAT, BYTES).
Operand = tuple[Column, "np.ndarray | None", int]

_OPERAND = "IIqQQQQII"


class Operands:
    """Room for the operands of one call, to be filled again and again by one thread at a time.

    `pointer` is what C takes. `flat` values are, for each operand, the six of the column's descriptor, the address of
    uint32 row numbers or 0, how it is read, and the rows of the column if rows of the batch repeat them (else 0).
    """

    __slots__ = ("_buffer", "_memory", "_struct", "count", "pointer")

    def __init__(self, count: int) -> None:
        self.count = count
        self._memory = ffi.new("as_operand[]", max(count, 1))
        self._buffer = ffi.buffer(self._memory)
        self._struct = Struct("<" + _OPERAND * count)
        self.pointer: Any = ffi.cast("as_operand *", self._memory)

    def fill_flat(self, flat: Sequence[int]) -> None:
        """Describes all operands. Raises `struct.error` if there are more or fewer values."""
        self._struct.pack_into(self._buffer, 0, *flat)

    def fill(self, operands: Sequence[Operand]) -> None:
        """Describes `operands`; None of `index` memory is copied."""
        flat: list[int] = []
        for column, index, how in operands:
            flat += (*column, 0 if index is None else address_of(index), how, 0)
        self.fill_flat(flat)


#: What stands for an operand that is not there.
MISSING: tuple[int, ...] = (0,) * 9
