"""Cost and selectivity as measured."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.scheduling.statistics import PRIOR_COST, Statistics


def test_the_first_turn_sets_cost_and_selectivity() -> None:
    statistics = Statistics()
    assert (statistics.cost, statistics.selectivity) == (PRIOR_COST, 1.0)
    statistics.add(100, 50, 3_000)
    assert (statistics.cost, statistics.selectivity) == (30.0, 0.5)


def test_a_turn_counts_by_its_tuples() -> None:
    statistics = Statistics()
    statistics.add(1000, 0, 10_000)
    statistics.add(1, 0, 10_000)  # one slow tuple
    assert 19.0 < statistics.cost < 23.0


def test_a_turn_without_tuples_changes_nothing() -> None:
    statistics = Statistics()
    statistics.add(0, 0, 5_000)
    assert (statistics.cost, statistics.turns) == (PRIOR_COST, 0)


def test_they_follow_a_change_within_some_turns() -> None:
    statistics = Statistics()
    for _ in range(100):
        statistics.add(100, 100, 1_000)
    for _ in range(30):
        statistics.add(100, 0, 9_000)
    assert statistics.cost == pytest.approx(90.0, rel=0.05)
    assert statistics.selectivity < 0.05


@given(st.lists(st.tuples(st.integers(1, 1000), st.integers(0, 5000), st.integers(1, 10**6)), min_size=1))
def test_they_stay_between_the_least_and_the_greatest_that_was_measured(
    turns: list[tuple[int, int, int]],
) -> None:
    statistics = Statistics()
    for turn in turns:
        statistics.add(*turn)
    costs = [took / rows for rows, _, took in turns]
    assert min(costs) * 0.999 <= statistics.cost <= max(costs) * 1.001
    assert statistics.rows_in == sum(rows for rows, _, _ in turns)
    assert statistics.rows_out == sum(out for _, out, _ in turns)


def test_the_first_turn_which_compiles_is_not_in_the_mean_cost_of_the_run() -> None:
    statistics = Statistics()
    statistics.add(10, 10, 1_000_000)
    assert statistics.mean_cost == 100_000
    statistics.add(100, 100, 5_000)
    statistics.add(100, 100, 7_000)
    assert statistics.mean_cost == 60
    assert statistics.total_ns == 1_012_000


def test_what_comes_later_of_tuples_that_were_taken_counts_with_the_next() -> None:
    statistics = Statistics()
    statistics.add(100, 0, 1_000)
    statistics.add(0, 40, 2_000, 1_500, 1_500)  # their kernels are through, and nothing else was taken
    assert (statistics.turns, statistics.selectivity) == (1, 0.0)
    statistics.add(100, 10, 1_000)
    assert (statistics.turns, statistics.mean_selectivity) == (2, 0.25)
    assert (statistics.mean_cost, statistics.mean_kernel, statistics.mean_pooled) == (30.0, 15.0, 15.0)
    statistics.add(100, 0, 1_000)
    assert statistics.mean_cost == 20.0
