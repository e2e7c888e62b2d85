"""The simulator's models of the TPCx-BB queries: what they are told is what they simulate."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.tpcx_bb import BATCH_SIZE, QUERIES, SMALL
from benchmarks.tpcx_bb_models import Models
from benchmarks.tpcx_bb_stages import chain
from benchmarks.tpcx_bb_study import USUAL, Setting


def report(row_ns: float, size: int) -> dict[str, Any]:
    """Of a run of Q1 whose actors pass on half of their rows and spend as much on each, and 10 µs on a jumbo tuple."""
    actors: dict[str, Any] = {}
    seen_in: dict[str, int] = {}
    seen_out: dict[str, int] = {}
    rows = came = 1 << 20
    for actor, kind in chain(QUERIES["q1"]):
        out = rows if kind == "source" else came // 2
        actors[actor] = [{"execute_s": (row_ns * came + 10_000 * rows / size) / 1e9, "transfer_s": 0.0}]
        seen_in[actor], seen_out[actor], came = (0 if kind == "source" else came), out, out
    return {"actors": actors, "events_in": seen_in, "events_out": seen_out, "throughput_eps": 1e6}


@pytest.fixture
def models() -> Models:
    made = Models(0.0, 1_000_000)
    made.small = lambda query: report(40.0, SMALL)  # type: ignore[assignment]
    made.remember("q1", report(40.0, BATCH_SIZE))
    return made


def test_a_point_has_latencies_in_microseconds(models: Models) -> None:
    found = models.simulated("q1", "lp", 4)
    rate, mean, p99 = models.point("q1", "lp", 4)
    assert (rate, mean, p99) == (
        found.throughput_eps,
        found.latency_mean_ns / 1e3,
        found.latency_p99_ns / 1e3,
    )
    assert 0 < mean <= p99


def test_a_longer_slice_makes_latency_longer(models: Models) -> None:
    short, long = (models.studied("q1", "lp", 4, Setting(slice_ms=size)) for size in (0.5, 10.0))
    assert long[1] > short[1]
    assert long[2] > short[2]


def test_windows_are_simulated_for_longer_than_they_last(models: Models) -> None:
    asked: list[int] = []

    def simulated(*given: Any, tuples: int = 0, **settings: Any) -> Any:
        asked.append(tuples)
        return models._simulated(*given, **settings)

    models.simulated = simulated  # type: ignore[assignment]
    rate = models.point("q1", "ct", 4)[0]
    for window_ms in (10.0, 250.0):
        models.studied("q1", "ct", 4, Setting(window_ms=window_ms))
        assert asked[-1] >= min(rate * window_ms / 1e3, 1_000_000)
    assert asked[-1] >= 2 * rate * 0.25
    models.studied("q1", "lp", 4, USUAL)
    assert asked[-1] == models.tuples
