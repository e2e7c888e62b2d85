"""The study tries every slice and window once, and what it tries is what a deployment and the simulator are told."""

from __future__ import annotations

from actorstream.scheduling import SCHEDULES
from benchmarks.harness import check
from benchmarks.suite import Settings, Suite
from benchmarks.suites.tpcx_bb import suite
from benchmarks.tpcx_bb_study import SLICES_MS, TRIED, WINDOWS_MS, Setting


def test_a_setting_says_the_same_to_a_deployment_and_to_the_simulator() -> None:
    setting = Setting(slice_ms=0.1, window_ms=250.0)
    assert setting.keys == {"slice": "100us", "ct_window": "250ms"}
    assert (setting.slice_ns, setting.window_ns) == (100_000, 250_000_000)


def test_every_setting_has_a_name_of_its_own() -> None:
    assert len({(heuristic, setting.name) for heuristic, setting in TRIED}) == len(TRIED)
    assert len(TRIED) == 2 * len(SLICES_MS) + len(WINDOWS_MS)
    assert {heuristic for heuristic, _ in TRIED} <= set(SCHEDULES)


def names(made: Suite) -> set[str]:
    return {case.name for probe in made.probes for case in probe.cases}


def test_the_suite_has_the_cases_of_the_study_and_of_its_figures() -> None:
    made = suite(Settings())
    check(made)
    wanted = {
        f"q1-{heuristic}-{setting.name}{end}{what}"
        for heuristic, setting in TRIED
        for end in ("", "-8-simulated")
        for what in ("", "-mean", "-p99")
    }
    wanted |= {"q1-ct-1-p99", "q1-ct-lock-based-2-p99", "q1-hybrid-queues-2-p99", "q1-ct-16-simulated-p99"}
    assert wanted <= names(made)


def test_a_quick_run_measures_a_few_cases_in_every_round_and_simulates_nothing() -> None:
    made = suite(Settings(quick=True))
    check(made)
    assert len(made.probes) == 10
    assert {probe.rounds for probe in made.probes} == {None}
    assert {"q1-turns-1", "q1-lp-2-p99", "q15-lp-2", "q15-serial-2", "q1-lp-half-load-p99"} <= names(made)
    assert not [name for name in names(made) if "simulated" in name]
    assert (made.curves, made.summary, made.pictures) == (None, None, None)
