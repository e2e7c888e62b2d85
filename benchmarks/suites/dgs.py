"""`dgs`: the three programs of the DGS paper's section 4 on synchronization plans, generators included, to null sinks; how
long a synchronization takes (appendix D.1, Figure 10); and the same plans on more cores, simulated with these costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from benchmarks.case_studies import PACED, model_us, outliers, predicted, prediction_ms
from benchmarks.dataflow import Actors, launch, launch_file
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
BATCHED = {"value_barrier": 500_000_000, "rule_fraud": 160_000_000, "page_view_join": 80_000_000}
"""App -> rows of its value streams in a run that takes some 2 s."""
SINGLY = {"value_barrier": 8_000_000, "rule_fraud": 8_000_000, "page_view_join": 5_000_000}
PERS = (10_000, 100_000)
BATCH = 65_536
EDGE_BYTES = "16MiB"
"""Room for some batches, so that sources make the next ones while a state is away: with 4 MiB rule_fraud gets half as far on
two workers at 100,000 values a barrier."""
OFFERED = 100_000
ROWS_AT_ONCE = 10
"""A paced source sends every millisecond, or so many rows: here every 200 µs, since a barrier waits for the next rows of
every stream."""
RATIOS = (100, 1_000, 10_000)
"""Values of a stream for each barrier."""
SYNCHRONIZED = 500
"""Barriers a second where there are no values: each finds its workers asleep, or spinning."""
HEARTBEATS = (1, 10, 100)
"""Of the barriers' stream, for each barrier, at the greatest of these ratios."""
STUDY_ROUNDS = 1
"""Rounds in which D.1 and the case studies take part."""
JOINS = 10
"""Values of each stream between two rules where little but the join is left."""


def suite(settings: Settings) -> Suite:
    share = settings.scale(1, 4)
    seconds = 2.0 if settings.quick else 5.0
    probes = []
    for app in APPS:
        name = app.replace("_", "-")
        for per in PERS:
            kind = "batch" if per == PERS[0] else f"batch-{per // 1000}k"
            probes += throughput(app, f"{name}-{kind}", per, BATCHED[app] // share)
        probes += throughput(app, f"{name}-event", PERS[0], SINGLY[app] // share, singly=True)
    probes.append(Probe((Case("join-2", "µs"),), partial(join_us, 800_000 // share)))
    for wait in ("park", "spin"):
        for name, run in (("barrier", latency), ("synchronization", synchronization)):
            cases = (Case(f"{name}-{wait}-p50", "µs"), Case(f"{name}-{wait}-p99", "µs"))
            probes.append(Probe(cases, partial(run, seconds, wait=wait)))
    for ratio in RATIOS:
        probes.append(
            Probe(
                (Case(f"ratio-{ratio}-p50", "µs"),),
                partial(first_of(latency), seconds, ratio=ratio),
                rounds=STUDY_ROUNDS,
            )
        )
    for beats in HEARTBEATS:
        case = Case(f"heartbeats-{beats}-p50", "µs")
        run = partial(first_of(latency), seconds, ratio=RATIOS[-1], beats=beats)
        probes.append(Probe((case,), run, rounds=STUDY_ROUNDS))
    for workers in (1, 2):
        case = Case(f"outliers-{workers}", "events/s", "outliers-1" if workers > 1 else None)
        probes.append(Probe((case,), partial(outliers, workers, settings.scale(8, 4)), rounds=STUDY_ROUNDS))
    probes.append(Probe((Case("outliers-model", "µs"),), model_us, rounds=STUDY_ROUNDS))
    cases = (Case("smart-home-2", "events/ms"), Case("smart-home-2-network", "%"))
    probes.append(Probe(cases, partial(predicted, 2_544_000 // share), rounds=STUDY_ROUNDS))
    cases = (Case("smart-home-2-p50", "ms"), Case("smart-home-2-p90", "ms"))
    probes.append(Probe(cases, partial(prediction_ms, seconds), rounds=STUDY_ROUNDS))
    return Suite(
        "dgs",
        tuple(probes),
        (
            f"batch: update_batch, event: update; two value streams, {PERS[0]:,} events of each (or as many as named) "
            'between two synchronizing events, all times differ; wait = "park" unless said; of the middle of a run that '
            "takes 2 s, of the whole of a shorter one",
            f"barrier: from a barrier to its sum with {OFFERED:,} events/s offered on 2 workers, 50 barriers/s; ratio, "
            "heartbeats: values a stream for a barrier, heartbeats of the barriers for each (D.1); values come ten "
            "at a time, every 200 µs in each stream; synchronization: the same tree with no values to wait for, "
            f"{SYNCHRONIZED} barriers/s",
            "outliers: appendix A.1, eight streams; model: writing or reading one's state for another process. smart-home: "
            f"A.2, 20 houses, a source in each process, of its bytes those that leave their process; p50, p90: at {PACED:,} "
            "measurements/s, from the end of a slice to its averages (the paper names 41 ms as p90 of DEBS 2014's winner)",
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
        cases = [Case(f"{name}-{workers}", "events/s", f"{name}-1" if workers > 1 else None)]
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
        "edge_bytes": "4MiB" if singly else EDGE_BYTES,
        **deploy,
    }
    return launch_file(topology, sets=sets, **deploy).report


def join_us(rows: int) -> tuple[float]:
    """Microseconds from one rule of rule_fraud to the next, across two processes, where few values lie between."""
    # little room, so that what its sources have made is not taken for what it has done
    rate = measured("rule_fraud", 2, rows, JOINS, batch_size=256, edge_bytes="64KiB")["throughput_eps"]
    return (1e6 * (2 * JOINS + 1) / rate,)


def latency(seconds: float, *, ratio: int = 1_000, beats: int = 0, wait: str = "park") -> tuple[float, float]:
    """p50 and p99 in µs from a barrier's emission to its sum at the sink, two streams in two processes.

    `beats`: heartbeats of the barriers' stream for each barrier; 0: a millisecond apart."""
    barriers = OFFERED / 2 / ratio
    every = 1e6 / barriers / beats if beats else 1_000
    return live(barriers, seconds, int(OFFERED * seconds), every, wait)


def synchronization(seconds: float, *, wait: str = "park") -> tuple[float, float]:
    """The same where the streams of values have ended: request, states, join, sum, and nothing to wait for."""
    return live(SYNCHRONIZED, seconds, 2, 1_000, wait)


def live(barriers: float, seconds: float, values: int, every: float, wait: str) -> tuple[float, float]:
    """p50 and p99 in µs; so many barriers a second, values in all, and µs between two heartbeats."""
    inputs = [{"from": name, "order": "dependency"} for name in ("barriers", "values")]
    actors: Actors = {
        "barriers": {
            "type": "benchmarks.live:LiveBarriers",
            "rate": barriers,
            "count": max(4, int(barriers * seconds)),
        },
        "values": {
            "type": "benchmarks.live:LiveValues",
            "rate": float(OFFERED),
            "count": values,
            "shards": 2,
            "replicas": 2,
        },
        "sum": {"type": "apps.value_barrier.program:ValueBarrier", "inputs": inputs},
        "sums": {"type": "null-sink", "inputs": ["sum"]},
    }
    ran = launch(
        "sum-live",
        actors,
        transport="shm",
        workers=2,
        wait=wait,
        batch_size=ROWS_AT_ONCE,
        heartbeat_every=f"{every:.0f}us",
    )
    found: Mapping[str, float] = ran.report["latency_ms"]
    return found["p50"] * 1e3, found["p99"] * 1e3


def first_of(run: Callable[..., Sequence[float]]) -> Callable[..., tuple[float]]:
    """Only the first value of a run."""

    def first(*arguments: Any, **options: Any) -> tuple[float]:
        return (run(*arguments, **options)[0],)

    return first
