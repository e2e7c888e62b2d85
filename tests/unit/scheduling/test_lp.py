"""LP takes the latest operator that has work."""

from __future__ import annotations

from hypothesis import given

from actorstream.scheduling.base import Operator
from actorstream.scheduling.lp import LastInPipeline
from tests.unit.scheduling.states import heuristic, pipelines, schedulable


@given(pipelines())
def test_it_chooses_the_latest_operator_that_is_schedulable(operators: list[Operator]) -> None:
    chosen = heuristic(LastInPipeline, operators).choose(schedulable(operators), 0)
    assert chosen.is_schedulable
    assert not any(each.is_schedulable for each in operators[chosen.index + 1 :])
