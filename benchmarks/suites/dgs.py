"""`dgs`: the three programs of the DGS paper's section 4 on synchronization plans, generators included, to null sinks; and
the same plans on more cores, simulated with these costs. `dgs-latency` and `dgs-studies` have its appendices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from benchmarks.dataflow import launch_file
from benchmarks.job import ROOT
from benchmarks.plan_speedup import APPS, pictures, summary
from benchmarks.suite import Case, Probe, Settings, Suite

SOURCES = {"value_barrier": "values", "rule_fraud": "transactions", "page_view_join": "views"}
SYNCHRONIZING = {
    "value_barrier": ("barriers", "per_barrier"),
    "rule_fraud": ("rules", "per_rule"),
    "page_view_join": ("updates", "per_update"),
}
PROGRAMS = {
    "value_barrier": ("sum", "ValueBarrierByEvent"),
    "rule_fraud": ("detect", "RuleFraudByEvent"),
    "page_view_join": ("join", "PageViewJoinByEvent"),
}
"""App -> its program's actor, and the program without `update_batch`."""
BATCHED = {"value_barrier": 1_000_000_000, "rule_fraud": 320_000_000, "page_view_join": 240_000_000}
"""App -> rows of its value streams in a run that takes one to three seconds."""
FAR_APART = {"value_barrier": 3_600_000_000, "rule_fraud": 480_000_000, "page_view_join": 720_000_000}
"""The same at 100,000 values a barrier, where a worker gets further in that time."""
SINGLY = {"value_barrier": 24_000_000, "rule_fraud": 24_000_000, "page_view_join": 16_000_000}
"""The same for `update` one by one, on two workers."""
PERS = (10_000, 100_000)
BATCH = 65_536
EDGE_BYTES = {"value_barrier": "16MiB", "rule_fraud": "8MiB", "page_view_join": "16MiB"}
"""App -> room for some batches: a turn is cheaper with eight than with four. In rule_fraud somebody waits for it, and four are
enough: with 16 MiB one worker gets 1.07 times as far, two 0.94 times."""
JOINS = 10
"""Values of each stream between two rules where little but the join is left."""


def suite(settings: Settings) -> Suite:
    share = settings.scale(1, 8)
    probes = []
    for app in APPS:
        name = app.replace("_", "-")
        probes += throughput(app, f"{name}-batch", PERS[0], BATCHED[app] // share)
        probes += throughput(app, f"{name}-batch-{PERS[1] // 1000}k", PERS[1], FAR_APART[app] // share)
        probes += throughput(app, f"{name}-event", PERS[0], SINGLY[app] // settings.scale(1, 5), singly=True)
    probes.append(Probe((Case("join-2", "µs"),), partial(join_us, settings.scale(800_000, 200_000))))
    return Suite(
        "dgs",
        tuple(probes),
        (
            f"batch: update_batch, event: update; two value streams, {PERS[0]:,} events of each (or as many as named) "
            'between two synchronizing events, all times differ; wait = "park" unless said; of the middle of a run that '
            "takes 2 s, of the whole of a shorter one",
            "not measured here: Flumina (Erlang) value_barrier 0.29-0.33, rule_fraud 0.21-0.23, page_view_join 0.57 M/s; the "
            "paper's Timely programs with 2 workers 27, 5-16 and 7-11.5 M/s, up to 1,000 events sharing a time",
        ),
        summary=summary,
        pictures=pictures,
    )


def throughput(app: str, name: str, per: int, rows: int, *, singly: bool = False) -> list[Probe]:
    """One worker and two, which are compared; and what a value costs to make and, beside another process, to work on."""
    probes = []
    for workers in (1, 2):
        cases = [Case(f"{name}-{workers}", "events/s", f"{name}-1" if workers > 1 else None, workers > 1)]
        which: tuple[str, ...] = ()
        if workers > 1:
            cases.append(Case(f"{name}-{workers}-work", "ns"))
            which = (PROGRAMS[app][0],)
        elif name.endswith("100k"):
            cases.append(Case(f"{name}-{workers}-make", "ns"))
            which = (SOURCES[app],)
        probes.append(Probe(tuple(cases), runner(app, workers, rows, per, singly, which)))
    return probes


def runner(
    app: str, workers: int, rows: int, per: int = PERS[0], singly: bool = False, which: tuple[str, ...] = ()
) -> Callable[[], tuple[float, ...]]:
    """Events/s of one run; and the time in the hooks of some actors, in ns a value."""

    def run() -> tuple[float, ...]:
        report = measured(app, workers, rows, per, singly)
        times = (sum(each["execute_s"] for each in report["actors"][name]) for name in which)
        return (report["throughput_eps"], *(1e9 * each / rows for each in times))

    return run


def measured(app: str, workers: int, rows: int, per: int, singly: bool = False, **deploy: Any) -> Any:
    """The report of one run."""
    source, per_key = SYNCHRONIZING[app]
    program, by_event = PROGRAMS[app]
    events = 2 if app == "page_view_join" else 1
    sets: dict[str, Any] = {
        f"actors.{SOURCES[app]}.count": rows,
        f"actors.{source}.count": events * (rows // 2 // per),
        f"actors.{source}.{per_key}": per,
    }
    if singly:
        sets[f"actors.{program}.type"] = f"benchmarks.live:{by_event}"
    topology = ROOT / "apps" / app / "bench.toml"
    deploy = {
        "transport": "shm",
        "workers": workers,
        "batch_size": BATCH,
        "edge_bytes": "4MiB" if singly else EDGE_BYTES[app],
        **deploy,
    }
    return launch_file(topology, sets=sets, **deploy).report


def join_us(rows: int) -> tuple[float]:
    """Microseconds from one rule of rule_fraud to the next, across two processes, where few values lie between."""
    # little room, so that what its sources have made is not taken for what it has done
    rate = measured("rule_fraud", 2, rows, JOINS, batch_size=256, edge_bytes="64KiB")["throughput_eps"]
    return (1e6 * (2 * JOINS + 1) / rate,)
