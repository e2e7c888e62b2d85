"""`batch-size`: what is found where nobody sets a batch size, beside the same with fixed sizes; at full load, and at half of it
for latency."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

from benchmarks.suite import Case, Probe, Settings, Suite, probe
from benchmarks.suites import word_count
from benchmarks.yahoo import EVENTS, STAR, SWA, YSB, Workload, half_load, native

SIZES = (256, 1024, 4096, 16_384, 65_536, 262_144)
QUICK_SIZES = (1024, 16_384, 65_536)
AUTO = "auto"
WORKERS = 2
Size = int | str


def suite(settings: Settings) -> Suite:
    seconds = 1.5 if settings.quick else 2.0
    sizes: tuple[Size, ...] = (*(QUICK_SIZES if settings.quick else SIZES), AUTO)
    workloads = {"ysb": YSB, "swa": SWA, "ysb-star": STAR}
    rates: list[float] = []

    def full(name: str, workload: Workload, size: Size) -> float:
        found = native(workload, WORKERS, seconds, batch_size=size)
        if name == "ysb" and size == AUTO:
            rates.append(found)
        return found

    def half(size: Size) -> Sequence[float]:
        return half_load(YSB, seconds, median(rates), batch_size=size)

    probes: list[Probe] = []
    for name, workload in workloads.items():
        probes += _compared(name, sizes, partial(full, name, workload))
    probes += _compared("word-count", sizes, partial(_words, seconds), "words/s")
    for size in sizes:
        against = "half-load-auto" if size != AUTO else None
        cases = tuple(
            Case(f"half-load-{size}-{part}", "µs", against and f"{against}-{part}") for part in ("p50", "p99")
        )
        probes.append(Probe(cases, partial(half, size)))
    notes = (
        "on two workers; the figure after a name: rows of a batch",
        "half-load: ysb at half of the rate that it has with batches of found sizes",
    )
    return Suite("batch-size", tuple(probes), notes, summary=partial(summary, sizes=sizes))


def _compared(
    name: str, sizes: Sequence[Size], run: Callable[[Size], float], unit: str = EVENTS
) -> list[Probe]:
    """A probe for each size, compared with the size that is found."""
    return [
        probe(f"{name}-{size}", unit, partial(run, size), against=None if size == AUTO else f"{name}-{AUTO}")
        for size in sizes
    ]


def _words(seconds: float, size: Size) -> float:
    return word_count.run("native", WORKERS, seconds, batch_size=size)


def summary(medians: Mapping[str, float], sizes: Sequence[Size]) -> list[str]:
    """What is found beside the best fixed size of each workload."""
    lines = []
    for name in ("ysb", "swa", "ysb-star", "word-count"):
        best = max((size for size in sizes if size != AUTO), key=lambda size: medians[f"{name}-{size}"])
        share = medians[f"{name}-{AUTO}"] / medians[f"{name}-{best}"]
        lines.append(f"{name}: {share:.2f} of the rate of the best fixed size, {best:,}")
    quick: Any = min(
        (size for size in sizes if size != AUTO), key=lambda size: medians[f"half-load-{size}-p50"]
    )
    times = medians[f"half-load-{AUTO}-p50"] / medians[f"half-load-{quick}-p50"]
    return [*lines, f"half load: {times:.2f} times the p50 of the best fixed size, {quick:,}"]
