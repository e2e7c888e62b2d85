"""ET takes the operator whose worklist would take longest (equation 2)."""

from __future__ import annotations

from hypothesis import given

from actorstream.scheduling.base import UNBOUNDED, Operator
from actorstream.scheduling.et import EstimatedTime, priority
from tests.unit.scheduling.states import heuristic, operator, pipelines, schedulable


def test_the_priority_is_the_time_of_the_worklist_with_one_more_worker() -> None:
    assert priority(operator(0, 1000, 20.0, 1.0, 3, UNBOUNDED)) == 1000 * 20.0 / 4
    assert priority(operator(0, 1000, 20.0, 1.0, 0, 1)) == 1000 * 20.0
    assert priority(operator(0, 1000, 20.0, 1.0, 1, 1)) == 0.0, "no more workers are allowed"


@given(pipelines())
def test_it_chooses_the_highest_priority(operators: list[Operator]) -> None:
    candidates = schedulable(operators)
    chosen = heuristic(EstimatedTime, operators).choose(candidates, 0)
    assert chosen in candidates
    assert priority(chosen) == max(map(priority, candidates))


def test_of_equals_the_latest_is_chosen() -> None:
    operators = [operator(index, 100, 10.0, 1.0, 0, 1) for index in range(3)]
    assert heuristic(EstimatedTime, operators).choose(operators, 0).index == 2
