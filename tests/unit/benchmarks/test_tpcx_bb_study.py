"""The study tries every slice and window once, and what it tries is what a deployment and the simulator are told."""

from __future__ import annotations

import pytest

from actorstream.scheduling import SCHEDULES
from benchmarks.harness import check
from benchmarks.suite import Settings
from benchmarks.suites.tpcx_bb import suite
from benchmarks.tpcx_bb_study import SLICES_MS, WINDOWS_MS, Setting, settings_of


def test_a_setting_says_the_same_to_a_deployment_and_to_the_simulator() -> None:
    setting = Setting(slice_ms=0.1, window_ms=250.0)
    assert setting.keys == {"slice": "100us", "ct_window": "250ms"}
    assert (setting.slice_ns, setting.window_ns) == (100_000, 250_000_000)


def test_every_setting_has_a_name_of_its_own() -> None:
    tried = settings_of(quick=False)
    assert len({(heuristic, setting.name) for heuristic, setting in tried}) == len(tried)
    assert len(tried) == 2 * len(SLICES_MS) + len(WINDOWS_MS)
    assert {heuristic for heuristic, _ in tried} <= set(SCHEDULES)
    assert len(settings_of(quick=True)) == 3


@pytest.mark.parametrize("quick", [True, False])
def test_the_suite_has_the_cases_of_the_study_and_of_its_figures(quick: bool) -> None:
    made = suite(Settings(quick=quick))
    check(made)
    names = {case.name for probe in made.probes for case in probe.cases}
    wanted = {
        f"q1-{heuristic}-{setting.name}{end}{what}"
        for heuristic, setting in settings_of(quick)
        for end in ("", "-8-simulated")
        for what in ("", "-mean", "-p99")
    }
    best = "lp" if quick else "ct"
    wanted |= {
        f"q1-{best}-1-p99",
        f"q1-{best}-lock-based-2-p99",
        "q1-hybrid-queues-2-p99",
        f"q1-{best}-16-simulated-p99",
    }
    assert wanted <= names
