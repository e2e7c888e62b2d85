"""The search finds what a simulated system can sustain, and judges its runs as one would by looking at the curves."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.launch.sustainable import RateSearch, Samples, judge


class System:
    """Takes at most `capacity` rows/s from a paced source; a result every `window` seconds, `delay` after its entry.

    hiccups: each sample, the chance that it stops for 0.2 s. Rows wait at the source, as behind full channels."""

    def __init__(
        self,
        capacity: float,
        *,
        delay: float = 0.002,
        window: float = 0.1,
        hiccups: float = 0.0,
        seed: int = 1,
    ) -> None:
        self.capacity, self.delay, self.window, self.hiccups = capacity, delay, window, hiccups
        self.random = random.Random(seed)

    def run(self, rate: float, seconds: float = 5.0, *, started: float = 3.0) -> Samples:
        samples = Samples()
        sent, now, stopped_until, fired = 0.0, 0.0, 0.0, 0.0
        for _ in range(int((started + seconds) * 10)):
            now += 0.1
            if self.random.random() < self.hiccups:
                stopped_until = now + 0.2
            if now > started and now >= stopped_until:
                sent = min(rate * (now - started), sent + self.capacity * 0.1)
            results = 0
            if now - fired >= self.window:
                fired, results = now, 10
            samples.add(now, int(sent), results if sent else 0, self.delay, 2 * self.delay)
        return samples


def found(system: System, start: float, precision: float = 0.05) -> tuple[float, int]:
    search = RateSearch(start, precision=precision)
    while (rate := search.next_rate()) is not None:
        search.record(rate, judge(rate, system.run(rate)).holds)
    assert search.best is not None
    return search.best, search.tried


@given(st.floats(1e3, 1e9), st.floats(0.01, 30), st.floats(0.02, 0.2))
@settings(max_examples=60, deadline=None)
def test_the_search_finds_the_capacity_within_its_precision(capacity, share, precision):
    best, tried = found(System(capacity), capacity * share, precision)
    assert (1 - precision - 0.03) * capacity <= best <= 1.04 * capacity
    assert tried <= 24


def test_a_hiccup_now_and_then_does_not_lower_what_is_found():
    best, _ = found(System(1e6, hiccups=0.01, seed=3), 2e5)
    assert best > 0.8e6


def test_a_rate_that_holds_has_no_backlog_and_the_latency_of_its_results():
    verdict = judge(5e5, System(1e6, delay=0.004).run(5e5))
    assert verdict.holds and not verdict.reason
    assert verdict.achieved == pytest.approx(5e5, rel=1e-3)
    assert verdict.backlog_s < 1e-3
    assert verdict.latency_mean_s == pytest.approx(0.004, abs=1e-3)
    assert verdict.latency_p99_s == pytest.approx(0.008, abs=1e-3)


def test_a_rate_above_the_capacity_falls_behind_and_says_so():
    verdict = judge(1.2e6, System(1e6).run(1.2e6))
    assert not verdict.holds
    assert "behind" in verdict.reason
    assert verdict.achieved == pytest.approx(1e6, rel=0.01)
    assert verdict.latency_p99_s > 0.5


def test_a_constant_delay_at_the_start_is_no_backlog():
    assert judge(1e5, System(1e6).run(1e5, started=0.05)).backlog_s < 1e-3
    assert judge(1e5, System(1e6).run(1e5, started=1.03)).holds


def test_latency_that_keeps_growing_fails_though_the_source_keeps_up():
    samples = System(1e6).run(1e5)
    growing = Samples(samples.times, samples.sent, samples.results)
    for number in range(len(samples.times)):
        growing.latency_mean.append(0.02 * max(number - 30, 0))
        growing.latency_p99.append(0.02 * max(number - 30, 0))
    verdict = judge(1e5, growing)
    assert not verdict.holds and "latency rose" in verdict.reason


def test_a_limit_of_latency_fails_what_exceeds_it():
    samples = System(1e6, delay=0.3).run(1e5)
    assert judge(1e5, samples).holds
    verdict = judge(1e5, samples, 0.5)
    assert not verdict.holds and "above 0.5 s" in verdict.reason


def test_a_run_without_results_is_judged_by_its_backlog_alone():
    held, failed = (judge(rate, System(1e6, window=math.inf).run(rate)) for rate in (5e5, 2e6))
    assert held.holds and math.isnan(held.latency_mean_s) and math.isnan(held.latency_p99_s)
    assert not failed.holds and held.results == 0


def test_too_few_samples_are_refused():
    with pytest.raises(ValueError, match="too few"):
        judge(1.0, System(10).run(1.0, 0.3))


def test_a_rate_that_fails_is_tried_once_more_and_a_later_success_counts():
    search = RateSearch(100.0)
    search.record(100.0, True)
    assert search.next_rate() == 200.0
    search.record(200.0, False)
    assert search.next_rate() == 200.0
    search.record(200.0, True)
    assert (search.best, search.next_rate()) == (200.0, 400.0)
    for holds in (False, False):
        search.record(400.0, holds)
    assert search.next_rate() == pytest.approx(math.sqrt(200 * 400))


def test_a_start_that_fails_goes_down_until_something_holds():
    search = RateSearch(1000.0)
    search.record(1000.0, False)
    assert search.next_rate() == 250.0
    search.record(250.0, False)
    assert search.next_rate() == 62.5
    search.record(62.5, True)
    assert search.best == 62.5


def test_a_rate_that_does_not_hold_for_long_is_stepped_down():
    search = RateSearch(100.0, precision=0.1)
    search.record(100.0, True)
    assert search.step_down() == pytest.approx(90.0)
    assert search.best == pytest.approx(90.0)
    assert search.step_down() == pytest.approx(81.0)


def test_a_search_ends_whatever_happens():
    search = RateSearch(1.0, most=10)
    rng = random.Random(7)
    while (rate := search.next_rate()) is not None:
        search.record(rate, rng.random() < 0.5)
    assert search.tried == 10


@pytest.mark.parametrize(("start", "keys"), [(0.0, {}), (1.0, {"precision": 0.0}), (1.0, {"factor": 1.0})])
def test_a_search_that_could_not_end_is_refused(start, keys):
    with pytest.raises(ValueError, match="rate search"):
        RateSearch(start, **keys)


def test_a_run_that_stood_still_does_not_count_as_held():
    samples = System(2000).run(1000, 1.0)
    samples.add(samples.times[-1] + 10.0, samples.sent[-1], 0, 0.0, 0.0)
    verdict = judge(1000, samples)
    assert not verdict.holds
    assert "stood still" in verdict.reason
    assert verdict.achieved == pytest.approx(1000 / 11, rel=0.1)


def test_a_first_rate_that_failed_by_a_hiccup_does_not_bound_the_search():
    search, capacity = RateSearch(1000.0), 64_000.0
    while (rate := search.next_rate()) is not None:
        search.record(rate, rate <= capacity and search.tried > 0)
    assert search.best == pytest.approx(capacity, rel=0.05)
