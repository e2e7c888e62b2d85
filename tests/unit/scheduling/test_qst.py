"""QST takes the earliest operator whose output queue is below its threshold (equation 1)."""

from __future__ import annotations

import math

from hypothesis import given

from actorstream.scheduling.base import UNBOUNDED, Operator
from actorstream.scheduling.qst import QueueSizeThrottling
from tests.unit.scheduling.states import CAPACITY, heuristic, operator, pipelines, schedulable


def test_thresholds_share_the_capacity_by_cumulative_selectivity() -> None:
    operators = [
        operator(index, 1, 1.0, selectivity, 0, UNBOUNDED) for index, selectivity in enumerate([1, 0.5, 4])
    ]
    # cs = 1, 0.5, 2; their sum 3.5
    found = heuristic(QueueSizeThrottling, operators).thresholds()
    assert found == [CAPACITY * 1 / 3.5, CAPACITY * 0.5 / 3.5, CAPACITY * 2 / 3.5]


@given(pipelines())
def test_thresholds_sum_up_to_the_capacity(operators: list[Operator]) -> None:
    assert math.isclose(sum(heuristic(QueueSizeThrottling, operators).thresholds()), CAPACITY)


@given(pipelines())
def test_it_chooses_the_earliest_that_is_below_its_threshold(operators: list[Operator]) -> None:
    scheduled = heuristic(QueueSizeThrottling, operators)
    candidates, thresholds = schedulable(operators), scheduled.thresholds()

    def is_below(each: Operator) -> bool:
        following = each.index + 1
        waiting = operators[following].worklist if following < len(operators) else 0
        return waiting < thresholds[each.index]

    below = [each for each in candidates if is_below(each)]
    chosen = scheduled.choose(candidates, 0)
    assert chosen is (below[0] if below else candidates[-1])
