"""Planning of a graph's programs: streams and rates are found in the sources."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream import Event, EventTime, Source
from actorstream.dgs import Program, Tag, Tags, by
from actorstream.drawing.tree import tag_text
from actorstream.errors import ConfigurationError
from actorstream.plan import program_plans
from actorstream.plan.compile import available, graph_and_plan, read_job
from actorstream.plan.job import Job
from actorstream.plan.registry import registry
from actorstream.topology.dependency import DependencyPlan
from actorstream.topology.inputs import read_inputs


class Operation(Event):
    ts: EventTime
    op: str
    key: int
    stream: int


class Loose(Event):
    ts: EventTime
    op: str
    key: int
    stream: int | None


class Counters(Program):
    class State(msgspec.Struct):
        counts: dict[int, int] = {}

    outputs: ClassVar = {"default": Operation}

    def __init__(self, keys: list[int] | None = None, classes: int = 0) -> None:
        self.tags = {"events": by("op", ["i", "r"], key="key", keys=keys, classes=classes)}

    def depends(self, one: Tag, other: Tag) -> bool:
        return one.key == other.key and "r" in (one.name, other.name)

    def update(self, state: State, event: Operation, tag: Tag) -> None:
        return None

    def fork(self, state: State, left: Tags, right: Tags) -> tuple[State, State]:
        return state, self.State()

    def join(self, left: State, right: State) -> State:
        return left


class Live(Source):
    async def events(self) -> AsyncIterator[Operation]:
        yield Operation(1, "i", 1, 0)


ROWS = [(0, "i", 7, 10), (500, "r", 7, 9), (1000, "i", 7, 10), (1000, "i", -3, 10)]


def planned(
    tmp_path: Path,
    source: str = "",
    program: str = "",
    rows: Any = ROWS,
    event: type[Event] = Operation,
    **deploy: Any,
) -> DependencyPlan:
    for number, part in enumerate(rows if isinstance(rows[0], list) else [rows]):
        lines = ["ts,op,key,stream", *(",".join(map(str, row)) for row in part)]
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / "in" / f"{number}.csv").write_text("\n".join(lines) + "\n")
    file = tmp_path / "topology.toml"
    kind = "" if source.startswith("type") else 'type = "csv-source"\npath = "in"\n'
    file.write_text(
        f'[actors.events]\n{kind}event = "{__name__}:{event.__name__}"\n{source}\n'
        f'[actors.count]\ntype = "{__name__}:Counters"\n{program}\n'
        'inputs = [{ from = "events", order = "dependency" }]\n'
        '[actors.out]\ntype = "null-sink"\ninputs = ["count"]\n'
    )
    found = read_inputs(file, registry=registry(), available=available(), **deploy)
    _, plan = graph_and_plan(found)
    [made] = plan.dependencies
    assert plan.counts()["count"] == len(made.workers)
    assert [each.worker for each in plan.replicas if each.actor == "count"] == [
        each.process for each in made.workers
    ]
    return made


def rates(made: DependencyPlan) -> dict[str, float]:
    return {tag_text(made, number): each.rate for number, each in enumerate(made.tags)}


def test_keys_and_streams_are_found_by_reading_the_input(tmp_path: Path) -> None:
    made = planned(tmp_path, 'stream = "stream"')
    assert [(each.name, each.field, each.value, each.partition) for each in made.streams] == [
        ("events/9", "stream", "9", -1),
        ("events/10", "stream", "10", -1),
    ]
    assert rates(made) == {"r(7)@events/9": 1.0, "i(7)@events/10": 2.0, "i(-3)@events/10": 1.0}


def test_a_file_is_a_stream_where_no_field_tells_them(tmp_path: Path) -> None:
    made = planned(tmp_path, rows=[ROWS, ROWS[:1]])
    assert [(each.name, each.partition) for each in made.streams] == [("events/0", 0), ("events/1", 1)]
    assert rates(made)["i(7)@events/1"] == 1.0


def test_what_is_listed_is_planned_whether_it_comes_or_not(tmp_path: Path) -> None:
    made = planned(tmp_path, 'stream = "stream"\nstreams = ["10", "9", "8"]', "keys = [7, -3]")
    assert [each.value for each in made.streams] == ["10", "9", "8"]
    found = rates(made)
    assert found["i(7)@events/10"] == 2.0
    assert len(found) == 3 * 2 * 2


def test_classes_are_planned_for_all_keys(tmp_path: Path) -> None:
    made = planned(tmp_path, program="classes = 2")
    assert sorted((each.name, each.key) for each in made.tags) == [("i", 0), ("i", 1), ("r", 0), ("r", 1)]
    assert sum(each.rate for each in made.tags) == pytest.approx(4.0, abs=0.1)


def test_replicas_of_a_source_are_places(tmp_path: Path) -> None:
    made = planned(tmp_path, "replicas = 2", rows=[ROWS[:1], ROWS[3:]], workers=2)
    assert [each.process for each in made.streams] == [0, 1]
    tree = {tag_text(made, tag): worker.process for worker in made.workers for tag in worker.tags}
    assert tree == {"i(7)@events/0": 0, "i(-3)@events/1": 1}


def test_files_that_are_streams_and_are_merged_for_another_input_are_refused(tmp_path: Path) -> None:
    merged = '[actors.other]\ntype = "null-sink"\ninputs = [{ from = "events", order = "timestamp" }]'
    two = [ROWS[:1], ROWS[3:]]
    with pytest.raises(
        ConfigurationError, match=r"its 2 partitions are streams of 'count', and another .*replicas = 2"
    ):
        planned(tmp_path, merged, rows=two)
    assert len(planned(tmp_path, f"replicas = 2\n{merged}", rows=two).streams) == 2
    assert len(planned(tmp_path, f'stream = "stream"\n{merged}', rows=two).streams) == 1


def test_a_stream_that_two_replicas_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"rows of stream '9' .* are read by 2 of its replicas"):
        planned(tmp_path, 'stream = "stream"\nreplicas = 2', rows=[ROWS, ROWS])


def test_nor_may_they_where_the_streams_are_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of the rows is enough to see it."""
    monkeypatch.setattr(program_plans, "ROWS", 1)
    listed = 'stream = "stream"\nstreams = ["8", "9", "10"]\nreplicas = 2'
    rows = [[ROWS[0]] * 600, [ROWS[2]] * 600]
    with pytest.raises(ConfigurationError, match=r"rows of stream '10' .* are read by 2 of its replicas"):
        planned(tmp_path, listed, "keys = [7]", rows=rows)
    made = planned(tmp_path, listed, "keys = [7]", rows=[rows[0], [ROWS[1]] * 600], workers=2)
    assert [each.process for each in made.streams] == [0, 1, 0]


def test_a_row_that_belongs_to_no_stream_is_refused(tmp_path: Path) -> None:
    rows = [*ROWS, (2000, "i", 7, "")]
    with pytest.raises(
        ConfigurationError, match=r"actors\.events: a row has nothing in 'stream', the field that tells"
    ):
        planned(tmp_path, 'stream = "stream"', rows=rows, event=Loose)


def test_each_of_several_long_files_has_its_rate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_plans, "ROWS", 1000)
    parts = [[(time * step, "i", 7, 0) for time in range(600)] for step in (1, 10)]
    found = rates(planned(tmp_path, program="keys = [7]", rows=parts))
    assert found["i(7)@events/0"] == pytest.approx(1000, rel=0.01)
    assert found["i(7)@events/1"] == pytest.approx(100, rel=0.01)


def test_a_live_source_has_to_list_its_keys(tmp_path: Path) -> None:
    live = f'type = "{__name__}:Live"'
    with pytest.raises(ConfigurationError, match=r"actors\.events: cannot be read beforehand"):
        planned(tmp_path, live)
    made = planned(tmp_path, f"{live}\nrate = 80.0", "keys = [1, 2]")
    assert rates(made) == dict.fromkeys(["i(1)@events", "r(1)@events", "i(2)@events", "r(2)@events"], 20.0)


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_a_plan_may_be_a_file(tmp_path: Path, kind: str) -> None:
    text = {
        "toml": 'tags = ["i(7)", "r(7)", "i(-3)"]\nprocess = 1\n',
        "json": '{"tags": ["i(7)", "r(7)", "i(-3)"]}',
    }
    (tmp_path / f"tree.{kind}").write_text(text[kind])
    made = planned(tmp_path, program=f'plan = "tree.{kind}"', workers=2)
    assert [(worker.tags, worker.process) for worker in made.workers] == [([0, 1, 2], int(kind == "toml"))]


def test_a_plan_file_that_is_not_there_or_no_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"actors\.count\.plan: there is no file .*none\.json"):
        planned(tmp_path, program='plan = "none.json"')
    (tmp_path / "bad.toml").write_text("tags = [")
    with pytest.raises(ConfigurationError, match=r"bad\.toml: plan: is no TOML"):
        planned(tmp_path, program='plan = "bad.toml"')


def test_the_same_input_has_the_same_plan(tmp_path: Path) -> None:
    assert planned(tmp_path, 'stream = "stream"') == planned(tmp_path, 'stream = "stream"')


def behind(tmp_path: Path, actors: str, **deploy: Any) -> Job:
    """The job of a program whose plan has 3 workers, and what reads it."""
    file = tmp_path / "topology.toml"
    (tmp_path / "in.csv").write_text("ts,op,key,stream\n1,i,1,0\n2,i,2,0\n")
    file.write_text(
        f'[actors.events]\ntype = "csv-source"\npath = "in.csv"\nevent = "{__name__}:Operation"\n'
        f'[actors.count]\ntype = "{__name__}:Counters"\nkeys = [1, 2]\nplan = "tree.toml"\n'
        'inputs = [{ from = "events", order = "dependency" }]\n' + actors
    )
    (tmp_path / "tree.toml").write_text(
        '[[children]]\ntags = ["i(1)", "r(1)"]\n[[children]]\ntags = ["i(2)", "r(2)"]\nprocess = 1\n'
    )
    job = read_job(file, workers=2, **deploy)
    again = tmp_path / "plan.json"
    job.plan.save(again)
    assert read_job(file, workers=2, plan_file=again, **deploy).plan == job.plan
    return job


def joined(job: Job) -> dict[tuple[str, str], str]:
    """(source, consumer) -> route, of edges whose replicas are those that the route allows."""
    replicas = {name: actor.replicas for name, actor in job.graph.actors.items()}
    assert job.plan.counts() == replicas
    for edge in job.graph.edges:
        assert edge.route != "forward" or replicas[edge.producer] == replicas[edge.consumer], edge
    return {(edge.source, edge.consumer): edge.route for edge in job.graph.edges}


SINK = '[actors.out]\ntype = "null-sink"\n'
WINDOWED = 'type = "aggregate"\nkey = "key"\nwindow = { type = "tumbling", size = 10 }\naggregates = { n = "count()" }\n'


def test_the_first_step_of_an_aggregate_behind_a_program_has_its_replicas(tmp_path: Path) -> None:
    actors = f'[actors.counts]\n{WINDOWED}inputs = ["count"]\n{SINK}inputs = ["counts", "counts.late"]\n'
    job = behind(tmp_path, actors)
    routes = joined(job)
    assert job.plan.counts()["counts.local"] == 3
    assert routes["count", "counts.local"] == "forward"
    assert routes["counts.local.late", "out"] == "shuffle"


def test_what_follows_a_program_by_written_forward_edges_has_its_replicas_however_far(tmp_path: Path) -> None:
    actors = (
        '[actors.a]\ntype = "union"\nreplicas = "auto"\ninputs = [{ from = "count", route = "forward" }]\n'
        '[actors.b]\ntype = "union"\nreplicas = "auto"\ninputs = [{ from = "a", route = "forward" }]\n'
        f'[actors.counts]\n{WINDOWED}replicas = "auto"\ninputs = [{{ from = "b", route = "forward" }}]\n'
        f'{SINK}inputs = ["counts"]\n'
    )
    job = behind(tmp_path, actors)
    joined(job)
    [plan] = job.plan.dependencies
    for name in ("count", "a", "b", "counts.local", "counts"):
        workers = [each.worker for each in job.plan.replicas if each.actor == name]
        assert workers == [each.process for each in plan.workers], name


def test_an_edge_that_names_no_route_is_shuffled_where_a_program_makes_its_ends_unequal(
    tmp_path: Path,
) -> None:
    actors = (
        '[actors.a]\ntype = "union"\nreplicas = "auto"\ninputs = [{ from = "count", route = "forward" }]\n'
        '[actors.b]\ntype = "union"\nreplicas = "auto"\ninputs = ["a"]\n'
        f'{SINK}replicas = 2\ninputs = ["b"]\n'
    )
    routes = joined(behind(tmp_path, actors))
    assert routes == {
        ("events", "count"): "tag",
        ("count", "a"): "forward",
        ("a", "b"): "shuffle",
        ("b", "out"): "forward",
    }


def test_forward_from_what_follows_a_program_to_another_number_of_replicas_is_refused(tmp_path: Path) -> None:
    actors = (
        '[actors.a]\ntype = "union"\nreplicas = "auto"\ninputs = [{ from = "count", route = "forward" }]\n'
        f'{SINK}replicas = 2\ninputs = [{{ from = "a", route = "forward" }}]\n'
    )
    with pytest.raises(ConfigurationError, match=r"forward joins .* 'a' has 3 and 'out' has 2") as raised:
        behind(tmp_path, actors)
    [problem] = raised.value.problems
    assert problem.where == "actors.out.inputs[0].route"


def test_forward_from_programs_of_different_plans_into_one_actor_is_refused(tmp_path: Path) -> None:
    actors = (
        f'[actors.other]\ntype = "{__name__}:Counters"\nkeys = [1, 2]\nplan = "sequential"\n'
        'inputs = [{ from = "events", order = "dependency" }]\n'
        f'{SINK}replicas = "auto"\n'
        'inputs = [{ from = "count", route = "forward" }, { from = "other", route = "forward" }]\n'
    )
    with pytest.raises(ConfigurationError, match=r"forward joins .* 'count' has 3 and 'out' has 1"):
        behind(tmp_path, actors)


def test_a_sink_that_gets_its_replicas_from_a_program_may_have_left_a_folder_before(tmp_path: Path) -> None:
    (tmp_path / "out.csv").mkdir()
    sink = '[actors.out]\ntype = "csv-sink"\npath = "out.csv"\n'
    job = behind(tmp_path, f'{sink}replicas = "auto"\ninputs = [{{ from = "count", route = "forward" }}]\n')
    assert job.plan.counts()["out"] == 3
    with pytest.raises(ConfigurationError, match=r"actors\.out\.path: .* is a directory"):
        behind(tmp_path, f'{sink}inputs = ["count"]\n')
