"""`ablation`: what pipelining, pre-aggregation and the size of jumbo tuples bring (AIR figure 10, BriskStream figure
16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks.suite import Curve, Settings, Suite, probe
from benchmarks.yahoo import EVENTS, YSB, native

SIZES = (1, 64, 1024, 16_384, 65_536)
QUICK_SIZES = (1, 1024, 16_384)
WAYS: dict[str, dict[str, Any]] = {
    "both": {"pipelining": True, "pre_aggregation": True},
    "no-pipelining": {"pipelining": False, "pre_aggregation": True},
    "no-pre-aggregation": {"pipelining": True, "pre_aggregation": False},
    "neither": {"pipelining": False, "pre_aggregation": False},
}
BASE = "both-16384"


def suite(settings: Settings) -> Suite:
    seconds = 1.0 if settings.quick else 1.2
    sizes = QUICK_SIZES if settings.quick else SIZES
    found: dict[tuple[str, int], list[float]] = {}

    def run(way: str, size: int) -> float:
        value = native(YSB, 2, seconds, batch_size=size, **WAYS[way])
        found.setdefault((way, size), []).append(value)
        return value

    def curves() -> Sequence[Curve]:
        return [
            Curve(
                way.replace("-", " "),
                "rows in a jumbo tuple",
                EVENTS,
                tuple((float(size), median(found[way, size])) for size in sizes),
            )
            for way in WAYS
        ]

    probes = [
        probe(name, EVENTS, partial(run, way, size), against=BASE if name != BASE else None)
        for size in sizes
        for way in WAYS
        for name in [f"{way}-{size}"]
    ]
    notes = ("ysb on two workers, the generator included; the figure after a name: rows in a jumbo tuple",)
    return Suite("ablation", tuple(probes), notes, curves, lambda medians: table(medians, sizes))


def table(medians: Mapping[str, float], sizes: Sequence[int]) -> list[str]:
    """Million events a second: a row for each way, a column for each size."""
    width = max(map(len, WAYS))
    lines = ["M events/s".ljust(width) + "".join(f"{size:>10,}" for size in sizes)]
    for way in WAYS:
        cells = [f"{medians[f'{way}-{size}'] / 1e6:>10,.2f}" for size in sizes]
        lines.append("".join([way.ljust(width), *cells]))
    return lines
