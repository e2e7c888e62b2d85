"""Sustainable throughput (AIR section 5.2): whether a run kept up with its source, and which rate to try next.

Pure decisions: no clock, no processes. What was seen of a run comes in as samples; durations are seconds.
"""

from __future__ import annotations

import math

import msgspec
import numpy as np

WARM_UP = 0.25
"""Share of a trial that is not judged."""
GROWTH = 0.02
"""Seconds of backlog that may be gained in a second, so that a rate still counts as held: the noise of a machine."""
SLACK_S = 0.05
"""Backlog that may be gained in a trial whatever its length: a hiccup of the machine."""
DOWN = 12
"""A search gives up below its first rate divided by so many times its factor."""
LEAST_WARM = 4
"""Samples after the warm-up that a run is judged by. It has fewer if the machine stood still for most of it."""
LEAST_SAMPLES = 8
"""Samples from the first row on that a run is judged by."""
RISE = 2.0
"""A latency that is so many times what it was, and more than SLACK_S above it, keeps growing."""


class Samples(msgspec.Struct):
    """What was seen of a run, sample by sample: times (s), rows the source had sent, and since the sample before, how
    many results there were and their latency from their entry on (mean and the 99th percentile, s)."""

    times: list[float] = []
    sent: list[int] = []
    results: list[int] = []
    latency_mean: list[float] = []
    latency_p99: list[float] = []

    def add(self, time: float, sent: int, results: int, mean: float, p99: float) -> None:
        self.times.append(time)
        self.sent.append(sent)
        self.results.append(results)
        self.latency_mean.append(mean)
        self.latency_p99.append(p99)

    @property
    def span(self) -> float:
        """Seconds from the first row on."""
        return self.times[-1] - self.times[self.first] if self.sent and self.sent[-1] else 0.0

    @property
    def enough(self) -> bool:
        """Whether a run can be judged by them."""
        return self.span > 0 and len(self.times) - self.first >= LEAST_SAMPLES

    @property
    def first(self) -> int:
        """Index of the last sample before the first row."""
        return max(int(np.argmax(np.array(self.sent) > 0)) - 1, 0)


class Verdict(msgspec.Struct, frozen=True):
    """How a run at one rate went. Latencies are event-time latencies: from the moment at which a row was due by the
    rate to the release of its result, so the source's backlog counts. NaN where there were no results."""

    rate: float
    holds: bool
    reason: str
    achieved: float
    """Rows/s that the source really sent, once warm."""
    backlog_s: float
    """How far the source was behind its rate at the end."""
    latency_mean_s: float
    latency_p99_s: float
    results: int


def judge(rate: float, samples: Samples, limit_s: float = math.inf) -> Verdict:
    """Whether neither backlog nor event-time latency kept growing while the source was asked for `rate` rows/s.

    `limit_s`: a 99th percentile above it fails as well. ValueError for fewer than eight samples after the first row."""
    if not samples.enough:
        raise ValueError(
            f"{len(samples.times)} samples, {samples.span:.3g} s with rows, are too few to judge a run by"
        )
    times = np.array(samples.times[samples.first :])
    sent = np.array(samples.sent[samples.first :], float)
    warm = int(np.searchsorted(times, times[0] + WARM_UP * (times[-1] - times[0])))
    late = times - times[0] - (sent - sent[0]) / rate
    backlog = np.maximum(late - late[warm:].min(), 0.0)
    if len(times) - warm < LEAST_WARM:
        achieved = float((sent[-1] - sent[0]) / (times[-1] - times[0]))
        reason = f"the machine stood still: {len(times) - warm} samples once warm, too few to judge by"
        return Verdict(rate, False, reason, achieved, float(backlog[-1]), math.nan, math.nan, 0)
    span = float(times[-1] - times[warm])
    achieved = float((sent[-1] - sent[warm]) / span)
    early, final = _ends(backlog[warm:])
    found = np.array(samples.results[samples.first :])[warm:]
    mean = _weighted(np.array(samples.latency_mean[samples.first :])[warm:] + backlog[warm:], found)
    delays = np.array(samples.latency_p99[samples.first :])[warm:] + backlog[warm:]
    p99 = float(delays[found > 0].max()) if found.any() else math.nan
    reason = ""
    if final - early > max(GROWTH * span, SLACK_S):
        reason = f"the source fell {final - early:.3g} s behind in {span:.3g} s"
    elif np.count_nonzero(found) >= 8:
        before, after = _ends(delays[found > 0])
        if after > RISE * before and after - before > SLACK_S:
            reason = f"latency rose from {before:.3g} to {after:.3g} s"
    if not reason and p99 > limit_s:
        reason = f"latency is {p99:.3g} s at the 99th percentile, above {limit_s:g} s"
    return Verdict(rate, not reason, reason, achieved, final, mean, p99, int(found.sum()))


def _ends(values: np.ndarray) -> tuple[float, float]:
    """Medians of the first and of the last quarter."""
    quarter = max(len(values) // 4, 1)
    return float(np.median(values[:quarter])), float(np.median(values[-quarter:]))


def _weighted(values: np.ndarray, weights: np.ndarray) -> float:
    return float(np.average(values, weights=weights)) if weights.any() else math.nan


class RateSearch:
    """Raises a rate until it does not hold, then halves the distance until that is `precision` of the rate.

    A rate that fails below one that has held, or directly above it, is tried once more: a machine has hiccups. So is one
    that failed before any had held, once the search has come up to it. Ask `next_rate`, run, `record`, until it answers
    None; then `best`.

    Args:
        start: the first rate, rows/s, that probably holds.
        precision: how near the answer must be to a rate that fails, as a share of it.
        factor: by how much the rate is raised as long as it holds.
        most: tries in all.
    """

    def __init__(self, start: float, *, precision: float = 0.05, factor: float = 2.0, most: int = 24) -> None:
        if not start > 0 or not 0 < precision < 1 or not factor > 1:
            raise ValueError(
                f"rate search from {start} rows/s, precision {precision}, factor {factor}; allowed: a rate and a "
                "precision above 0, precision below 1, factor above 1"
            )
        self.start, self.precision, self.factor, self.most = start, precision, factor, most
        self.low, self.high = 0.0, math.inf
        """The highest rate that has held, the lowest that has failed."""
        self.tried = 0
        self._again: float | None = None
        self._doubtful = False
        """Whether `high` has failed only once."""

    @property
    def best(self) -> float | None:
        """The highest rate that held; None: none has."""
        return self.low or None

    def next_rate(self) -> float | None:
        if self.tried >= self.most:
            return None
        if self._again is not None:
            return self._again
        if self.high == math.inf:
            return self.low * self.factor if self.low else self.start
        if self.low == 0:
            return self.high / self.factor**2 if self.high > self.start / self.factor**DOWN else None
        if self.high - self.low <= self.precision * self.high:
            self._again = self.high if self._doubtful else None
            return self._again
        return math.sqrt(self.low * self.high)

    def record(self, rate: float, holds: bool) -> None:
        """What came of running `rate`."""
        self.tried += 1
        again, self._again = self._again, None
        if holds:
            self.low = max(self.low, rate)
            if self.high <= rate:
                self.high = math.inf
        elif again is None and self.low:
            self._again = rate
        else:
            self.high = min(self.high, rate)
            self._doubtful = again is None

    def step_down(self) -> float | None:
        """When the best rate does not hold in a longer run: what to try instead; None if that is hopeless."""
        self.tried += 1
        self.high, self.low = self.low, self.low * (1 - self.precision)
        return self.low if self.tried < self.most and self.low > self.start / self.factor**DOWN else None
