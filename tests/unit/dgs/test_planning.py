"""Planning: rates and places become a tree, the tree a plan with a process for each worker."""

from __future__ import annotations

import pytest

from actorstream.dgs import Tag
from actorstream.dgs.deployment import ProgramDeployment
from actorstream.dgs.planning import plan_program
from actorstream.dgs.tree import read_tree
from actorstream.drawing.tree import tag_text, tree_json
from actorstream.errors import ConfigurationError
from actorstream.topology.dependency import DependencyPlan, PlannedStream, Planning
from tests.unit.dgs.test_program import KeyedCounters, WithParts

STREAMS = [
    PlannedStream(name=f"events/{number}", input="events", partition=number, process=number)
    for number in range(4)
]
INCREMENT, READ = (lambda key: Tag("increment", key)), (lambda key: Tag("read", key))
RATES = {
    (0, READ(2)): 10.0,
    (1, READ(1)): 15.0,
    (1, INCREMENT(1)): 100.0,
    (2, INCREMENT(1)): 200.0,
    (3, INCREMENT(2)): 300.0,
}
"""Example B.1, as the keyed counters have it: figure 3."""


DEFAULT = Planning()


def plan(planning: Planning = DEFAULT, processes: int = 4, tree: object = None) -> DependencyPlan:
    node = None if tree is None else read_tree(tree, "mine.toml")
    return plan_program("count", KeyedCounters(), STREAMS, RATES, planning, processes, node)


def shape(made: DependencyPlan, number: int = 1) -> object:
    worker = made.workers[number - 1]
    own = [tag_text(made, each) for each in worker.tags]
    return [own, worker.process, *(shape(made, child) for child in worker.children)]


def test_example_b1_gives_figure_3_with_leaves_where_their_events_arrive() -> None:
    made = plan()
    assert shape(made) == [
        [],
        1,
        [["read(1)@events/1"], 1, [["increment(1)@events/2"], 2], [["increment(1)@events/1"], 1]],
        [["read(2)@events/0", "increment(2)@events/3"], 3],
    ] or shape(made) == [
        [],
        2,
        [["read(1)@events/1"], 1, [["increment(1)@events/2"], 2], [["increment(1)@events/1"], 1]],
        [["read(2)@events/0", "increment(2)@events/3"], 3],
    ]
    ProgramDeployment(KeyedCounters(), made)  # it is valid


def test_no_process_gets_more_than_its_share_of_the_leaves() -> None:
    near = [PlannedStream(name=f"events/{number}", input="events", partition=number) for number in range(4)]
    made = plan_program("count", KeyedCounters(), near, RATES, Planning(), 2)
    leaves = [worker.process for worker in made.workers if not worker.children]
    assert sorted(leaves) == [0, 1]


def test_plan_workers_is_the_number_of_leaves() -> None:
    for workers in (1, 2, 3):
        made = plan(Planning("balanced", workers))
        assert sum(not worker.children for worker in made.workers) == workers
    assert len(plan(Planning("sequential")).workers) == 1


def test_a_tree_that_was_written_is_taken_as_it_is() -> None:
    tree = {
        "tags": ["read(1)"],
        "process": 3,
        "children": [
            {"tags": ["increment(1)@events/2"], "process": 0},
            {"tags": ["increment(1)@events/1", "read(2)", "increment(2)"], "process": 1},
        ],
    }
    made = plan(Planning("mine.toml"), tree=tree)
    assert shape(made) == [
        ["read(1)@events/1"],
        3,
        [["increment(1)@events/2"], 0],
        [["read(2)@events/0", "increment(1)@events/1", "increment(2)@events/3"], 1],
    ]
    assert shape(plan(Planning("mine.toml"), tree=tree_json(made))) == shape(made)


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"tags": ["read(1)", "red(2)"]}, r"mine.toml: w1: there is no tag 'red\(2\)'"),
        ({"tags": ["read(1)"], "children": [{}]}, "mine.toml: w1: has 1 children; allowed: none, or two"),
        ({"tags": ["read(1)"]}, "no worker is responsible for it"),
        ({"tag": ["read(1)"]}, "is no tree: Object contains unknown field `tag`"),
        (
            {"tags": ["increment"], "children": [{"tags": ["read(1)"]}, {"tags": ["read(2)"]}]},
            r"mine.toml: w1: there is no tag 'increment'",
        ),
        (
            {"children": [{"tags": ["read(1)", "read(2)", "increment(2)"]}, {"tags": ["increment(1)"]}]},
            r"read\(1\)@events/1 of w2 and increment\(1\)@events/[12] of w3 depend on each other",
        ),
        ({"tags": ["read(1)"], "state": "Other"}, "there is no state type 'Other'"),
        ({"tags": ["read(1)"], "process": 4}, "mine.toml: w1: process is 4; allowed: 0 to 3"),
        ({"tags": ["read(1)"], "process": -1}, "mine.toml: w1: process is -1; allowed: 0 to 3"),
    ],
)
def test_a_tree_that_is_not_valid_says_where(tree: object, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        plan(Planning("mine.toml"), tree=tree)


def test_a_tag_that_is_written_twice_at_one_worker_is_there_once() -> None:
    every = ["read(1)", "read(2)", "increment(1)", "increment(2)"]
    made = plan(Planning("mine.toml"), tree={"tags": [*every, "increment(1)@events/2", *every]})
    assert made.workers[0].tags == list(range(5))


def test_a_tree_finds_the_state_types_of_its_workers() -> None:
    streams = [PlannedStream(name=name, input=name) for name in ("values", "rules")]
    rates = {(0, Tag("value")): 100.0, (1, Tag("rule")): 1.0}
    made = plan_program("sums", WithParts(), streams, rates, Planning("sequential"), 1)
    assert [worker.state for worker in made.workers] == ["Whole"]
    assert [tag_text(made, number) for number in range(3)] == ["hour", "value@values", "rule@rules"]
    assert made.tags[0].stream == -1 and made.tags[0].rate == pytest.approx(1 / 3600)


def test_too_many_tags_ask_for_classes() -> None:
    rates = {(0, Tag("increment", key)): 1.0 for key in range(3000)}
    with pytest.raises(ConfigurationError, match=r"3000 implementation tags.*classes"):
        plan_program("count", KeyedCounters(), STREAMS, rates, Planning(), 2)
