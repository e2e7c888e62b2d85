"""The driver of the suites `reorder` and `hybrid`: what it measures is there and adds up."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.ordered import KINDS, SCHEMES, Ran, run


def served(seconds: float, **settings: Any) -> Ran:
    """A run of operators of a microsecond that had outputs: a longer one where a busy machine left its threads no time."""
    ran = run(1.0, seconds, **settings)
    return ran if ran.rate > 0 or seconds > 10 else served(seconds * 4, **settings)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("selectivity", [0, 1, 50])
def test_outputs_leave_at_some_rate_and_cost_time(scheme: str, selectivity: int) -> None:
    ran = served(0.03, scheme=scheme, selectivity=selectivity, window=16, timed=True)
    assert ran.rate > 0
    assert ran.unit_us > 0
    assert 0 < ran.work_us <= ran.cost_us
    assert ran.send_p99_us > 0
    assert (ran.latency_us > 0) == (scheme != "unordered")
    assert ran.latency_p99_us >= ran.latency_p50_us


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_worklist_serves_skewed_keys(kind: str) -> None:
    partitions = 1 if kind == "stateless" else 7
    assert served(0.03, kind=kind, partitions=partitions, sigma=0.1, threads=4).rate > 0


@pytest.mark.parametrize("scheme", ["non-blocking", "lock-based"])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_pipeline_goes_on_when_its_second_worklist_was_full(scheme: str, threads: int) -> None:
    ran = served(
        0.1,
        scheme=scheme,
        threads=threads,
        selectivity=256,
        kind="hybrid",
        partitions=9,
        pipeline=True,
    )
    assert ran.rate > 0


def test_the_operators_of_a_pipeline_may_cost_differently() -> None:
    ran = served(0.1, selectivity=50, kind="hybrid", partitions=9, pipeline=True, next_us=0.0, timed=True)
    assert ran.rate > 0
    assert 0 < ran.work_us <= ran.cost_us


@pytest.mark.parametrize("settings", [{"threads": 99}, {"window": 4096, "pipeline": True, "kind": "hybrid"}])
def test_settings_out_of_range_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        run(1.0, 0.01, **settings)
