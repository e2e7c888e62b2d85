"""Elementary functions of arrays, the same bits on every processor; NumPy's and the C library's differ between processors
in the last place."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib

Floats = npt.NDArray[np.float64]


def log(values: Floats) -> Floats:
    """Natural logarithms of normal numbers above 0."""
    return _each(lib.as_log, values)


def exp(values: Floats) -> Floats:
    """e to the values; 0 below -708, infinity above 709."""
    return _each(lib.as_exp, values)


def cosine(turns: Floats) -> Floats:
    """Cosines of angles in turns, 0 <= turn < 1."""
    return _each(lib.as_cosine, turns)


def _each(function: Any, values: Floats) -> Floats:
    given = np.ascontiguousarray(values, np.float64)
    out = np.empty(given.shape, np.float64)
    function(ffi.from_buffer("double[]", given), given.size, ffi.from_buffer("double[]", out))
    return out
