"""Programs in a topology: each key and input that is wrong is named, and what is right becomes a plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream import Event, EventTime
from actorstream.connectors.memory import MemorySink, MemorySource
from actorstream.dgs import Program, Tag, Tags, by, keyed
from actorstream.dgs.optimizer import OPTIMIZERS
from actorstream.errors import ConfigurationError
from actorstream.operators.filter import Filter
from actorstream.plan.compile import available
from actorstream.topology.dependency import Planning
from actorstream.topology.graph import Graph
from actorstream.topology.inputs import read_inputs
from actorstream.topology.registry import TypeRegistry


class Value(Event):
    ts: EventTime
    page: str
    value: float


class Second(Event, event_time="ts", time_unit="s"):
    ts: int


class Timeless(Event):
    value: int


class Sum(Event):
    sum: float


class Sums(Program):
    class State(msgspec.Struct):
        sum: float = 0.0

    tags: ClassVar = {"values": "value", "barriers": "barrier", "timeless": "value", "absent": "absent"}

    def __init__(self, scale: int = 1) -> None:
        self.scale = scale

    def depends(self, one: Tag, other: Tag) -> bool:
        return "barrier" in (one.name, other.name)

    def update(self, state: State, event: Any, tag: Tag) -> Sum | None:
        return None

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        return left


class OneWay(Sums):
    def depends(self, one: Tag, other: Tag) -> bool:
        return one.name == "barrier"


class NoJoin(Program):
    class State(msgspec.Struct):
        sum: complex = 0j

    tags: ClassVar = {"values": "value", "barriers": by("kind", ["a"])}

    def fork(self, state: Any, left: Tags, right: Tags) -> Any:
        return state, state


class ByValue(Sums):
    tags: ClassVar = {"values": keyed("value", "value"), "barriers": "barrier"}


class Raising(Sums):
    def __init__(self) -> None:
        raise ValueError("not today")


class Types(Sums):
    states: ClassVar = {"State": ["value"], "Missing": ["value"]}
    forks: ClassVar = {("State", "Missing", "Other"): ("fork", "divide")}


HERE = __name__


def source(name: str, event: str) -> str:
    return f'[actors.{name}]\ntype = "memory-source"\nevent = "{HERE}:{event}"\nitems = []\n'


def topology(program: str = "Sums", inputs: str = "", more: str = "") -> str:
    dependency = ", ".join(f'{{ from = "{name}", order = "dependency" }}' for name in ("barriers", "values"))
    return (
        source("values", "Value")
        + source("barriers", "Value")
        + source("seconds", "Second")
        + source("timeless", "Timeless")
        + '[actors.some]\ntype = "filter"\ninputs = ["values"]\nwhere = "value > 0"\n'
        + f'[actors.sum]\ntype = "{HERE}:{program}"\ninputs = [{inputs or dependency}]\n{more}\n'
        + '[actors.out]\ntype = "memory-sink"\ninputs = ["sum"]\n'
    )


def read(tmp_path: Path, text: str) -> Graph:
    file = tmp_path / "topology.toml"
    file.write_text(text)
    registry = TypeRegistry(
        {"memory-source": MemorySource, "memory-sink": MemorySink, "filter": Filter}, plugins=False
    )
    return read_inputs(file, registry=registry, available=available()).graph


def problems(tmp_path: Path, text: str) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        read(tmp_path, text)
    return [f"{each.where}: {each.message}" for each in caught.value.problems]


def given(source: str, more: str = 'order = "dependency"') -> str:
    return f'{{ from = "{source}", {more} }}'


def test_a_program_takes_rows_by_tag_and_its_plan_is_made_as_its_table_says(tmp_path: Path) -> None:
    graph = read(tmp_path, topology(more='plan = "balanced"\nplan_workers = 3\nscale = 2'))
    actor = graph.actors["sum"]
    assert actor.planning == Planning("balanced", 3)
    assert actor.keys == {"scale": 2}
    assert [(edge.route, edge.order) for edge in actor.inputs] == [("tag", "dependency")] * 2
    assert graph.consumers("sum")[0].route == "shuffle"
    assert read(tmp_path, topology()).actors["sum"].planning == Planning("communication", None)


def test_a_source_of_a_program_has_no_idle_timeout(tmp_path: Path) -> None:
    text = topology().replace("items = []", 'items = []\nidle_timeout = "1s"', 1)
    [found] = problems(tmp_path, text)
    assert found.startswith("actors.sum.inputs[1]: reads 'values', which has an idle_timeout: events")


def test_a_file_with_a_tree_lies_beside_the_topology(tmp_path: Path) -> None:
    text, tree = topology(more='plan = "trees/mine.toml"'), tmp_path / "trees" / "mine.toml"
    [found] = problems(tmp_path, text)
    assert found == f"actors.sum.plan: there is no file {str(tree)!r}"
    tree.parent.mkdir()
    tree.touch()
    planning = read(tmp_path, text).actors["sum"].planning
    assert planning is not None and Path(planning.plan) == tree


def test_every_optimizer_of_the_table_can_be_named_and_is_tried_by_verify(tmp_path: Path) -> None:
    for name in OPTIMIZERS:
        assert read(tmp_path, topology(more=f'plan = "{name}"')).actors["sum"].planning == Planning(name)
    assert (
        set(Program.contract.varied["plan"]) == set(OPTIMIZERS)
        and Program.contract.varied["plan"][0] == "reference"
    )
    [found] = problems(tmp_path, topology(more='plan = "balancd"'))
    assert found == "actors.sum.plan: is 'balancd'"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ('plan = "balance"', "actors.sum.plan: is 'balance'"),
        ("plan = 3", "actors.sum.plan: is 3"),
        ("plan_workers = 0", "actors.sum.plan_workers: is 0"),
        ('plan_workers = "two"', "actors.sum.plan_workers: is 'two'"),
        ("replicas = 2", "actors.sum.replicas: is 2, but the workers of a program are those of its plan"),
        ("plans = 1", "actors.sum.plans: "),
        ('on_error = "skip"', "actors.sum.on_error: is 'skip', and what an event that raises has changed"),
        ('on_error = "dead-letter"', "actors.sum.on_error: is 'dead-letter', and"),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, more: str, problem: str) -> None:
    [found] = problems(tmp_path, topology(more=more))
    assert found.startswith(problem)


@pytest.mark.parametrize(
    ("inputs", "problem"),
    [
        (given("values", 'order = "none"'), "actors.sum.inputs[0].order: is 'none', and"),
        (
            given("values", 'order = "dependency", route = "shuffle"'),
            "actors.sum.inputs[0].route: is 'shuffle', but",
        ),
        (given("values", 'order = "dependency", key = "page"'), "actors.sum.inputs[0].key: is 'page', but"),
        (given("some"), "actors.sum.inputs[0]: reads 'some', which is no source"),
        (
            given("values", 'order = "dependency", name = "vales"'),
            "actors.sum.inputs[0]: the program has no tags for",
        ),
        (given("timeless"), "actors.sum.inputs[0]: the rows of 'timeless' have no event time"),
        (
            given("values") + ", " + given("seconds", 'order = "dependency", name = "barriers"'),
            "actors.sum: its inputs have their event times in different units: 'values' in ms, 'barriers' in s",
        ),
    ],
)
def test_a_wrong_input_is_named(tmp_path: Path, inputs: str, problem: str) -> None:
    found = problems(tmp_path, topology(inputs=inputs))
    assert any(each.startswith(problem) for each in found), found


def test_what_is_joined_to_a_program_by_forward_has_as_many_replicas_as_its_plan(tmp_path: Path) -> None:
    text = (
        topology() + '[actors.beside]\ntype = "memory-sink"\ninputs = [{ from = "sum", route = "forward" }]\n'
    )
    [found] = problems(tmp_path, text)
    assert found == (
        "actors.beside.inputs[0].route: forward joins replica i to replica i, but 'sum' has as many as its plan has "
        "workers and 'beside' has 1"
    )
    read(tmp_path, text + 'replicas = "auto"\n')


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ("serial", "outputs of independent events of 'sum', a program, have no one sequence"),
        ("timestamp", "'sum', on the way to 'behind', has input in dependency order"),
    ],
)
def test_nobody_behind_a_program_asks_for_an_order_that_its_outputs_do_not_have(
    tmp_path: Path, order: str, message: str
) -> None:
    behind = '[actors.behind]\ntype = "memory-sink"\ninputs = [{{ from = "sum", order = "{}" }}]\n'
    found = problems(tmp_path, topology(more='plan = "sequential"') + behind.format(order))
    assert [each for each in found if "event time" not in each] == [
        f"actors.behind.inputs[0].order: {message}"
    ]


def test_dependency_order_is_for_programs(tmp_path: Path) -> None:
    text = topology().replace('inputs = ["values"]', 'inputs = [{ from = "values", order = "dependency" }]')
    [found] = problems(tmp_path, text)
    assert found == "actors.some.inputs[0].order: is \"dependency\", and 'filter' is no dgs.Program"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (
            "OneWay",
            ["actors.sum: OneWay.depends: depends(barrier, value) is True, depends(value, barrier) is False"],
        ),
        (
            "NoJoin",
            [
                "actors.sum.inputs[0]: its tags are told by 'kind', which Value does not have",
                "actors.sum: states of type 'State' hold a complex, which cannot be sent",
                "actors.sum: it defines fork and no join",
            ],
        ),
        ("ByValue", ["actors.sum.inputs[1]: the key of its tags is value: float64"]),
        ("Raising", [f"actors.sum: {HERE}:Raising raised ValueError('not today') when it was made"]),
        (
            "Types",
            [
                "actors.sum: state type 'Missing' has no class",
                "actors.sum: a state of type 'State', the first, does not process absent, barrier",
                "actors.sum: forks has a state type 'Other'",
                "actors.sum: forks has a method 'divide'",
            ],
        ),
    ],
)
def test_what_is_wrong_with_the_program_itself_is_named(
    tmp_path: Path, program: str, expected: list[str]
) -> None:
    found = problems(tmp_path, topology(program))
    for message in expected:
        assert any(each.startswith(message) or message in each for each in found), (message, found)
