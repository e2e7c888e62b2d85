"""From looks at a running operator (rows so far, processor time so far) to the cost of a row and how it varies. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

WARM_SHARE = 0.25
"""Of the processor time; what comes before it is not counted: caches are cold, and states are empty."""
PERCENTILES = {"p01": 1, "p05": 5, "p25": 25, "p50": 50, "p75": 75, "p95": 95, "p99": 99}


class Look(NamedTuple):
    """Rows that an operator has worked on, and nanoseconds of processor time that its process has used, since it began."""

    rows: int
    cpu_ns: int


def warm_look(looks: Sequence[Look]) -> int:
    """Number of the look from which on rows count, where there is any look: 0 if no row came after the first quarter."""
    warm = looks[0].cpu_ns + WARM_SHARE * (looks[-1].cpu_ns - looks[0].cpu_ns)
    found = next(number for number, each in enumerate(looks) if each.cpu_ns >= warm)
    return found if looks[found].rows < looks[-1].rows else 0


def row_costs(looks: Sequence[Look], chunk_ns: int) -> dict[str, float]:
    """Nanoseconds a row, by percentile over chunks of at least `chunk_ns` each, with "min", "max" and "mean"; rows within a
    chunk count as their mean. Empty: the looks saw no row."""
    if len(looks) < 2 or looks[-1].rows == looks[0].rows:
        return {}
    begin = last = looks[warm_look(looks)]
    costs = []
    for each in looks:
        if each.cpu_ns - last.cpu_ns >= chunk_ns and each.rows > last.rows:
            costs.append((each.cpu_ns - last.cpu_ns) / (each.rows - last.rows))
            last = each
    mean = (looks[-1].cpu_ns - begin.cpu_ns) / (looks[-1].rows - begin.rows)
    costs = costs or [mean]
    found = {name: float(np.percentile(costs, at)) for name, at in PERCENTILES.items()}
    return {
        name: round(value, 3)
        for name, value in {**found, "min": min(costs), "max": max(costs), "mean": mean}.items()
    }
