"""The floors of the suite `latency`."""

from __future__ import annotations

import pytest

from benchmarks import job


@pytest.mark.parametrize("wait", ["park", "spin", "uvloop"])
def test_a_hop_with_no_engine_has_an_age_for_its_events(wait: str) -> None:
    p50, p99 = job.call("benchmarks.loops.hop:percentiles", wait=wait, gap_ns=1000, count=8, warm_up=2)
    assert 0 < p50 <= p99
