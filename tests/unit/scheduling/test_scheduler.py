"""The scheduler allots workers to schedulable operators only, whatever the heuristic."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.scheduling import SCHEDULES
from actorstream.scheduling.base import Heuristic, Operator
from actorstream.scheduling.scheduler import Scheduler
from tests.unit.scheduling.states import CAPACITY, SLICE_NS, WINDOW_NS, operator, pipelines

KINDS = list(SCHEDULES.values())


def scheduler(operators: list[Operator], kind: type[Heuristic]) -> Scheduler:
    return Scheduler(operators, kind, slice_ns=SLICE_NS, window_ns=WINDOW_NS, capacity=CAPACITY)


@given(pipelines(), st.sampled_from(KINDS), st.integers(1, 12))
def test_workers_go_to_schedulable_operators_until_none_is_left(
    operators: list[Operator], kind: type[Heuristic], workers: int
) -> None:
    made = scheduler(operators, kind)
    for _ in range(workers):
        before = [each.is_schedulable for each in operators]
        allotted = made.decide(0)
        if allotted is None:
            assert not any(before)
            break
        assert before[allotted.operator.index]
        assert allotted.operator.workers <= allotted.operator.limit
        assert allotted.tuples >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_gets_only_operators_that_it_may_run(kind: type[Heuristic]) -> None:
    operators = [operator(index, 100, 10.0, 1.0, 0, 1) for index in range(3)]
    made = scheduler(operators, kind)
    allotted = made.decide(0, operators[1:2])
    assert allotted is not None
    assert allotted.operator is operators[1]
    assert made.decide(0, operators[1:2]) is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_worker_that_comes_back_is_counted_out_and_measured(kind: type[Heuristic]) -> None:
    (only,) = operators = [Operator("o", 0, limit=1)]
    only.worklist = 10
    made = scheduler(operators, kind)
    assert made.decide(0) == (only, 1)
    assert made.decide(0) is None, "its one worker is in it"
    made.finish(only, 10, 5, 1_000, 1_000)
    assert (only.workers, only.cost, only.selectivity) == (0, 100.0, 0.5)
    assert made.decide(2_000) == (only, SLICE_NS // 100)
    assert made.statistics() == {"decisions": 2, "busy_ns": 1_000}
