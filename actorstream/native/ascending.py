"""Whether event times ascend, as those of a stream must: one pass in C. Decides nothing about what follows if they do not."""

from __future__ import annotations

import numpy as np

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of

_first_descent, _cast, _INT64 = lib.as_first_descent, ffi.cast, ffi.typeof("int64_t *")
_UINT32 = ffi.typeof("uint32_t *")
_KIND = np.dtype(np.int64)


def first_descent(values: np.ndarray, index: np.ndarray | None = None) -> int:
    """The number of the first value that is less than the one before it; 0: there is none. Numbers, shape (values,).

    index: uint32; compares the values at these places, without gathering them.

    65,536 of int64 take 9 us; a comparison by NumPy, and a look at what it answers, 14 (in the cache; 12 and 24 beside others).
    """
    count = len(values) if index is None else len(index)
    if count < 2:
        return 0
    if values.dtype != _KIND or not values.flags.c_contiguous:
        if index is not None:
            values = values[index]
        less = values[1:] < values[:-1]
        return int(np.argmax(less)) + 1 if less.any() else 0
    at = _cast(_INT64, address_of(values))
    if index is None:
        found: int = _first_descent(at, count)
    else:
        found = lib.as_first_descent_at(at, _cast(_UINT32, address_of(index)), count)
    return found if found < count else 0
