"""The harness takes alternating rounds within its time and gives medians and ratios."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.harness import FEWEST_ROUNDS, MOST_ROUNDS, MeasureError, run_suite
from benchmarks.suite import Case, Probe, Settings, Suite, probe


class Clock:
    """Time that only passes when a probe says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def taking(
        self, seconds: float, value: float, log: list[str] | None = None, name: str = ""
    ) -> Callable[[], float]:
        def run() -> float:
            self.now += seconds
            if log is not None:
                log.append(name)
            return value

        return run


def test_probes_alternate_within_each_round() -> None:
    clock, log = Clock(), []
    suite = Suite(
        "s",
        (probe("a", "x/s", clock.taking(1, 2, log, "a")), probe("b", "x/s", clock.taking(1, 4, log, "b"))),
    )
    run_suite(suite, Settings(), clock=clock)
    assert log == ["a", "b"] * MOST_ROUNDS


def test_rounds_stop_when_another_would_not_fit() -> None:
    clock, log = Clock(), []
    run_suite(Suite("s", (probe("a", "x/s", clock.taking(40, 1, log)),)), Settings(), clock=clock)
    assert len(log) == FEWEST_ROUNDS
    clock, log = Clock(), []
    run_suite(Suite("s", (probe("a", "x/s", clock.taking(45, 1, log)),)), Settings(), clock=clock)
    assert len(log) == FEWEST_ROUNDS


@pytest.mark.parametrize("seconds", [1, 20, 400])
def test_one_bad_round_is_no_figure_of_a_quick_run(seconds: float) -> None:
    clock, found = Clock(), iter([106_135.0, 39e6, 38e6])
    peers = iter([7e6, 5.0, 8e6])

    def ours() -> float:
        clock.now += seconds
        return next(found)

    suite = Suite("s", (probe("ours", "x/s", ours), probe("peer-1", "x/s", lambda: next(peers), peer="peer")))
    first, second = run_suite(suite, Settings(quick=True, peers=("peer",)), clock=clock)
    assert (first.value, first.min, first.runs) == (38e6, 106_135.0, 3)
    assert (second.value, second.min, second.runs) == (7e6, 5.0, 3)


def test_a_probe_takes_part_in_as_many_rounds_as_it_says() -> None:
    clock, log = Clock(), []
    once = Probe((Case("b", "x/s"),), lambda: (clock.taking(1, 4, log, "b")(),), rounds=1)
    suite = Suite("s", (probe("a", "x/s", clock.taking(1, 2, log, "a")), once))
    records = run_suite(suite, Settings(), clock=clock)
    assert log == ["a", "b"] + ["a"] * (MOST_ROUNDS - 1)
    assert [record.runs for record in records] == [MOST_ROUNDS, 1]


def test_a_probe_takes_part_in_as_many_rounds_as_it_says_however_long_they_are() -> None:
    clock, log = Clock(), []
    more = Probe((Case("b", "x/s"),), lambda: (clock.taking(400, 4, log, "b")(),), rounds=FEWEST_ROUNDS + 2)
    suite = Suite("s", (probe("a", "x/s", clock.taking(400, 2, log, "a")), more))
    records = run_suite(suite, Settings(), clock=clock)
    assert log == ["a", "b"] * FEWEST_ROUNDS + ["b"] * 2
    assert [record.runs for record in records] == [FEWEST_ROUNDS, FEWEST_ROUNDS + 2]
    assert [record.runs for record in run_suite(suite, Settings(quick=True), clock=clock)] == [
        FEWEST_ROUNDS
    ] * 2


def test_the_value_is_the_median_and_the_ratio_that_of_medians() -> None:
    fast, slow = iter([6.0, 8.0, 100.0]), iter([2.0, 1.0, 4.0])
    suite = Suite(
        "s",
        (probe("fast", "x/s", lambda: next(fast), against="slow"), probe("slow", "x/s", lambda: next(slow))),
    )
    first, second = run_suite(suite, Settings(quick=True), clock=Clock())
    assert (first.value, first.min, first.max, first.runs) == (8.0, 6.0, 100.0, 3)
    assert (first.against, first.ratio) == ("slow", 4.0)
    assert (second.value, second.against, second.ratio) == (2.0, None, None)


def test_a_paired_case_has_the_median_of_its_rounds_ratios_beside_it() -> None:
    ours, other = iter([6.0, 8.0, 100.0]), iter([2.0, 10.0, 50.0])
    suite = Suite(
        "s",
        (
            probe("other", "x/s", lambda: next(other)),
            probe("ours", "x/s", lambda: next(ours), against="other", paired=True),
        ),
    )
    _, first, second = run_suite(suite, Settings(quick=True), clock=Clock())
    assert (first.case, first.value, first.ratio) == ("ours", 8.0, 0.8)
    assert (second.case, second.unit, second.runs) == ("ours-paired", "times", 3)
    assert (second.value, second.min, second.max) == (2.0, 0.8, 3.0)
    assert (second.against, second.ratio) == (None, None)


def test_a_suite_of_some_cases_keeps_what_these_are_compared_with() -> None:
    suite = Suite(
        "s",
        (
            Probe((Case("a", "x/s"), Case("a-p99", "µs")), lambda: (1.0, 2.0)),
            probe("b", "x/s", lambda: 1.0, against="a"),
            probe("c-1", "x/s", lambda: 1.0, against="b"),
            probe("d", "x/s", lambda: 1.0),
        ),
        summary=lambda medians: [str(medians["d"])],
    )
    some = suite.only(["c-*"])
    assert [each.cases[0].name for each in some.probes] == ["a", "b", "c-1"]
    assert some.summary is None
    assert [each.case for each in run_suite(some, Settings(quick=True), clock=Clock())] == [
        *("a", "a-p99", "b", "c-1")
    ]
    assert suite.only(["e"]).probes == ()


def test_a_case_alone_runs_behind_those_whose_runs_it_uses() -> None:
    probes = [
        Probe((Case(name, "µs"),), lambda: (1.0,), needs=needs)
        for name, needs in (("a", ()), ("b", ("a",)), ("c", ("b",)), ("d", ()))
    ]
    some = Suite("s", tuple(probes)).only(["c"])
    assert [case.name for probe in some.probes for case in probe.cases] == ["a", "b", "c"]


def test_the_time_of_peers_is_not_charged_to_the_suite() -> None:
    clock, log = Clock(), []
    suite = Suite(
        "s",
        (
            probe("ours", "x/s", clock.taking(1, 1, log, "ours")),
            probe("peer-1", "x/s", clock.taking(500, 1, log, "peer"), peer="peer"),
        ),
    )
    records = run_suite(suite, Settings(peers=("peer",)), clock=clock)
    assert [record.runs for record in records] == [MOST_ROUNDS, log.count("peer")]
    assert log[:4] == ["ours", "peer", "ours", "peer"]


def test_one_run_may_give_the_values_of_several_cases() -> None:
    suite = Suite("s", (Probe((Case("p50", "µs"), Case("p99", "µs")), lambda: (1.0, 9.0)),))
    assert [
        (record.case, record.value) for record in run_suite(suite, Settings(quick=True), clock=Clock())
    ] == [
        ("p50", 1.0),
        ("p99", 9.0),
    ]


def test_a_run_without_all_its_values_is_an_error() -> None:
    suite = Suite("s", (Probe((Case("p50", "µs"), Case("p99", "µs")), lambda: (1.0,)),))
    with pytest.raises(MeasureError, match="1 values for the cases p50, p99"):
        run_suite(suite, Settings())


@pytest.mark.parametrize(
    ("suite", "message"),
    [
        (
            Suite("s", (probe("a", "x", lambda: 1.0), probe("a", "x", lambda: 1.0))),
            "more than one case is called a",
        ),
        (Suite("s", (probe("a", "x", lambda: 1.0, against="b"),)), "against b, not one of its cases"),
        (Suite("s", (probe("a", "x", lambda: 1.0, paired=True),)), "a is paired, but against nothing"),
    ],
)
def test_a_suite_that_contradicts_itself_is_refused_before_it_runs(suite: Suite, message: str) -> None:
    with pytest.raises(MeasureError, match=message):
        run_suite(suite, Settings())


def test_a_probe_that_needs_a_run_behind_it_is_refused() -> None:
    needy = Probe((Case("a", "µs"),), lambda: (1.0,), needs=("b",))
    suite = Suite("s", (needy, probe("b", "µs", lambda: 1.0)))
    with pytest.raises(MeasureError, match="case a needs b"):
        run_suite(suite, Settings(quick=True), clock=Clock())
