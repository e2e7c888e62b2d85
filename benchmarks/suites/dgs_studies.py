"""`dgs-studies`: the case studies of the DGS paper's appendix A: outlier detection by workers (A.1), and power prediction
where the measurements arrive (A.2)."""

from __future__ import annotations

from functools import partial

from benchmarks.case_studies import PACED, model_us, outliers, predicted, prediction_ms
from benchmarks.outlier_speedup import pictures, summary
from benchmarks.suite import Case, Probe, Settings, Suite


def suite(settings: Settings) -> Suite:
    seconds = 2.0 if settings.quick else 5.0
    probes = []
    for workers in (1, 2):
        case = Case(f"outliers-{workers}", "events/s", "outliers-1" if workers > 1 else None)
        probes.append(Probe((case,), partial(outliers, workers, settings.scale(8, 4))))
    probes.append(Probe((Case("outliers-model", "µs"),), model_us))
    cases = (Case("smart-home-2", "events/ms"), Case("smart-home-2-network", "%"))
    probes.append(Probe(cases, partial(predicted, settings.scale(2_544_000, 636_000))))
    cases = (Case("smart-home-2-p50", "ms"), Case("smart-home-2-p90", "ms"))
    probes.append(Probe(cases, partial(prediction_ms, seconds)))
    return Suite(
        "dgs-studies",
        tuple(probes),
        (
            "outliers: appendix A.1, eight streams; model: writing or reading one's state for another process. smart-home: "
            f"A.2, 20 houses, a source in each process, of its bytes those that leave their process; p50, p90: at {PACED:,} "
            "measurements/s, from the end of a slice to its averages (the paper names 41 ms as p90 of DEBS 2014's winner)",
        ),
        summary=summary,
        pictures=pictures,
    )
