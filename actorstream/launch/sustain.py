"""Finds the maximum sustainable throughput of a topology: runs it at one rate after the other (AIR section 5.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.control.interrupted import Interrupted
from actorstream.errors import ConfigurationError, Problem
from actorstream.launch.run import run_job
from actorstream.launch.sustainable import RateSearch, Samples, Verdict, judge
from actorstream.metrics.counters import Counter, bucket_upper, quantiles
from actorstream.plan.compile import read_job
from actorstream.topology.suggestions import did_you_mean, listed

if TYPE_CHECKING:
    from actorstream.launch.launcher import Launcher
    from actorstream.launch.report import Sampler
    from actorstream.plan.job import Job

EACH_S = 0.1
"""Between samples."""
LEAST_S = 1.0
"""A run that ends sooner, because its input does, cannot be judged."""
PROBE_S = 2.0
FIRST_SHARE = 0.25
"""Of the rate without a limit: the first that is tried."""


class Stopped(Interrupted):
    """The user interrupted the search, in a run that committed what it had read."""

    def __init__(self) -> None:
        super().__init__(drained=True)

    def __str__(self) -> str:
        return "stopped; no rate was found"


class Sustained(msgspec.Struct):
    """What a search has found."""

    topology: str
    source: str
    unlimited: float
    """Rows/s without a rate."""
    best: Verdict | None
    """Of the confirming run at the highest rate that holds."""
    trials: list[Verdict] = []
    workers: int = 0
    transport: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "topology": self.topology,
            "source": self.source,
            "transport": self.transport,
            "workers": self.workers,
            "unlimited_eps": round(self.unlimited, 1),
            "sustainable_eps": None if self.best is None else round(self.best.rate, 1),
            "latency_ms": None if self.best is None else _latency(self.best),
            "trials": [
                {
                    "rate_eps": round(trial.rate, 1),
                    "holds": trial.holds,
                    "reason": trial.reason,
                    "achieved_eps": round(trial.achieved, 1),
                    "backlog_ms": round(trial.backlog_s * 1e3, 3),
                    "results": trial.results,
                    "latency_ms": _latency(trial),
                }
                for trial in self.trials
            ],
        }


def _latency(verdict: Verdict) -> dict[str, float | None]:
    values = {"mean": verdict.latency_mean_s, "p99": verdict.latency_p99_s}
    return {name: None if math.isnan(value) else round(value * 1e3, 3) for name, value in values.items()}


class Sustain:
    """Runs a topology again and again, its source at another rate each time.

    Args:
        topology, deploy, sets, keys: as for `read_job`.
        source: the source whose rate is varied; may be left out if there is only one that is not a table.
        seconds: how long a trial takes; confirm_s: the last run, at the rate that was found.
        start: first rate; a quarter of the rate without a limit unless set.
        precision, limit_s: see `RateSearch` and `judge`.
        show: called with each verdict as it is known, and whether it is of the confirming run.
        show_unlimited: called with the rows/s without a rate, before the first trial, unless `start` is given.
    """

    def __init__(
        self,
        topology: Path,
        deploy: Path | None = None,
        sets: Sequence[str] = (),
        *,
        source: str | None = None,
        seconds: float = 5.0,
        confirm_s: float = 20.0,
        start: float | None = None,
        precision: float = 0.05,
        limit_s: float = math.inf,
        show: Callable[[Verdict, bool], None] | None = None,
        show_unlimited: Callable[[float], None] | None = None,
        **keys: Any,
    ) -> None:
        self.topology, self.deploy, self.sets, self.keys = topology, deploy, list(sets), keys
        self.seconds, self.confirm_s, self.start = seconds, confirm_s, start
        self.precision, self.limit_s = precision, limit_s
        self._check()
        self.show = show or (lambda verdict, last: None)
        self.show_unlimited = show_unlimited or (lambda rate: None)
        job = self._job([])
        self.source = find_source(job, source)
        self.found = Sustained(
            job.graph.name, self.source, 0.0, None, workers=job.deploy.workers, transport=job.deploy.transport
        )
        self._bounded = job.graph.actors[self.source].keys.get("count") is not None
        """Whether the source ends by its `count`, which is raised to what a trial needs."""

    def run(self) -> Sustained:
        """The whole search. ConfigurationError if the input is wrong or too short, Stopped if the user stops it, and
        what a run raises that fails."""
        found = self.found
        start = self.start
        if start is None:
            found.unlimited = self._unlimited()
            self.show_unlimited(found.unlimited)
            start = found.unlimited * FIRST_SHARE
        search = RateSearch(start, precision=self.precision)
        while (rate := search.next_rate()) is not None:
            verdict = self._trial(rate, self.seconds)
            search.record(rate, verdict.holds)
            found.trials.append(verdict)
            self.show(verdict, False)
        confirmed = search.best
        while confirmed is not None:
            verdict = self._trial(confirmed, self.confirm_s)
            self.show(verdict, True)
            if verdict.holds:
                found.best = verdict
                break
            found.trials.append(verdict)
            confirmed = search.step_down()
        return found

    def _check(self) -> None:
        """ConfigurationError with all numbers that no search can be made with."""
        start = 1.0 if self.start is None else self.start
        long = f"a number of seconds of at least {LEAST_S:g}"
        problems = [
            Problem(option, f"is {value:g}", allowed)
            for option, value, fits, allowed in (
                ("--seconds", self.seconds, LEAST_S <= self.seconds < math.inf, long),
                ("--confirm", self.confirm_s, LEAST_S <= self.confirm_s < math.inf, long),
                ("--start", start, 0 < start < math.inf, "rows/s above 0"),
                ("--precision", self.precision, 0 < self.precision < 1, "a share above 0 and below 1"),
            )
            if not fits
        ]
        if problems:
            raise ConfigurationError(problems)

    def _job(self, sets: Sequence[str]) -> Job:
        return read_job(self.topology, self.deploy, [*self.sets, *sets], **self.keys)

    def _unlimited(self) -> float:
        rows = 10**9 if self._bounded else None
        samples = self._run(self._job(self._count(rows)), PROBE_S)
        verdict = judge(1.0, samples)  # the rate does not matter: only what was achieved is looked at
        if verdict.achieved <= 0:
            sent = f"{samples.sent[-1]:,} rows at once and none in the rest of {samples.span:.1f} s"
            raise ConfigurationError(
                Problem(
                    f"actors.{self.source}",
                    f"sent {sent}: its input has ended, or its consumers have room for no more",
                    "input that lasts while its consumers work",
                    "use a longer input, a key such as repeat=0, or a generator-source",
                )
            )
        return verdict.achieved

    def _trial(self, rate: float, seconds: float) -> Verdict:
        rows = int(rate * seconds * 1.5) + 1 if self._bounded else None
        job = self._job([f"actors.{self.source}.rate={rate!r}", *self._count(rows)])
        return judge(rate, self._run(job, seconds), self.limit_s)

    def _count(self, rows: int | None) -> list[str]:
        return [] if rows is None else [f"actors.{self.source}.count={rows}"]

    def _run(self, job: Job, seconds: float) -> Samples:
        """Runs a job until `seconds` after its first row, then lets its sources end."""
        watch = _Watch(job, self.source, seconds)
        result = run_job(job, on_start=watch.on_start)
        if watch.stopped_by_user:
            raise Stopped
        samples = watch.samples
        short = samples.span < max(LEAST_S, seconds / 2) or not samples.enough
        if result.interrupted is None and short:
            raise ConfigurationError(
                Problem(
                    f"actors.{self.source}",
                    f"its input ended after {samples.span:.2f} s, too soon to judge whether a rate holds",
                    f"input for {seconds:g} s or more",
                    "use a longer input, a key such as repeat=0, or a generator-source",
                )
            )
        return samples


class _Watch:
    """Samples a run, and ends its sources when there are enough."""

    def __init__(self, job: Job, source: str, seconds: float) -> None:
        self.job, self.seconds = job, seconds
        self.samples = Samples()
        self.sources = [each.id for each in job.plan.replicas if each.actor == source]
        self.sinks = [each.id for each in job.plan.replicas if job.role(each.actor) == "sink"]
        self._before = self._histogram()
        self._next = 0.0
        self._asked = 0
        self._launcher: Launcher | None = None

    @property
    def stopped_by_user(self) -> bool:
        return self._launcher is not None and self._launcher.interrupts > self._asked

    def on_start(self, launcher: Launcher, sampler: Sampler) -> Callable[[], None]:
        self._launcher = launcher
        return self.tick

    def tick(self) -> None:
        now = monotonic()
        if now < self._next or self._asked:
            return
        self._next = now + EACH_S
        sent = sum(self.job.counters.value(each, Counter.EVENTS_OUT) for each in self.sources)
        histogram = self._histogram()
        fresh, self._before = histogram - self._before, histogram
        results = int(fresh.sum())
        mean = float((fresh * _UPPER_NS).sum() / results / 1e9) if results else 0.0
        (p99,) = quantiles(fresh, (0.99,))
        self.samples.add(now, sent, results, mean, p99 / 1e9)
        if self.samples.span >= self.seconds and self.samples.enough and self._launcher is not None:
            self._asked = 1
            self._launcher.interrupt()

    def _histogram(self) -> np.ndarray:
        found = np.zeros(len(_UPPER_NS), np.int64)
        for each in self.sinks:
            found += self.job.counters.histogram(each)
        return found


def _uppers() -> np.ndarray:
    from actorstream.metrics.counters import HISTOGRAM_WORDS

    return np.array([bucket_upper(bucket) for bucket in range(HISTOGRAM_WORDS)], float)


_UPPER_NS = _uppers()


def find_source(job: Job, name: str | None) -> str:
    """The source whose rate is varied. ConfigurationError if it is none, or there are several."""
    sources = [actor.name for actor in job.graph.actors.values() if actor.role == "source"]
    if name is not None:
        if name in sources:
            return name
        raise ConfigurationError(
            Problem("--source", f"{name!r} is no source", listed(sources), did_you_mean(name, sources))
        )
    streams = [each for each in sources if not _is_table(job, each)]
    if len(streams) == 1:
        return streams[0]
    raise ConfigurationError(
        Problem(
            "--source",
            f"the topology has {len(streams)} sources",
            listed(streams),
            "name the one to speed up",
        )
    )


def _is_table(job: Job, source: str) -> bool:
    """Whether all that a source sends is read as tables of static joins."""
    edges = [edge for edge in job.graph.edges if edge.producer == source]
    return bool(edges) and all(edge.static for edge in edges)
