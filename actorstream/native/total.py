"""Total: the exact sum of floats, whatever their order and however they were put together (include/total.h). One thread at
a time."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.cells import checked
from actorstream.native.groups import uint64s
from actorstream.native.status import opened

Floats = npt.NDArray[np.float64]


class Total:
    """The sum of the values so far; of none: 0.0."""

    __slots__ = ("_total",)

    def __init__(self) -> None:
        self._total = ffi.gc(opened(lib.as_total_create(), "a total"), lib.as_total_destroy)

    def add(self, values: npt.ArrayLike) -> None:
        """Adds values. ResourceError: no memory."""
        own = _floats(values)
        checked(lib.as_total_add(self._total, ffi.from_buffer("double[]", own), len(own)), "sum")

    def running(self, values: npt.ArrayLike) -> Floats:
        """Adds values; answers the total after each."""
        own = _floats(values)
        out = np.empty(len(own))
        target = ffi.from_buffer("double[]", out)
        checked(lib.as_total_running(self._total, ffi.from_buffer("double[]", own), len(own), target), "sum")
        return out

    def merge(self, other: Total) -> None:
        """Adds all of another total."""
        self.put(other.save())

    @property
    def value(self) -> float:
        """The exact sum, rounded to the nearest float."""
        return lib.as_total_value(self._total)  # type: ignore[no-any-return]

    def save(self) -> bytes:
        """The total as bytes, for `put`."""
        words = np.empty(lib.AS_TOTAL_WORDS, np.uint64)
        return words[: lib.as_total_save(self._total, uint64s(words))].tobytes()

    def put(self, saved: bytes) -> None:
        """Adds what `save` made. ValueError: it is no total."""
        words = np.frombuffer(saved, np.uint64)
        checked(lib.as_total_put(self._total, uint64s(words), len(words)), "sum")


def _floats(values: npt.ArrayLike) -> Floats:
    return np.ascontiguousarray(values, np.float64)
