"""Deployment: what each worker of the tree sees, forks and answers for."""

from __future__ import annotations

from typing import ClassVar

import pytest

from actorstream.dgs import Tag, by, every
from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.states import Fork
from actorstream.dgs.tags import ImplementationTag
from actorstream.errors import ConfigurationError
from actorstream.topology.dependency import DependencyPlan, PlannedStream, PlannedTag, PlannedTreeWorker
from tests.unit.dgs.test_program import KeyedCounters

I1, R1 = ImplementationTag(Tag("increment", 1), "events"), ImplementationTag(Tag("read", 1), "events")
I2A, I2B = ImplementationTag(Tag("increment", 2), "events"), ImplementationTag(Tag("increment", 2), "more")
R2 = ImplementationTag(Tag("read", 2), "more")


def planned(*workers: PlannedTreeWorker) -> DependencyPlan:
    return DependencyPlan(
        actor="count",
        optimizer="communication",
        streams=[
            PlannedStream(name="events", input="events"),
            PlannedStream(name="more", input="more", process=1),
        ],
        tags=[
            PlannedTag(name="increment", key=1, stream=0),
            PlannedTag(name="read", key=1, stream=0),
            PlannedTag(name="increment", key=2, stream=0),
            PlannedTag(name="increment", key=2, stream=1, rate=200.0),
            PlannedTag(name="read", key=2, stream=1),
        ],
        workers=list(workers),
    )


FIGURE_3 = planned(
    PlannedTreeWorker(tags=[], state="State", children=[2, 3]),
    PlannedTreeWorker(tags=[0, 1], state="State", parent=1),
    PlannedTreeWorker(tags=[4], state="State", parent=1, children=[4, 5], process=1),
    PlannedTreeWorker(tags=[2], state="State", parent=3),
    PlannedTreeWorker(tags=[3], state="State", parent=3, process=1),
)


def test_a_mailbox_has_the_tags_of_its_worker_and_of_those_above() -> None:
    made = ProgramDeployment(KeyedCounters(), FIGURE_3)
    assert made.seen(1) == ()
    assert made.seen(2) == (I1, R1)
    assert made.seen(4) == (I2A, R2)
    assert made.dependents(4) == {I2A: (R2,), R2: (I2A, R2)}
    assert made.dependents(2) == {I1: (R1,), R1: (I1, R1)}


def test_heartbeats_go_to_the_responsible_worker_and_all_below_it() -> None:
    made = ProgramDeployment(KeyedCounters(), FIGURE_3)
    assert made.listeners(R2) == (3, 4, 5)
    assert made.listeners(I1) == (2,)
    assert made.responsible == {I1: 2, R1: 2, R2: 3, I2A: 4, I2B: 5}


def test_a_fork_is_given_the_tags_of_either_subtree() -> None:
    made = ProgramDeployment(KeyedCounters(), FIGURE_3)
    assert made.fork(1) == Fork("State", "State", "State")
    assert made.fork(2) is None and made.predicates(2) is None and made.functions(2) is None
    left, right = made.predicates(1) or ((), ())
    assert left == {Tag("increment", 1), Tag("read", 1)}
    assert right == {Tag("increment", 2), Tag("read", 2)}
    assert made.predicates(3) == ({Tag("increment", 2)}, {Tag("increment", 2)})
    assert made.state_class(4) is KeyedCounters.State
    fork, join = made.functions(3) or (None, None)
    assert (fork, join) == (made.program.fork, made.program.join)


def test_ranks_are_those_of_the_streams() -> None:
    made = ProgramDeployment(KeyedCounters(), FIGURE_3)
    assert made.ranks == {I1: 0, R1: 0, I2A: 0, I2B: 1, R2: 1}
    assert made.process(3) == 1
    assert made.rates[I2B] == 200.0


def test_a_worker_adds_if_all_tags_below_it_do() -> None:
    class Counters(KeyedCounters):
        additive: ClassVar = ["increment"]

    made = ProgramDeployment(Counters(), FIGURE_3)
    assert [made.adds(number) for number in range(1, 6)] == [False, False, True, False, False]
    assert not ProgramDeployment(KeyedCounters(), FIGURE_3).adds(3)


def test_outputs_have_an_order_among_workers_whose_events_depend_on_each_other() -> None:
    class Adding(KeyedCounters):
        additive: ClassVar = ["increment"]

    class Ending(Adding):
        def end(self, state: object) -> None: ...

    class Free(KeyedCounters):
        def depends(self, one: Tag, other: Tag) -> bool:
            return False

    assert ProgramDeployment(KeyedCounters(), FIGURE_3).output_groups == ({3, 4, 5},)  # key 1 has one worker
    assert ProgramDeployment(Adding(), FIGURE_3).output_groups == ()  # only reads put something out
    assert ProgramDeployment(Ending(), FIGURE_3).output_groups == ({1, 2, 3},)  # the end is behind all reads
    assert ProgramDeployment(Free(), FIGURE_3).output_groups == ()


def test_groups_of_outputs_that_share_a_worker_are_one() -> None:
    two = planned(
        PlannedTreeWorker(tags=[1, 4], state="State", children=[2, 3]),
        PlannedTreeWorker(tags=[0, 2], state="State", parent=1),
        PlannedTreeWorker(tags=[3], state="State", parent=1),
    )
    assert ProgramDeployment(KeyedCounters(), two).output_groups == ({1, 2, 3},)


def test_a_plan_that_is_not_valid_for_the_program_is_refused() -> None:
    apart = planned(
        PlannedTreeWorker(tags=[2, 3, 4], state="State", children=[2, 3]),
        PlannedTreeWorker(tags=[0], state="State", parent=1),
        PlannedTreeWorker(tags=[1], state="State", parent=1),
    )
    with pytest.raises(ConfigurationError, match="depend on each other"):
        ProgramDeployment(KeyedCounters(), apart)


def test_a_dependence_that_is_not_symmetric_is_refused() -> None:
    class OneWay(KeyedCounters):
        def depends(self, one: Tag, other: Tag) -> bool:
            return one.name == "read" and other.name == "increment"

    with pytest.raises(ConfigurationError, match="symmetric"):
        ProgramDeployment(OneWay(), FIGURE_3)


def test_what_a_program_says_of_itself_changes_with_how_rows_map_to_tags_and_with_ticks() -> None:
    class Otherwise(KeyedCounters):
        tags: ClassVar = {
            **KeyedCounters.tags,
            "events": by("op", {"i": "read", "r": "increment"}, key="key", classes=3),
        }

    class Often(KeyedCounters):
        tags: ClassVar = {**KeyedCounters.tags, "hour": every("1h")}

    class Seldom(KeyedCounters):
        tags: ClassVar = {**KeyedCounters.tags, "hour": every("2h", offset="1s")}

    said = [ProgramDeployment(cls(), FIGURE_3).says() for cls in (KeyedCounters, Otherwise, Often, Seldom)]
    rows = [each.pop("rows of tags") for each in said]
    assert all(each == said[0] for each in said)
    assert rows[1] == ["events: op: 'i' is read, 'r' is increment by key in 3"]
    assert rows[2] == [*rows[0], "hour: every 1:00:00"]
    assert rows[3] == [*rows[0], "hour: every 2:00:00, offset 0:00:01"]
