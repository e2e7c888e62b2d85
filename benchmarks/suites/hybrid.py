"""`hybrid`: partitioned parallelism by the hybrid worklist and by those it is compared with (ordered-multicore section
7.2, figures 9 and 10)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

from benchmarks.ordered import run
from benchmarks.suite import Case, Curve, Probe, Settings, Suite, probe

THREADS = 2
SIGMAS = (0.05, 0.1, 0.2, 0.5, 1.0)
UNIFORM_AS = 2.0  # where the uniform distribution is drawn: beyond it a Gaussian cut at 1 is nearly flat
PARTITIONS = {"hybrid": 100, "shared": 100, "partitioned": THREADS}
SKEWED_US = 20.0
COSTS = (10, 100, 1000, 10000)


def suite(settings: Settings) -> Suite:
    seconds = 0.25 if settings.quick else 0.5
    rates: dict[tuple[str, float], list[float]] = {}

    def skewed(kind: str, sigma: float) -> float:
        rate = run(
            SKEWED_US, seconds, threads=THREADS, kind=kind, partitions=PARTITIONS[kind], sigma=sigma
        ).rate
        rates.setdefault((kind, sigma), []).append(rate)
        return rate

    def latency(kind: str, cost: int) -> Sequence[float]:
        # the longest operator gives only some two hundred outputs a second
        span = max(seconds, 100 * cost / 1e6)
        ran = run(cost, span, threads=THREADS, kind=kind, partitions=PARTITIONS[kind], timed=True)
        return ran.work_us, ran.latency_us, ran.latency_p50_us

    def curves() -> Sequence[Curve]:
        return [
            Curve(
                kind,
                f"sigma of the keys ({UNIFORM_AS:g}: uniform)",
                "tuples/s",
                tuple((sigma or UNIFORM_AS, median(rates[kind, sigma])) for sigma in (*SIGMAS, 0.0)),
            )
            for kind in PARTITIONS
        ]

    probes = [
        probe(
            f"{kind}-{f'sigma-{sigma:g}' if sigma else 'uniform'}",
            "tuples/s",
            partial(skewed, kind, sigma),
            against=f"{kind}-uniform" if sigma else None,
            paired=sigma > 0,
        )
        for sigma in (0.0, *reversed(SIGMAS))
        for kind in PARTITIONS
    ]
    for cost in COSTS:
        for kind in ("hybrid", "partitioned"):
            work = f"{kind}-{cost}us-work"
            cases = (
                Case(work, "µs"),
                Case(f"{kind}-{cost}us-latency", "µs", work),
                Case(f"{kind}-{cost}us-latency-p50", "µs", work),
            )
            probes.append(Probe(cases, partial(latency, kind, cost)))
    return Suite(
        "hybrid",
        tuple(probes),
        notes=(
            f"{THREADS} threads, outputs in order; hybrid and shared: 100 partitions, partitioned: {THREADS}",
            f"sigma: an operator of {SKEWED_US:g} µs on Gaussian keys of that deviation, by range; uniform: flat keys",
            "latency: from the start of the operator on a tuple to the exit of its output; work: in the operator alone",
        ),
        curves=curves,
    )
