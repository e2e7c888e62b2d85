"""The floors of the suite `latency`."""

from __future__ import annotations

import pytest

from benchmarks import job


@pytest.mark.parametrize("wait", ["park", "spin", "uvloop"])
def test_a_hop_with_no_engine_has_an_age_for_its_events(wait: str) -> None:
    p50, p99 = job.call("benchmarks.loops.hop:percentiles", wait=wait, gap_ns=1000, count=8, warm_up=2)
    assert 0 < p50 <= p99


def test_a_paced_stream_with_no_engine_has_an_age_for_its_events() -> None:
    p50, p99 = job.call(
        "benchmarks.loops.paced:percentiles", rate=5000.0, seconds=0.01, warm_up=0.002, work_ns=1000
    )
    assert 0 < p50 <= p99
