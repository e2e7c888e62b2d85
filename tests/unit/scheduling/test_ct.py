"""CT takes the operator of the lowest normalized throughput in the window (equation 3)."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from actorstream.scheduling.base import LEAST_SELECTIVITY, UNBOUNDED, Operator
from actorstream.scheduling.ct import CurrentThroughput
from tests.unit.scheduling.states import SLICE_NS, WINDOW_NS, heuristic, operator, pipelines, schedulable


@given(pipelines(), st.lists(st.integers(0, WINDOW_NS), min_size=6, max_size=6))
def test_throughput_is_that_of_equation_3(operators: list[Operator], spent: list[int]) -> None:
    scheduled = heuristic(CurrentThroughput, operators)
    scheduled.choose(schedulable(operators), 0)
    for each, time in zip(operators, spent):
        scheduled.finished(each, time, 1)
    cs = 1.0
    for each, time, found in zip(operators, spent, scheduled.throughput()):
        cs = max(cs * each.selectivity, LEAST_SELECTIVITY)
        assert math.isclose(found, (time + each.workers * SLICE_NS) / (each.cost * cs), rel_tol=1e-9)


@given(pipelines(), st.lists(st.integers(0, WINDOW_NS), min_size=6, max_size=6))
def test_it_chooses_the_lowest_throughput(operators: list[Operator], spent: list[int]) -> None:
    scheduled = heuristic(CurrentThroughput, operators)
    for each, time in zip(operators, spent):
        scheduled.finished(each, time, 1)
    candidates = schedulable(operators)
    chosen = scheduled.choose(candidates, 2)
    throughput = scheduled.throughput()
    assert chosen in candidates
    assert throughput[chosen.index] == min(throughput[each.index] for each in candidates)


def test_a_new_window_forgets_the_time_that_was_spent_in_the_last() -> None:
    operators = [operator(index, 100, 10.0, 1.0, 0, UNBOUNDED) for index in range(2)]
    scheduled = heuristic(CurrentThroughput, operators)
    scheduled.finished(operators[1], 5_000_000, 0)
    assert scheduled.choose(operators, WINDOW_NS - 1) is operators[0]
    assert scheduled.choose(operators, WINDOW_NS) is operators[1], "none has spent anything: the latest"


def test_at_the_end_of_a_window_the_operators_have_got_through_about_the_same() -> None:
    """What section 6.4 says of an ideal window, for costs and selectivities that differ."""
    operators = [
        operator(0, 10**9, 10.0, 1.0, 0, UNBOUNDED),
        operator(1, 10**9, 80.0, 1.0, 0, UNBOUNDED),
        operator(2, 10**9, 5.0, 4.0, 0, UNBOUNDED),
    ]
    scheduled = heuristic(CurrentThroughput, operators)
    now = 0
    while now < WINDOW_NS - SLICE_NS:
        chosen = scheduled.choose(operators, now)
        now += SLICE_NS // 4
        scheduled.finished(chosen, SLICE_NS // 4, now)
    throughput = scheduled.throughput()
    assert max(throughput) / min(throughput) < 1.3
