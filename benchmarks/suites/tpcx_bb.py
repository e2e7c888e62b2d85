"""`tpcx-bb`: throughput and latency of the TPCx-BB queries by scheduling heuristic and number of workers
(ordered-multicore figure 8), by partitioning scheme (figure 11) and by reordering scheme (figure 14). More workers than
two are simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from statistics import median
from typing import Any

from actorstream.scheduling import SCHEDULES
from actorstream.scheduling.simulation import Simulated, Simulation
from benchmarks import tpcx_bb
from benchmarks.ordered import run
from benchmarks.suite import Case, Curve, Probe, Settings, Suite, probe
from benchmarks.tpcx_bb import BATCH_SIZE, PARTITIONS, QUERIES

TUPLES = "tuples/s"
WORKERS = (1, 2, 4, 8, 16)
BEYOND = (4, 8, 16)
"""Workers that are simulated."""
SIMULATED_TUPLES = (8_000_000, 4_000_000)
"""In full and under --quick: many more than wait in all queues together."""
SCHEMES = ("lock-based", "non-blocking")
"""Of reordering."""
UNIT_ROWS = 64
"""Source tuples that are put in order together where reordering schemes are compared."""
PROCESSES = ("q1", "q15")
"""Queries that are run on two processes too, in serial order."""


def suite(settings: Settings) -> Suite:
    seconds = 0.5 if settings.quick else 0.8
    schedules = ("lp",) if settings.quick else tuple(SCHEDULES)
    found: dict[str, list[tuple[float, float, float]]] = {}

    models = Models(seconds, settings.scale(*SIMULATED_TUPLES))

    def measure(case: str, query: str, **deploy: Any) -> tuple[float, float, float]:
        ran = tpcx_bb.run(query, seconds, **deploy)
        if not deploy:
            models.remember(query, ran.report)
        elif deploy.get("threads"):
            models.pooled.setdefault((query, deploy["schedule"]), []).append(ran.report)
        found.setdefault(case, []).append(tpcx_bb.figures(ran))
        return found[case][-1]

    probes = []
    for query in QUERIES:
        probes.append(three(f"{query}-turns-1", None, partial(measure, f"{query}-turns-1", query)))
        for schedule in schedules:
            case = f"{query}-{schedule}-2"
            measured = partial(measure, case, query, schedule=schedule, threads=1)
            probes.append(three(case, f"{query}-turns-1", measured))
    for query in PROCESSES[: 1 if settings.quick else None]:
        at_half = partial(half_load, query, seconds, found)
        cases = (Case(f"{query}-lp-half-load-mean", "µs"), Case(f"{query}-lp-half-load-p99", "µs"))
        probes.append(Probe(cases, at_half))
        case = f"{query}-serial-2"
        measured = partial(measure, case, query, replicas=2, ordered=True, transport="shm", workers=2)
        probes.append(three(case, f"{query}-turns-1", measured))
    for query in QUERIES:
        for schedule in schedules:
            for workers in BEYOND:
                name = f"{query}-{schedule}-{workers}-simulated"
                simulated = partial(models.throughput, query, schedule, workers)
                probes.append(probe(name, TUPLES, simulated, against=f"{query}-turns-1"))
    for query in () if settings.quick else QUERIES:
        for scheme in SCHEMES:
            against = None if scheme == SCHEMES[0] else f"{query}-{SCHEMES[0]}-2"
            probes.append(
                probe(
                    f"{query}-{scheme}-2", TUPLES, partial(reordered, models, query, scheme), against=against
                )
            )
    notes = (
        "turns: one process without a schedule; ct, lp, et, qst: one process, the event loop and one thread; "
        "serial: two processes",
        "every actor has one replica, so that rows stay in the order of the input; serial: two replicas, order = serial",
        "lock-based, non-blocking: two operators that multiply matrices for as long as the query's take for 64 rows, "
        "on two C threads with that reordering buffer; not the query itself",
        "mean, p99: latency from a tuple's entry until the last stateful operator has taken what came of it, under full load",
        "half-load: at half of the rate that q-lp-2 has just reached",
        "simulated, not measured: the real heuristics on simulated workers that share no lock and get their tuples for "
        "nothing, with the operators' costs measured on one worker here",
        f"keyed operators have {PARTITIONS} partitions there (the hybrid queue); 'partitioned': as many as workers, which "
        "wait for the largest",
    )
    return Suite(
        "tpcx-bb",
        tuple(probes),
        notes,
        partial(models.curves, schedules),
        partial(summary, schedules, models, found),
    )


def three(case: str, against: str | None, run: Callable[[], Sequence[float]]) -> Probe:
    """A probe of throughput, mean and 99th percentile of latency."""
    cases = (Case(case, TUPLES, against), Case(f"{case}-mean", "µs"), Case(f"{case}-p99", "µs"))
    return Probe(cases, run)


def half_load(
    query: str, seconds: float, found: Mapping[str, Sequence[tuple[float, float, float]]]
) -> tuple[float, float]:
    """Mean and 99th percentile of latency under LP, at half of the rate that was just found."""
    rate = found[f"{query}-lp-2"][-1][0] / 2
    _, mean, p99 = tpcx_bb.figures(tpcx_bb.run(query, 2 * seconds, rate=rate, schedule="lp", threads=1))
    return mean, p99


def reordered(models: Models, query: str, scheme: str) -> float:
    """Source tuples a second over two operators of the query's cost under a reordering scheme, on two threads of C."""
    cost = models.row_us(query) * UNIT_ROWS / 2
    ran = run(cost, 0.3, scheme=scheme, kind="hybrid", partitions=PARTITIONS, pipeline=True)
    return ran.rate * UNIT_ROWS


class Models:
    """The queries as the simulator sees them, with the costs of runs on one worker; one with smaller jumbo tuples is made
    when it is first asked for."""

    def __init__(self, seconds: float, tuples: int) -> None:
        self.tuples = tuples
        self.reports: dict[str, dict[str, Any]] = {}
        self.pooled: dict[tuple[str, str], list[dict[str, Any]]] = {}
        """Query and schedule -> reports of its runs on two workers."""
        self._between: dict[str, float] = {}
        self.small = cache(lambda query: tpcx_bb.run(query, seconds, batch_size=tpcx_bb.SMALL).report)
        self.simulated = cache(self._simulated)

    def remember(self, query: str, report: dict[str, Any]) -> None:
        """Costs are those of the fastest run on one worker so far: others were held up by something else."""
        known = self.reports.get(query)
        if known is None or known["throughput_eps"] < report["throughput_eps"]:
            self.reports[query] = report
            self.simulated.cache_clear()

    def row_us(self, query: str) -> float:
        """What all operators of a query together spend on a row of the source."""
        report = self.reports[query]
        (source, _), *others = tpcx_bb.chain(QUERIES[query])
        worked = sum(tpcx_bb.own_time(report, actor) for actor, _ in others)
        return worked * 1e6 / report["events_out"][source]

    def throughput(self, query: str, schedule: str, workers: int) -> float:
        return self.simulated(query, schedule, workers).throughput_eps

    def _simulated(
        self, query: str, schedule: str, workers: int, scheme: str = "hybrid", locked: bool = False
    ) -> Simulated:
        """`scheme`: hybrid or partitioned queues (section 4). `locked`: as this engine is, with one partition a
        replica; else as in the paper."""
        partitioned = scheme == "partitioned"
        made = tpcx_bb.stages(
            tpcx_bb.costs(query, self.reports[query], self.small(query)),
            locked=locked,
            partitions=1 if locked else workers if partitioned else PARTITIONS,
            slower=tpcx_bb.imbalance(query, workers) if partitioned else {},
        )
        return Simulation(made, SCHEDULES[schedule], workers, batch=BATCH_SIZE).run(self.tuples)

    def between(self, query: str) -> float:
        """What a worker spends between two turns, ns: the median over the runs on two workers, under all heuristics."""
        if query not in self._between:
            self._between[query] = median(
                tpcx_bb.between(query, schedule, report, self.tuples // 4)
                for (name, schedule), reports in self.pooled.items()
                if name == query
                for report in reports
            )
        return self._between[query]

    def middle(self, query: str, schedule: str) -> dict[str, Any]:
        """The run on two workers whose throughput is the median."""
        runs = sorted(self.pooled[query, schedule], key=lambda report: report["throughput_eps"])
        return runs[len(runs) // 2]

    def here(self, query: str, schedule: str, workers: int, *, between_ns: float | None = None) -> Simulated:
        """This engine on so many workers, one replica of each actor: costs are those of a turn on two workers, and the
        time between two turns that of `between`."""
        made = tpcx_bb.pooled_stages(query, self.middle(query, schedule))
        spent = self.between(query) if between_ns is None else between_ns
        simulation = Simulation(made, SCHEDULES[schedule], workers, batch=BATCH_SIZE, between_ns=spent)
        return simulation.run(self.tuples)

    def contention(self, query: str, schedule: str) -> float:
        """How many times what they cost one worker operators cost each of two."""
        return tpcx_bb.contention(query, self.middle(query, schedule), self.reports[query])

    def curves(self, schedules: Sequence[str]) -> list[Curve]:
        """Throughput of each query by workers under the first heuristic, simulated."""
        schedule = "ct" if "ct" in schedules else schedules[0]
        return [
            Curve(
                f"{query} {schedule}",
                "workers, simulated",
                TUPLES,
                tuple((float(each), self.throughput(query, schedule, each)) for each in WORKERS),
            )
            for query in QUERIES
        ]


def summary(
    schedules: Sequence[str],
    models: Models,
    found: Mapping[str, Sequence[tuple[float, float, float]]],
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
    schedule = "ct" if "ct" in schedules else schedules[0]
    for query in QUERIES:
        of_scheme = [models.simulated(query, schedule, each, "partitioned") for each in WORKERS]
        cells = [f"{each.throughput_eps / 1e6:>9.2f}" for each in of_scheme]
        p99 = of_scheme[-1].latency_p99_ns / 1e6
        lines.append("".join([f"{query} {schedule} partitioned".ljust(24), *cells, f"{p99:>16.1f}"]))
    lines.append("M tuples/s as here".ljust(24) + "".join(f"{each:>9}" for each in WORKERS[1:]))
    for query in QUERIES:
        for each in schedules:
            rates = [models.here(query, each, workers).throughput_eps for workers in WORKERS[1:]]
            lines.append("".join([f"{query} {each}".ljust(24), *(f"{rate / 1e6:>9.2f}" for rate in rates)]))
    for query in QUERIES:
        one = models.simulated(query, schedule, 1, locked=True).throughput_eps
        lines.append(
            f"{query}: simulated / measured: 1 worker {one / medians[f'{query}-turns-1']:.2f}; "
            + deviations(query, schedules, models, found)
        )
    return lines


def deviations(
    query: str,
    schedules: Sequence[str],
    models: Models,
    found: Mapping[str, Sequence[tuple[float, float, float]]],
) -> str:
    """What the simulator of this engine foretells on two workers ÷ what was measured, under each heuristic."""
    said = []
    for schedule in schedules:
        measured = median(each[0] for each in found[f"{query}-{schedule}-2"])
        ratio = models.here(query, schedule, 2).throughput_eps / measured
        without = models.here(query, schedule, 2, between_ns=0.0).throughput_eps / measured
        said.append(
            f"{schedule} {ratio:.2f} (turns alone {without:.2f}, and cost {models.contention(query, schedule):.2f} times one "
            "worker's)"
        )
    fitted = "fitted to it, " if len(schedules) == 1 else ""
    return f"2 workers, {fitted}{models.between(query) / 1e3:.0f} µs between turns: {', '.join(said)}"
