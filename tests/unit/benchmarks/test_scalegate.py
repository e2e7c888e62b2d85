"""The suite `scalegate`: its cases can be run."""

from __future__ import annotations

import pytest

from benchmarks.suite import Settings
from benchmarks.suites import scalegate


@pytest.mark.parametrize("name", ["broadcast-2-2-gate", "keyed-2-2-gate", "lanes-64-tied"])
def test_a_case_gives_rows_a_second(name: str) -> None:
    probes = scalegate.suite(Settings(quick=True)).probes
    (found,) = [each for each in probes if name in [case.name for case in each.cases]]
    (rate,) = found.run()
    assert rate > 0
