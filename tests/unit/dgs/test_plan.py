"""What makes a synchronization plan valid, and how it is drawn."""

from __future__ import annotations

from actorstream.dgs.dependence import Dependence
from actorstream.dgs.plan import PlanWorker, SynchronizationPlan, check_plan
from actorstream.dgs.states import Fork, StateTypes
from tests.unit.dgs.test_dependence import I1, I2A, I2B, R1, R2, counters, tag

ALL = Dependence([R1, R2, I1, I2A, I2B], counters)
TYPES = StateTypes()
FIGURE = SynchronizationPlan(
    PlanWorker(
        (),
        children=(
            PlanWorker((I1, R1)),
            PlanWorker((R2,), children=(PlanWorker((I2A,), place="E2"), PlanWorker((I2B,)))),
        ),
    )
)


def problems(root: PlanWorker, types: StateTypes = TYPES) -> list[str]:
    return [str(each) for each in check_plan(SynchronizationPlan(root), ALL, types)]


def test_the_plan_of_figure_3_is_valid() -> None:
    assert check_plan(FIGURE, ALL, TYPES) == []


def test_workers_are_numbered_from_the_root_and_know_their_ancestors() -> None:
    assert [FIGURE.responsible(each) for each in (I1, R1, R2, I2A, I2B)] == [2, 2, 3, 4, 5]
    assert FIGURE.ancestors(5) == [3, 1]
    assert FIGURE.children(3) == [4, 5]
    assert FIGURE.responsible(tag("x")) is None


def test_the_picture_shows_tags_rates_and_places() -> None:
    assert FIGURE.picture({I2A: 200.0}).splitlines() == [
        "w1 State: joins and forks only",
        "├─ w2 State: i(1), r(1)",
        "└─ w3 State: r(2)",
        "   ├─ w4 State on E2: i(2)@a 200/s",
        "   └─ w5 State: i(2)@b",
    ]


def test_dependent_tags_beside_each_other_are_found() -> None:
    found = problems(PlanWorker((I1, R1), children=(PlanWorker((R2, I2A)), PlanWorker((I2B,)))))
    assert found == [
        "w2, w3: r(2) of w2 and i(2)@b of w3 depend on each other, and neither worker is above the other; allowed: "
        "independent tags (give one of the two to a common ancestor)"
    ]


def test_tags_that_nobody_or_two_have_are_found() -> None:
    found = problems(PlanWorker((R1, R2, I1), children=(PlanWorker((I2A,)), PlanWorker((I2A, tag("x"))))))
    assert "i(2)@b: no worker is responsible for it; allowed: exactly one worker" in found
    assert "i(2)@a: w2 and w3 is responsible for it; allowed: exactly one worker" in found
    assert "x: no input stream has events of this tag; allowed: tags of the inputs" in found


def test_types_that_do_not_fit_are_found() -> None:
    types = StateTypes(
        {"Whole": lambda tag: True, "Part": lambda tag: tag.name == "i"},
        "Whole",
        (Fork("Whole", "Part", "Part"),),
    )
    leaf = PlanWorker((I2B,), "Part")
    found = problems(PlanWorker((R1, R2, I1), "Part", (PlanWorker((I2A,), "Part"), leaf)), types)
    assert "w1: a state of type 'Part' cannot process r(1); allowed: tags of its predicate" in found
    assert "w1: the program has no fork of Part into (Part, Part); allowed: Whole -> (Part, Part)" in found
    assert "w1: the root's state type is 'Part'; allowed: the initial state's, 'Whole'" in found
    assert problems(PlanWorker((R1, R2, I1), "Whole", (PlanWorker((I2A,), "Part"), leaf)), types) == []
    unknown = problems(PlanWorker((R1, R2, I1, I2A, I2B), "Hole"), types)
    assert "w1: there is no state type 'Hole'; allowed: 'Whole', 'Part'" in unknown
