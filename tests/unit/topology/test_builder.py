from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from actorstream import Actor, Event
from actorstream.dgs import Program, Tag
from actorstream.drawing.text import graph_text
from actorstream.errors import ConfigurationError
from actorstream.topology.available import ORDERS
from actorstream.topology.builder import Topology
from actorstream.topology.load import load_topology
from actorstream.topology.registry import TypeRegistry
from actorstream.topology.spec import InputSpec
from actorstream.topology.validate import build_graph

from .conftest import TYPES, WORD_COUNT, Counter, Line, Lines, Passing, Split


def word_count() -> Topology:
    t = Topology("word-count")
    words = t.source("lines", name="lines").through("split", name="split", replicas=2)
    counts = words.by("word").through("counter", name="count", replicas=2)
    counts["final"].into("out", name="counts", path="out/counts.csv")
    return t


def test_a_topology_built_in_python_is_the_same_as_its_toml(tmp_path: Path) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(WORD_COUNT)
    text = load_topology(file).plain()
    text["actors"]["count"]["inputs"][0]["route"] = "key"  # implied by the key there, said by `by` here
    assert word_count().spec().plain() == text


def test_the_table_form_is_the_same_as_the_fluent_one() -> None:
    t = Topology("word-count")
    t.actor("lines", "lines")
    t.actor("split", "split", "lines", replicas=2)
    t.actor("count", "counter", [{"from": "split", "route": "key", "key": "word"}], replicas=2)
    t.actor("counts", "out", ["count.final"], path="out/counts.csv")
    assert t.spec().plain() == word_count().spec().plain()


def test_the_graph_of_both_is_the_same(tmp_path: Path, registry: TypeRegistry) -> None:
    file = tmp_path / "topology.toml"
    file.write_text(WORD_COUNT)
    from_file = build_graph(load_topology(file), registry)
    assert build_graph(word_count().spec(), registry).fingerprint == from_file.fingerprint


def test_classes_need_no_registry_and_give_names() -> None:
    t = Topology()
    lines = t.source(Lines)
    lines.through(Split).through(Counter)
    lines.through(Split)
    t.actor("x", "apps.word_count:LongName", [lines])
    lines.through("csv-sink")
    lines.through("apps.word_count:LongName")
    assert list(t) == ["lines", "split", "counter", "split_2", "x", "csv-sink", "long_name"]
    graph = build_graph(_only(t, "lines", "split"), TypeRegistry({}, plugins=False))
    assert graph.actors["split"].cls is Split


def _only(t: Topology, *names: str) -> Any:
    spec = t.spec()
    spec.actors = {name: spec.actors[name] for name in names}
    return spec


def test_events_become_a_source_in_memory() -> None:
    t = Topology()
    t.source((Line(text) for text in "ab"), name="given", rate=5)
    actor = t.spec().actors["given"]
    assert (actor.type, actor.keys) == ("memory-source", {"items": [Line("a"), Line("b")], "rate": 5})


def test_events_of_several_partitions_stay_apart() -> None:
    t = Topology()
    t.source({"first": iter([Line("a")]), "second": []}, name="given")
    assert t.spec().actors["given"].keys == {"items": {"first": [Line("a")], "second": []}}


def test_two_actors_of_one_name_are_refused_where_the_second_is_added() -> None:
    t = Topology()
    t.source(Lines, name="a")
    with pytest.raises(ConfigurationError, match="actor 'a' is there already; allowed: a new name"):
        t.source(Lines, name="a")


def test_names_are_words() -> None:
    with pytest.raises(ConfigurationError, match=r"'a\.b' is no name for an actor"):
        Topology().source(Lines, name="a.b")


def test_a_stream_of_another_topology_is_refused() -> None:
    other = Topology("other").source(Lines)
    with pytest.raises(ConfigurationError, match="'lines' is a stream of topology 'other'"):
        Topology("mine").actor("split", Split, [other])


@pytest.mark.parametrize("wrong", [{"form": "lines"}, 5])
def test_inputs_that_are_none_are_refused(wrong: Any) -> None:
    with pytest.raises(ConfigurationError, match="inputs"):
        Topology().actor("split", Split, [wrong])


def test_input_specs_can_be_given_as_they_are() -> None:
    t = Topology()
    t.source(Lines)
    t.actor("split", Split, InputSpec(from_="lines"))
    assert t.spec().actors["split"].inputs == [InputSpec(from_="lines")]


def test_problems_name_the_line_of_python_that_added_the_actor(registry: TypeRegistry) -> None:
    t = Topology()
    lines = t.source("lines")
    lines.through("split", lowr=True)  # this line
    with pytest.raises(ConfigurationError) as caught:
        build_graph(t.spec(), registry)
    (problem,) = caught.value.problems
    source = Path(__file__).read_text().splitlines()
    assert Path(problem.file).name == "test_builder.py"
    assert "# this line" in source[problem.line - 1]
    assert problem.hint == "did you mean 'lower'?"


def test_paths_start_at_the_current_directory(
    registry: TypeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").touch()
    t = Topology()
    t.source("lines", path="a.txt")
    assert build_graph(t.spec(), registry).actors["lines"].keys["path"] == tmp_path / "a.txt"


def test_actors_are_found_by_name_and_output() -> None:
    t = word_count()
    assert t["count.running"].source == "count.running"
    assert t["lines"].source == "lines"
    assert "count" in t
    with pytest.raises(KeyError, match="no actor 'x'; it has lines, split, count, counts"):
        t["x"]


def test_functions_as_routes_need_a_name_that_can_be_imported(registry: TypeRegistry) -> None:
    t = Topology()
    t.source("lines").routed(lambda batch, replicas: None).through("passing", replicas=2)
    with pytest.raises(ConfigurationError, match="cannot be found by its name; allowed: a module's function"):
        build_graph(t.spec(), registry)
    t = Topology()
    t.source("lines").routed(pytest.approx).through("passing", replicas=2)
    assert build_graph(t.spec(), registry).edges[0].route.endswith(":approx")


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("on_error", "ski", '"fail", "skip"'),
        ("on_error", 3, '"fail", "skip"'),
        ("replicas", "2", "a whole number"),
        ("replicas", 2.5, "a whole number"),
        ("replicas", True, "a whole number"),
        ("replicas", 0, "a whole number"),
        ("replicas", 70_000, "65535"),
    ],
)
def test_values_are_checked_as_those_of_a_toml_are(key: str, value: Any, allowed: str) -> None:
    lines = Topology("t").source("lines", name="lines")
    with pytest.raises(ConfigurationError, match=rf"actors\.split\.{key}: is (.|\n)*{allowed}") as caught:
        lines.through("split", name="split", **{key: value})
    assert "test_builder.py" in str(caught.value)


def test_a_notebook_shows_a_drawing() -> None:
    drawing = word_count()._repr_svg_()
    assert drawing.startswith("<svg")
    assert all(name in drawing for name in TYPES if name != "passing")
    assert repr(word_count()) == "<Topology 'word-count': lines, split, count, counts>"


def upper_topology() -> tuple[Topology, Any]:
    t = Topology("upper")
    return t, t.source([Line(text) for text in ("a b", "c")]).through(Split).by("word").through(
        Passing
    ).collect()


def test_a_run_fills_what_was_collected() -> None:
    t, words = upper_topology()
    result = t.run()
    assert [each.word for each in words] == ["a b", "c"]
    assert result.report["topology"] == "upper"
    t.run(workers=2, transport="shm")
    assert sorted(each.word for each in words) == ["a b", "c"]


async def test_a_run_inside_an_event_loop_fills_it_too() -> None:
    t, words = upper_topology()
    await t.run_async()
    assert [each.word for each in words] == ["a b", "c"]


def test_a_graph_can_be_checked_without_running_it() -> None:
    t, _ = upper_topology()
    assert list(t.graph(workers=3).actors) == ["memory-source", "split", "passing", "memory-sink"]
    with pytest.raises(ConfigurationError, match="workers: is 0"):
        t.graph(workers=0)


class Timed(Event, event_time="at"):
    at: int
    value: int


class Keep(Actor):
    def on_event(self, event: Timed) -> Timed:
        return event


class Total(Program):
    class State(msgspec.Struct):
        sum: int = 0

    tags: ClassVar = {"rows": "row"}

    def depends(self, one: Tag, other: Tag) -> bool:
        return True

    def update(self, state: State, event: Timed, tag: Tag) -> Timed:
        return event


@pytest.mark.parametrize("order", ORDERS)
def test_a_graph_of_every_order_is_answered_and_drawn(order: str) -> None:
    t = Topology("ordered")
    rows = t.source("memory-source", name="rows", event=Timed, items=[])
    rows.ordered(order).through(Total if order == "dependency" else Keep, name="taken").into("null-sink")
    graph = t.graph()
    assert [edge.order for edge in graph.actors["taken"].inputs] == [order]
    assert "taken" in graph_text(graph)


def test_a_topology_without_actors_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="actors: has no actors"):
        Topology("empty").run()
