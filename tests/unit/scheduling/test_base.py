"""What heuristics see: schedulable operators, tuples of a slice, cumulative selectivity."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from actorstream.scheduling.base import LEAST_SELECTIVITY, UNBOUNDED, Operator, Pipeline


def chain(selectivities: list[float]) -> Pipeline:
    operators = [
        Operator(f"o{index}", index, upstream=[(index - 1, 1.0)] if index else [])
        for index in range(len(selectivities))
    ]
    for operator, selectivity in zip(operators, selectivities):
        operator.statistics.selectivity = selectivity
    return Pipeline(operators)


def test_an_operator_is_schedulable_while_work_waits_and_one_more_worker_is_allowed() -> None:
    operator = Operator("o", 0, limit=2)
    assert not operator.is_schedulable
    operator.worklist = 1
    assert operator.is_schedulable
    operator.workers = 2
    assert not operator.is_schedulable
    operator.workers, operator.is_open = 1, False
    assert not operator.is_schedulable


def test_a_stateless_operator_takes_any_number_of_workers() -> None:
    operator = Operator("o", 0, limit=UNBOUNDED)
    operator.worklist, operator.workers = 1, 10**6
    assert operator.is_schedulable


def test_a_worker_takes_a_slice_of_tuples_at_the_measured_cost() -> None:
    operator = Operator("o", 0)
    assert operator.tuples(2_000_000) == 1, "nothing is measured yet"
    operator.statistics.add(1000, 0, 50_000)
    assert operator.tuples(2_000_000) == 40_000
    assert operator.tuples(10) == 1


@given(st.lists(st.floats(0.01, 50), min_size=1, max_size=8))
def test_in_a_chain_cumulative_selectivity_is_the_product_of_those_so_far(selectivities: list[float]) -> None:
    expected = 1.0
    for selectivity, found in zip(selectivities, chain(selectivities).cumulative()):
        expected = max(
            expected * selectivity, LEAST_SELECTIVITY
        )  # at each operator: what is 0 so far may grow again
        assert math.isclose(found, expected)


def test_where_streams_meet_it_is_that_of_their_sum() -> None:
    source = Operator("source", 0)
    left, right = (Operator(name, 1 + at, upstream=[(0, 0.5)]) for at, name in enumerate(("left", "right")))
    sink = Operator("sink", 3, upstream=[(1, 1.0), (2, 1.0)])
    pipeline = Pipeline([source, left, right, sink])
    left.statistics.selectivity, right.statistics.selectivity = 4.0, 0.5
    assert pipeline.cumulative() == [1.0, 2.0, 0.25, 2.25]
    assert source.downstream == [left, right]
    assert left.downstream == [sink]


def test_an_operator_that_answers_nothing_has_a_least_selectivity() -> None:
    assert chain([1.0, 0.0, 1.0]).cumulative() == [1.0, LEAST_SELECTIVITY, LEAST_SELECTIVITY]
