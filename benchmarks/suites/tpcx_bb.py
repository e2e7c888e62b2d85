"""`tpcx-bb`: throughput and latency of the TPCx-BB queries by scheduling heuristic and number of workers
(ordered-multicore figure 8), by partitioning scheme (figure 11) and by reordering scheme (figure 14). More workers than
two are simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from actorstream.scheduling import SCHEDULES
from benchmarks import tpcx_bb
from benchmarks.ordered import run
from benchmarks.suite import Case, Probe, Settings, Suite, probe
from benchmarks.tpcx_bb import PARTITIONS, QUERIES
from benchmarks.tpcx_bb_figures import QUEUES, Point, Points, by_setting, by_workers, measured_points
from benchmarks.tpcx_bb_models import TUPLES, WORKERS, Models, point_of_simulated
from benchmarks.tpcx_bb_study import TRIED

BEST = "ct"
"""The heuristic under which queues and reordering buffers are compared."""
BEYOND = (4, 8, 16)
"""Workers that are simulated."""
SIMULATED_TUPLES = 8_000_000
"""Many more than wait in all queues together."""
SCHEMES = ("lock-based", "non-blocking")
"""Of reordering."""
UNIT_ROWS = 64
"""Source tuples that are put in order together where reordering schemes are compared."""
KINDS = ("hybrid", "partitioned")
"""Of queues before a keyed operator."""
PROCESSES = ("q1", "q15")
"""Queries that are run on two processes too, in serial order, and whose time slice and window are studied. A quick run
has no others."""
ORDERED: Mapping[str, Mapping[str, Any]] = {
    "serial-2": {"placement": "first-fit"},
    "serial-replicas-2": {"replicas": 2},
}
"""Cases in serial order on two processes: a part of the operators in each, or a replica of each operator in each."""
STUDIED_WORKERS = 8
"""Simulated, in the study of the time slice and the window."""


NOTES = (
    "turns: one process without a schedule; ct, lp, et, qst: one process, the event loop and one thread",
    "every actor has one replica, so that rows stay in the order of the input",
    "serial: two processes, order = serial; the source and the stateless operators in one, the others in the other; "
    "serial-replicas: two replicas of each actor, one in each",
    "mean, p99: latency from a tuple's entry until the last stateful operator has taken what came of it, under full load",
    "half-load: at half of the rate that q-lp-2 has just reached",
)
NOTES_OF_MODELS = (
    "lock-based, non-blocking: two operators that multiply matrices for as long as the query's take for 64 rows, "
    "on two C threads with that reordering buffer; not the query itself",
    "simulated, not measured: the real heuristics on simulated workers that share no lock and get their tuples for "
    "nothing, with the operators' costs measured on one worker here",
    f"keyed operators have {PARTITIONS} partitions there (the hybrid queue); 'partitioned': as many as workers, which "
    "wait for the largest",
    "slice-S, window-W: with that time slice (CT's window 100 ms), with that window of CT (slice 2 ms), on two workers",
    f"lock-based-1, -2 after a heuristic: the query itself with that reordering buffer; {', '.join(KINDS)} queues: "
    "the two operators on C threads, mean and p99 from the start of the second on a tuple to its exit",
)


def suite(settings: Settings) -> Suite:
    """A quick run measures two queries under one heuristic. It simulates nothing and draws no figures of the paper."""
    seconds = 0.5 if settings.quick else 0.8
    queries = PROCESSES if settings.quick else tuple(QUERIES)
    schedules = ("lp",) if settings.quick else tuple(SCHEDULES)
    models = Models(seconds, SIMULATED_TUPLES)
    probes = measured_probes(queries, schedules, seconds, models)
    if settings.quick:
        return Suite("tpcx-bb", tuple(probes), NOTES)
    probes += modelled_probes(schedules, seconds, models)
    return Suite(
        "tpcx-bb",
        tuple(probes),
        NOTES + NOTES_OF_MODELS,
        partial(models.curves, BEST),
        partial(summary, schedules, models),
        partial(pictures, schedules, models),
    )


def measured_probes(
    queries: Sequence[str], schedules: Sequence[str], seconds: float, models: Models
) -> list[Probe]:
    """The queries without a schedule and under each, at half load, and on two processes."""
    found: dict[str, list[Point]] = {}

    def measure(case: str, query: str, **deploy: Any) -> Point:
        ran = tpcx_bb.run(query, seconds, **deploy)
        if not deploy:
            models.remember(query, ran.report)
        elif deploy.get("threads"):
            models.pooled.setdefault((query, deploy["schedule"]), []).append(ran.report)
        found.setdefault(case, []).append(tpcx_bb.figures(ran))
        return found[case][-1]

    probes = []
    for query in queries:
        probes.append(three(f"{query}-turns-1", None, partial(measure, f"{query}-turns-1", query)))
        for schedule in schedules:
            case = f"{query}-{schedule}-2"
            measured = partial(measure, case, query, schedule=schedule, threads=1)
            probes.append(three(case, f"{query}-turns-1", measured))
    for query in PROCESSES:
        at_half = partial(half_load, query, seconds, found)
        cases = (Case(f"{query}-lp-half-load-mean", "µs"), Case(f"{query}-lp-half-load-p99", "µs"))
        probes.append(Probe(cases, at_half, needs=(f"{query}-lp-2",)))
        for case, deploy in ORDERED.items():
            case = f"{query}-{case}"
            measured = partial(measure, case, query, ordered=True, transport="shm", workers=2, **deploy)
            probes.append(three(case, f"{query}-turns-1", measured))
    return probes


def modelled_probes(schedules: Sequence[str], seconds: float, models: Models) -> list[Probe]:
    """What is simulated with the costs that were measured, and what is measured beside it: C threads, one worker under a
    schedule, queues, and the study of the time slice and the window."""
    probes = []
    for query in QUERIES:
        for schedule in schedules:
            for workers in BEYOND:
                name = f"{query}-{schedule}-{workers}-simulated"
                simulated = partial(models.point, query, schedule, workers)
                probes.append(three(name, f"{query}-turns-1", simulated))
    for query in QUERIES:
        for scheme in SCHEMES:
            against = None if scheme == SCHEMES[0] else f"{query}-{SCHEMES[0]}-2"
            run_scheme = partial(reordered, models, query, scheme)
            reorders = probe(f"{query}-{scheme}-2", TUPLES, run_scheme, against=against)
            probes.append(replace(reorders, needs=(f"{query}-turns-1",)))
    for query in QUERIES:
        for schedule in schedules:
            deploy: dict[str, Any] = {"schedule": schedule, "threads": 0}
            measured = partial(once, query, seconds, deploy)
            probes.append(replace(three(f"{query}-{schedule}-1", f"{query}-turns-1", measured), rounds=1))
        for workers in (1, 2):
            case = f"{query}-{BEST}-lock-based-{workers}"
            deploy = {"schedule": BEST, "threads": workers - 1, "reordering": "lock-based"}
            measured = partial(once, query, seconds, deploy)
            probes.append(replace(three(case, f"{query}-{BEST}-{workers}", measured), rounds=1))
            for kind in KINDS:
                case = f"{query}-{kind}-queues-{workers}"
                against = None if kind == KINDS[-1] else f"{query}-{KINDS[-1]}-queues-{workers}"
                queued = partial(partitioned, models, query, kind, workers)
                probes.append(replace(three(case, against, queued), rounds=1, needs=(f"{query}-turns-1",)))
    for query in PROCESSES:
        for schedule, setting in TRIED:
            case = f"{query}-{schedule}-{setting.name}"
            deploy = {"schedule": schedule, "threads": 1, **setting.keys}
            measured = partial(once, query, seconds, deploy)
            probes.append(replace(three(case, f"{query}-turns-1", measured), rounds=1))
            case += f"-{STUDIED_WORKERS}-simulated"
            simulated = partial(models.studied, query, schedule, STUDIED_WORKERS, setting)
            probes.append(replace(three(case, None, simulated), needs=(f"{query}-turns-1",)))
    return probes


def three(case: str, against: str | None, run: Callable[[], Sequence[float]]) -> Probe:
    """A probe of throughput, mean and 99th percentile of latency."""
    cases = (Case(case, TUPLES, against), Case(f"{case}-mean", "µs"), Case(f"{case}-p99", "µs"))
    return Probe(cases, run)


def once(query: str, seconds: float, deploy: Mapping[str, Any]) -> Point:
    """One run of a query as deployed."""
    return tpcx_bb.figures(tpcx_bb.run(query, seconds, **deploy))


def half_load(query: str, seconds: float, found: Mapping[str, Sequence[Point]]) -> tuple[float, float]:
    """Mean and 99th percentile of latency under LP, at half of the rate that was just found."""
    rate = found[f"{query}-lp-2"][-1][0] / 2
    _, mean, p99 = tpcx_bb.figures(tpcx_bb.run(query, 2 * seconds, rate=rate, schedule="lp", threads=1))
    return mean, p99


def reordered(models: Models, query: str, scheme: str) -> float:
    """Source tuples a second over two operators of the query's cost under a reordering scheme, on two threads of C."""
    cost = models.row_us(query) * UNIT_ROWS / 2
    ran = run(cost, 0.3, scheme=scheme, kind="hybrid", partitions=PARTITIONS, pipeline=True)
    return ran.rate * UNIT_ROWS


def partitioned(models: Models, query: str, kind: str, threads: int) -> Point:
    """The same over a kind of queues before the second operator, with the latency in it and its reordering buffer."""
    cost = models.row_us(query) * UNIT_ROWS / 2
    partitions = PARTITIONS if kind == "hybrid" else threads
    ran = run(cost, 0.3, threads=threads, kind=kind, partitions=partitions, pipeline=True, timed=True)
    return ran.rate * UNIT_ROWS, ran.latency_us, ran.latency_p99_us


def pictures(schedules: Sequence[str], models: Models, medians: Mapping[str, float]) -> dict[str, str]:
    """Figures 8, 11 and 14 and the study, as SVG."""
    simulated: Points = {
        (query, schedule, workers): models.point(query, schedule, workers)
        for query in QUERIES
        for schedule in schedules
        for workers in WORKERS
    }
    queues: Points = {
        (query, kind, workers): models.point(query, BEST, workers, scheme=kind)
        for query in QUERIES
        for kind in KINDS
        for workers in WORKERS
    }
    of_heuristics = measured_points(
        medians, QUERIES, {each: f"{{query}}-{each}-{{workers}}" for each in (*schedules, "turns")}
    )
    of_queues = measured_points(
        medians, QUERIES, {each: f"{{query}}-{each}-queues-{{workers}}" for each in KINDS}
    )
    buffers = {
        "non-blocking": f"{{query}}-{BEST}-{{workers}}",
        "lock-based": f"{{query}}-{BEST}-lock-based-{{workers}}",
    }
    of_buffers = measured_points(medians, QUERIES, buffers)
    here: Points = {
        (query, schedule, workers): point_of_simulated(models.here(query, schedule, workers))
        for query in QUERIES
        for schedule in schedules
        for workers in WORKERS[1:]
    }
    free: Points = {
        (query, "non-blocking", workers): point
        for (query, schedule, workers), point in simulated.items()
        if schedule == BEST
    }
    return {
        "tpcx-bb-heuristics": by_workers(
            "TPCx-BB by heuristic",
            of_heuristics,
            simulated,
            notes=[
                "simulated as in the paper: no shared lock, tuples for nothing, costs measured on one worker"
            ],
        ),
        "tpcx-bb-heuristics-here": by_workers(
            "TPCx-BB by heuristic, in this engine",
            of_heuristics,
            here,
            notes=["simulated as this engine is: one replica of each actor, sources on the event loop"],
        ),
        "tpcx-bb-partitioning": by_workers(
            f"TPCx-BB by partitioning scheme, {BEST}",
            of_queues,
            queues,
            columns=QUEUES,
            notes=["measured: two operators of the query's cost on C threads; simulated: the query"],
        ),
        "tpcx-bb-reordering": by_workers(
            f"TPCx-BB by reordering scheme, {BEST}",
            of_buffers,
            free,
            notes=[
                "in the simulator a send takes no time and blocks nobody: that is the non-blocking buffer"
            ],
        ),
        "tpcx-bb-slices": by_setting(medians, PROCESSES, TRIED, STUDIED_WORKERS),
    }


def summary(
    schedules: Sequence[str],
    models: Models,
    medians: Mapping[str, float],
) -> list[str]:
    """Tables of figure 8 (heuristics) and figure 11 (partitioning schemes), and how near the simulator comes."""
    lines = [
        "M tuples/s simulated".ljust(24) + "".join(f"{each:>9}" for each in WORKERS) + "   p99 at 16, ms"
    ]
    for query in QUERIES:
        for schedule in schedules:
            cells = [f"{models.throughput(query, schedule, each) / 1e6:>9.2f}" for each in WORKERS]
            p99 = models.simulated(query, schedule, WORKERS[-1]).latency_p99_ns / 1e6
            lines.append("".join([f"{query} {schedule}".ljust(24), *cells, f"{p99:>16.1f}"]))
    for query in QUERIES:
        of_scheme = [models.simulated(query, BEST, each, "partitioned") for each in WORKERS]
        cells = [f"{each.throughput_eps / 1e6:>9.2f}" for each in of_scheme]
        p99 = of_scheme[-1].latency_p99_ns / 1e6
        lines.append("".join([f"{query} {BEST} partitioned".ljust(24), *cells, f"{p99:>16.1f}"]))
    lines.append("M tuples/s as here".ljust(24) + "".join(f"{each:>9}" for each in WORKERS[1:]))
    for query in QUERIES:
        for each in schedules:
            rates = [models.here(query, each, workers).throughput_eps for workers in WORKERS[1:]]
            lines.append("".join([f"{query} {each}".ljust(24), *(f"{rate / 1e6:>9.2f}" for rate in rates)]))
    for query in QUERIES:
        one = models.simulated(query, schedule, 1, locked=True).throughput_eps
        lines.append(
            f"{query}: simulated / measured: 1 worker {one / medians[f'{query}-turns-1']:.2f}; "
            + deviations(query, schedules, models)
        )
    return lines


def deviations(query: str, schedules: Sequence[str], models: Models) -> str:
    """What the simulator of this engine foretells on two workers ÷ what was measured, under each heuristic."""
    said = []
    for schedule in schedules:
        measured = models.middle(query, schedule)["throughput_eps"]
        ratio = models.here(query, schedule, 2).throughput_eps / measured
        said.append(
            f"{schedule} {ratio:.2f} (cost {models.contention(query, schedule):.2f} times one worker's)"
        )
    spent = f"{models.between(query) / 1e3:.0f} µs between turns, {models.switch_ns() / 1e3:.0f} to be woken"
    return f"2 workers, {spent}: {', '.join(said)}"
