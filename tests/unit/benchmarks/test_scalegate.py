"""The suite `scalegate`: its cases that run topologies can be run."""

from __future__ import annotations

import pytest

from benchmarks.suite import Settings
from benchmarks.suites import scalegate


@pytest.mark.parametrize("name", ["broadcast-2-2-gate", "keyed-2-2-gate"])
def test_a_case_that_runs_a_topology_gives_rows_a_second(name: str) -> None:
    probes = scalegate.suite(Settings(quick=True)).probes
    (found,) = [each for each in probes if name in [case.name for case in each.cases]]
    (rate,) = found.run()
    assert rate > 0
