"""Every optimizer answers valid plans; the communication optimizer answers the paper's."""

from __future__ import annotations

from importlib import import_module

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.dgs.dependence import Dependence
from actorstream.dgs.optimizer import OPTIMIZERS
from actorstream.dgs.optimizer.base import Optimizer, Question, divide
from actorstream.dgs.optimizer.communication import communication
from actorstream.dgs.plan import SynchronizationPlan, check_plan
from actorstream.dgs.states import Fork, StateTypes
from actorstream.dgs.tags import ImplementationTag, Tag
from tests.unit.dgs.test_dependence import I1, I2A, I2B, R1, R2, counters, tag


def optimizer(name: str) -> Optimizer:
    module, function = OPTIMIZERS[name].split(":")
    found: Optimizer = getattr(import_module(module), function)
    return found


EXAMPLE = Question(
    Dependence([R1, R2, I1, I2A, I2B], counters),
    rates={R1: 10, R2: 15, I1: 100, I2A: 200, I2B: 300},
    places={R1: "E0", R2: "E1", I1: "E1", I2A: "E2", I2B: "E3"},
)


def leaf_rate(question: Question, plan: SynchronizationPlan) -> float:
    return question.rate(tag for worker in plan.workers if not worker.children for tag in worker.tags)


def test_example_b1_gives_the_tree_of_figure_3() -> None:
    plan = communication(EXAMPLE)
    trees = {worker.tags: [child.tags for child in worker.children] for worker in plan.workers}
    assert trees == {
        (): [(R2,), (I1, R1)],
        (R2,): [(I2B,), (I2A,)],
        (I2A,): [],
        (I2B,): [],
        (I1, R1): [],
    }
    assert {worker.tags: worker.place for worker in plan.workers} == {
        (): "E1",
        (R2,): "E1",
        (I2A,): "E2",
        (I2B,): "E3",
        (I1, R1): "E1",
    }


def test_tags_go_to_the_root_only_if_that_lets_others_run_apart() -> None:
    trigger, first, second = tag("trigger"), tag("event", stream="0"), tag("event", stream="1")
    relation = Dependence([trigger, first, second], lambda a, b: "trigger" in (a.name, b.name))
    assert divide(Question(relation), frozenset(relation.tags)) == ({trigger}, [{first}, {second}])
    chain = Dependence([trigger, first], lambda a, b: True)
    assert divide(Question(chain), frozenset(chain.tags)) is None


def test_nothing_is_split_for_the_sake_of_the_few() -> None:
    trigger, first, second = tag("trigger"), tag("event", stream="0"), tag("event", stream="1")
    relation = Dependence([trigger, first, second], lambda a, b: "trigger" in (a.name, b.name))
    busy = Question(relation, {trigger: 1000, first: 1, second: 1})
    assert divide(busy, frozenset(relation.tags)) is None
    assert len(communication(busy).workers) == 1


def test_streams_of_one_place_share_a_subtree() -> None:
    values = [tag("value", stream=str(number)) for number in range(4)]
    relation = Dependence(values, lambda a, b: False)
    places = {value: f"E{number % 2}" for number, value in enumerate(values)}
    plan = communication(Question(relation, places=places))
    halves = [child.handled for child in plan.root.children]
    assert {frozenset(places[each] for each in half) for half in halves} == {
        frozenset({"E0"}),
        frozenset({"E1"}),
    }


def test_programs_with_several_state_types_get_a_tree_that_their_forks_can_make() -> None:
    types = StateTypes(
        {
            "All": lambda tag: True,
            "Counts": lambda tag: tag.name == "i",
            "Reads": lambda tag: tag.name == "r",
        },
        "All",
        (Fork("All", "Counts", "Reads"), Fork("Counts", "Counts", "Counts")),
    )
    relation = Dependence([R1, I2A, I2B], lambda a, b: False)
    for name in OPTIMIZERS:
        plan = optimizer(name)(Question(relation, types=types))
        assert check_plan(plan, relation, types) == []
    mixed = communication(Question(Dependence([R1, R2, I1], counters), types=types))
    assert check_plan(mixed, Dependence([R1, R2, I1], counters), types) == []


@st.composite
def questions(draw: st.DrawFn) -> Question:
    names = [Tag(name, key) for name in "abc" for key in range(draw(st.integers(1, 3)))]
    pairs = draw(st.sets(st.tuples(st.sampled_from(names), st.sampled_from(names)), max_size=12))
    related = pairs | {(b, a) for a, b in pairs}
    tags = draw(
        st.lists(
            st.builds(ImplementationTag, st.sampled_from(names), st.sampled_from(["", "x", "y"])),
            min_size=1,
            max_size=12,
            unique=True,
        )
    )
    return Question(
        Dependence(tags, lambda a, b: (a, b) in related),
        rates={each: draw(st.sampled_from([0.0, 1.0, 5.0, 1000.0])) for each in tags},
        places={each: draw(st.sampled_from(["E0", "E1", "E2"])) for each in tags},
        workers=draw(st.integers(1, 6)),
    )


@pytest.mark.parametrize("name", OPTIMIZERS)
@settings(max_examples=60, deadline=None)
@given(question=questions())
def test_plans_are_valid_within_the_workers_and_the_same_each_time(name: str, question: Question) -> None:
    plan = optimizer(name)(question)
    assert check_plan(plan, question.dependence, question.types) == []
    assert sum(not worker.children for worker in plan.workers) <= question.workers
    assert optimizer(name)(question).root == plan.root


@settings(max_examples=60, deadline=None)
@given(question=questions())
def test_what_can_run_apart_does_when_there_are_workers_for_it(question: Question) -> None:
    plan = communication(Question(question.dependence, question.rates, question.places))
    for worker in plan.workers:
        if not worker.children:
            assert divide(question, frozenset(worker.tags)) is None or len(worker.tags) == 1
    parts = question.dependence.components(question.dependence.tags)
    assert leaf_rate(question, plan) >= max(max(question.rate((each,)) for each in part) for part in parts)
