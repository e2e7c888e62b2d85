"""`rlas-pairs`: `placement = "rlas"` against every deployment that was made by hand, in nine pairs of runs each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from benchmarks.rlas_here import APPS, HAND, PLANS, measured
from benchmarks.suite import Case, Probe, Settings, Suite

PAIRS = 9


def suite(settings: Settings) -> Suite:
    pairs, seconds = settings.scale(PAIRS, 3), 2.2
    probes = []
    for name in APPS:
        cases = (
            Case(f"{name}-by-hand", "rows/s"),
            Case(f"{name}-rlas", "rows/s", f"{name}-by-hand"),
            Case(f"{name}-median", "times"),
            Case(f"{name}-lowest", "times"),
            Case(f"{name}-highest", "times"),
        )
        probes.append(Probe(cases, partial(compared, name, pairs, seconds), rounds=1))
    notes = (
        f"median, lowest, highest: of {pairs} pairs of runs, one directly after the other; every second pair begins with rlas",
    )
    return Suite("rlas-pairs", tuple(probes), notes)


def compared(name: str, pairs: int, seconds: float) -> Sequence[float]:
    """Medians of the rows of the source a second by hand and by rlas, then of the ratios the median, the lowest and highest."""
    found: dict[str, list[float]] = {HAND: [], "two-cores-rlas": []}
    for number in range(pairs):
        for label in (tuple(found), tuple(reversed(found)))[number % 2]:
            found[label].append(measured(name, PLANS[label], seconds))
    hand, rlas = found.values()
    ratios = sorted(one / other for one, other in zip(rlas, hand))
    return median(hand), median(rlas), median(ratios), ratios[0], ratios[-1]
