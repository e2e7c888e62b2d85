"""LP takes the latest operator that has work."""

from __future__ import annotations

from hypothesis import given

from actorstream.scheduling.base import Operator
from actorstream.scheduling.lp import LastInPipeline
from tests.unit.scheduling.states import SLICE_NS, heuristic, operator, pipelines, schedulable


@given(pipelines())
def test_it_chooses_the_latest_operator_that_is_schedulable(operators: list[Operator]) -> None:
    chosen = heuristic(LastInPipeline, operators).choose(schedulable(operators), 0)
    assert chosen.is_schedulable
    assert not any(each.is_schedulable for each in operators[chosen.index + 1 :])


@given(pipelines())
def test_of_the_ingress_it_takes_what_all_operators_get_through_in_a_slice(operators: list[Operator]) -> None:
    found = heuristic(LastInPipeline, operators)
    ingress, *others = operators
    assert 1 <= found.tuples(ingress) <= ingress.tuples(SLICE_NS)
    assert found.tuples(ingress) * found.pipeline.cost(ingress) <= SLICE_NS or found.tuples(ingress) == 1
    for each in others:
        assert found.tuples(each) == each.tuples(SLICE_NS)


def test_while_the_ingress_was_not_measured_it_takes_one_tuple() -> None:
    made = [Operator("source", 0), Operator("map", 1, upstream=[(0, 1.0)])]
    assert heuristic(LastInPipeline, made).tuples(made[0]) == 1


def test_the_cost_of_a_pipeline_counts_what_reaches_each_operator() -> None:
    made = [operator(0, 0, 10.0, 0.5, 0, 1), operator(1, 0, 100.0, 4.0, 0, 1), operator(2, 0, 7.0, 1.0, 0, 1)]
    assert heuristic(LastInPipeline, made).pipeline.cost(made[0]) == 10 + 0.5 * 100 + 2 * 7


def test_a_table_beside_the_ingress_makes_no_turn_of_it_shorter() -> None:
    source, table, join = operator(0, 0, 10.0, 1.0, 0, 1), operator(1, 0, 1e6, 1.0, 0, 1), Operator("join", 2)
    table.upstream, join.upstream = (
        (),
        ((0, 1.0),),
    )  # a table is whole before the first row comes: it feeds nobody
    found = heuristic(LastInPipeline, [source, table, join])
    assert found.tuples(source) == SLICE_NS // (10 + join.cost)
    assert found.pipeline.cost(table) == 1e6
