"""The exact sum of floats by fractions, rounded once; infinities and NaN as IEEE 754 adds them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from hypothesis import strategies as st

APART = (1e34, 1.0, 1e17, 1e-30, 5e-324, 2.5e-308, 1.7976931348623157e308, 0.1, -0.0)
"""Values of which two floats do not hold the sums."""

apart = st.sampled_from([*APART, *(-value for value in APART)])
floats = apart | st.floats(allow_nan=False, allow_infinity=False) | st.floats(-1, 1)


def exact_sum(values: Iterable[float]) -> float:
    """What every sum of these values has to be; of none 0.0."""
    values = list(values)
    endless = [value for value in values if not math.isfinite(value)]
    if endless:
        return sum(endless)
    total = sum(map(Fraction, values), Fraction(0))
    try:
        return float(total)
    except OverflowError:
        return math.inf if total > 0 else -math.inf
