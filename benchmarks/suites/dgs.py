"""`dgs`: the three programs of the DGS paper's section 4 on synchronization plans, generators included, to null sinks."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.dataflow import launch_file
from benchmarks.job import ROOT
from benchmarks.suite import Case, Probe, Settings, Suite

COUNTS = {"value_barrier": 40_000_000, "rule_fraud": 40_000_000, "page_view_join": 20_000_000}
"""App -> rows of its value streams; 10,000 of each come between two events that synchronize."""
SOURCES = {"value_barrier": "values", "rule_fraud": "transactions", "page_view_join": "views"}
SYNCHRONIZING = {
    "value_barrier": ("barriers", "per_barrier"),
    "rule_fraud": ("rules", "per_rule"),
    "page_view_join": ("updates", "per_update"),
}
BATCH = 10_000


def suite(settings: Settings) -> Suite:
    probes = []
    for app in COUNTS:
        name = app.replace("_", "-")
        for workers in (1, 2):
            against = f"{name}-batch-1" if workers > 1 else None
            rows = COUNTS[app] // (10 if settings.quick else 1)
            probes.append(
                Probe((Case(f"{name}-batch-{workers}", "events/s", against),), runner(app, workers, rows))
            )
    return Suite(
        "dgs",
        tuple(probes),
        (
            "update_batch; 10,000 events of each of two streams between two synchronizing events; of the middle of a run "
            'that takes 2 s, of the whole of a shorter one; wait = "park"',
            "not measured here: Flumina (Erlang) value_barrier 0.29-0.33, rule_fraud 0.21-0.23, page_view_join 0.57 M/s; the "
            "paper's Timely programs with 2 workers 27, 5-16 and 7-11.5 M/s, up to 1,000 events sharing a time",
        ),
    )


def runner(app: str, workers: int, rows: int) -> Callable[[], tuple[float]]:
    """Events/s of one run."""
    topology = ROOT / "apps" / app / "bench.toml"
    source, per = SYNCHRONIZING[app]
    sets = {
        f"actors.{SOURCES[app]}.count": rows,
        f"actors.{source}.count": rows // 2 // BATCH,
        f"actors.{source}.{per}": BATCH,
    }

    def run() -> tuple[float]:
        ran = launch_file(topology, sets=sets, transport="shm", workers=workers, batch_size=BATCH)
        return (ran.report["throughput_eps"],)

    return run
