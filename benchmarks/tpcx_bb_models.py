"""The TPCx-BB queries as the simulator of a pool sees them: calibrated with runs of the suite `tpcx-bb`, which keeps them
here. Measures one run itself, with smaller jumbo tuples."""

from __future__ import annotations

from functools import cache
from typing import Any

from actorstream.scheduling import SCHEDULES
from benchmarks import tpcx_bb, tpcx_bb_stages
from benchmarks.suite import Curve
from benchmarks.tpcx_bb import BATCH_SIZE, PARTITIONS, QUERIES
from benchmarks.tpcx_bb_figures import Point
from benchmarks.tpcx_bb_study import USUAL, Setting
from benchmarks.waking import waking_ns
from benchmarks.worker_simulation import Simulated, Simulation

TUPLES = "tuples/s"
WORKERS = (1, 2, 4, 8, 16)
WINDOWS = 4
LONG = 30_000_000
"""Tuples that this engine is simulated for: until queues behind selective operators have filled, too."""


class Models:
    """The queries as the simulator sees them, with the costs of runs on one worker; one with smaller jumbo tuples is made
    when it is first asked for."""

    def __init__(self, seconds: float, tuples: int) -> None:
        self.tuples = tuples
        self.reports: dict[str, dict[str, Any]] = {}
        self.pooled: dict[tuple[str, str], list[dict[str, Any]]] = {}
        """Query and schedule -> reports of its runs on two workers."""
        self.switch_ns = cache(waking_ns)
        """Measured once, when it is first asked for."""
        self.alone = cache(lambda query: tpcx_bb.run(query, seconds, schedule="ct", threads=0).report)
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
        (source, _), *others = tpcx_bb_stages.chain(QUERIES[query])
        worked = sum(tpcx_bb_stages.own_time(report, actor) for actor, _ in others)
        return worked * 1e6 / report["events_out"][source]

    def throughput(self, query: str, schedule: str, workers: int) -> float:
        return self.simulated(query, schedule, workers).throughput_eps

    def _simulated(
        self,
        query: str,
        schedule: str,
        workers: int,
        scheme: str = "hybrid",
        locked: bool = False,
        setting: Setting = USUAL,
        tuples: int = 0,
    ) -> Simulated:
        """`scheme`: hybrid or partitioned queues (section 4). `locked`: as this engine is, with one partition a
        replica; else as in the paper."""
        partitioned = scheme == "partitioned"
        made = tpcx_bb_stages.stages(
            tpcx_bb_stages.costs(query, self.reports[query], self.small(query)),
            locked=locked,
            partitions=1 if locked else workers if partitioned else PARTITIONS,
            slower=tpcx_bb_stages.imbalance(query, workers) if partitioned else {},
        )
        spans = {"slice_ns": setting.slice_ns, "window_ns": setting.window_ns}
        return Simulation(made, SCHEDULES[schedule], workers, batch=BATCH_SIZE, **spans).run(
            (tuples or self.tuples) * max(1, workers // 4)  # many more than wait in all queues together
        )

    def point(self, query: str, schedule: str, workers: int, **settings: Any) -> Point:
        """What `simulated` comes to."""
        return point_of_simulated(self.simulated(query, schedule, workers, **settings))

    def studied(self, query: str, schedule: str, workers: int, setting: Setting) -> Point:
        """With that time slice and window; under CT for WINDOWS windows, since in less than one it is of no matter."""
        rate, _, _ = self.point(query, schedule, workers)
        needed = int(rate * setting.window_ns / 1e9 * WINDOWS) if schedule == "ct" else 0
        return self.point(query, schedule, workers, setting=setting, tuples=max(self.tuples, needed))

    def between(self, query: str) -> float:
        """What a worker spends between two turns, ns, measured on one worker."""
        return tpcx_bb_stages.between(query, self.alone(query))

    def middle(self, query: str, schedule: str) -> dict[str, Any]:
        """The run on two workers whose throughput is the median."""
        runs = sorted(self.pooled[query, schedule], key=lambda report: report["throughput_eps"])
        return runs[len(runs) // 2]

    def here(self, query: str, schedule: str, workers: int) -> Simulated:
        """This engine on so many workers, one replica of each actor. Nothing is fitted: costs are those of operators on two
        workers, and the wake-ups and the time between turns are simulated, by what they were
        measured to take."""
        made = tpcx_bb_stages.pooled_stages(query, self.middle(query, schedule))
        spent = {"between_ns": self.between(query), "switch_ns": self.switch_ns()}
        return Simulation(made, SCHEDULES[schedule], workers, batch=BATCH_SIZE, **spent).run(LONG)

    def contention(self, query: str, schedule: str) -> float:
        """How many times what they cost one worker operators cost each of two."""
        return tpcx_bb_stages.contention(query, self.middle(query, schedule), self.reports[query])

    def curves(self, schedule: str) -> list[Curve]:
        """Throughput of each query by workers under a heuristic, simulated."""
        return [
            Curve(
                f"{query} {schedule}",
                "workers, simulated",
                TUPLES,
                tuple((float(each), self.throughput(query, schedule, each)) for each in WORKERS),
            )
            for query in QUERIES
        ]


def point_of_simulated(found: Simulated) -> Point:
    """Source tuples a second, mean and 99th percentile of latency in µs."""
    return found.throughput_eps, found.latency_mean_ns / 1e3, found.latency_p99_ns / 1e3
