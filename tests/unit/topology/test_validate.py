from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.topology.builder import Topology
from actorstream.topology.inputs import Inputs
from actorstream.topology.load import load_topology
from actorstream.topology.registry import TypeRegistry
from actorstream.topology.validate import build_graph

Read = Callable[..., Inputs]
Problems = Callable[..., list[tuple[int, str]]]


def actor(name: str, type: str, *lines: str) -> str:
    return "\n".join([f"[actors.{name}]", f'type = "{type}"', *lines, "\n"])


LINES = actor("lines", "lines")
SPLIT = actor("split", "split", 'inputs = ["lines"]')


def test_a_right_topology_becomes_a_graph_in_topological_order(read: Read) -> None:
    text = actor("counts", "out", 'inputs = ["count.final"]', 'path = "o.csv"')
    text += actor("count", "counter", 'inputs = [{ from = "split", key = "word" }]') + SPLIT + LINES
    graph = read(text).graph
    assert list(graph.actors) == ["lines", "split", "count", "counts"]
    assert [(edge.source, edge.consumer, edge.route, edge.key) for edge in graph.edges] == [
        ("lines", "split", "forward", ()),
        ("split", "count", "key", ("word",)),
        ("count.final", "counts", "forward", ()),
    ]
    assert [edge.index for edge in graph.edges] == [0, 1, 2]
    assert graph.schema(graph.edges[1]).names() == ("ts", "word")
    assert graph.actors["count"].role == "operator"


def test_every_actor_has_late_and_dead_outputs(read: Read) -> None:
    graph = read(LINES + SPLIT).graph
    assert list(graph.actors["split"].outputs) == ["default", "late", "dead"]
    assert graph.actors["split"].outputs["late"].names() == ("line",)
    assert graph.actors["lines"].outputs["late"].names() == ("line",)
    assert graph.actors["split"].outputs["dead"].names() == ("event", "error", "operator")


def test_late_and_dead_outputs_can_be_read(read: Read) -> None:
    text = LINES + SPLIT + actor("bad", "out", 'inputs = ["split.dead", "lines.late"]', 'path = "o"')
    assert [edge.source for edge in read(text).graph.actors["bad"].inputs] == ["split.dead", "lines.late"]


def test_keys_are_converted_for_the_constructor(read: Read, tmp_path: Path) -> None:
    (tmp_path / "data.txt").touch()
    text = actor("lines", "lines", 'path = "data.txt"', "rate = 5")
    text += actor("split", "split", 'inputs = ["lines"]', 'every = "1m30s"', "lower = true")
    graph = read(text).graph
    assert graph.actors["lines"].keys == {"path": tmp_path / "data.txt", "rate": 5.0}
    assert isinstance(graph.actors["lines"].keys["rate"], float)
    assert graph.actors["split"].make().every.total_seconds() == 90


def test_paths_given_with_set_start_at_the_current_directory(
    read: Read, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "b.txt").touch()
    monkeypatch.chdir(elsewhere)
    graph = read(actor("lines", "lines", 'path = "a.txt"'), "actors.lines.path=b.txt").graph
    assert graph.actors["lines"].keys["path"] == elsewhere / "b.txt"


def test_a_misspelt_key_names_the_nearest_and_hides_that_the_right_one_is_missing(problems: Problems) -> None:
    text = LINES + actor("o", "out", 'inputs = ["lines"]', 'paht = "x"')
    assert problems(text) == [
        (
            7,
            "actors.o.paht: is not a key here; allowed: path, type, inputs, replicas, outputs, on_error "
            "(did you mean 'path'?)",
        )
    ]


def test_a_misspelt_reserved_key_names_the_nearest(problems: Problems) -> None:
    ((line, text),) = problems(LINES + actor("split", "split", 'inputs = ["lines"]', "replica = 2"))
    assert line == 7
    assert "did you mean 'replicas'?" in text


def test_a_missing_required_key_is_named_with_what_it_takes(problems: Problems) -> None:
    ((line, text),) = problems(LINES + actor("o", "out", 'inputs = ["lines"]'))
    assert (line, text) == (4, "actors.o.path: is missing; allowed: a path as text")


def test_an_unknown_type_names_the_nearest(problems: Problems) -> None:
    ((line, text),) = problems(actor("lines", "linse"))
    assert line == 2
    assert text == (
        "actors.lines.type: there is no type 'linse'; "
        "allowed: counter, lines, out, passing, split, or \"package.module:Class\" (did you mean 'lines'?)"
    )


def test_an_unknown_class_of_a_module_names_the_nearest(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "own_operators_1.py").write_text("from actorstream import Actor\nclass Split(Actor): ...\n")
    ((line, text),) = problems(LINES + actor("s", "own_operators_1:Splt", 'inputs = ["lines"]'))
    assert line == 5
    assert "'own_operators_1' has no 'Splt'; allowed: Split (did you mean 'Split'?)" in text


def test_a_class_that_is_no_actor_is_refused(problems: Problems) -> None:
    ((_, text),) = problems(LINES + actor("s", "pathlib:Path", 'inputs = ["lines"]'))
    assert "a subclass of actorstream.Actor, Source or Sink" in text


def test_a_module_that_raises_is_a_problem_and_no_crash(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "own_operators_2.py").write_text("1 / 0\n")
    ((_, text),) = problems(LINES + actor("s", "own_operators_2:Split", 'inputs = ["lines"]'))
    assert "module 'own_operators_2' cannot be imported: ZeroDivisionError: division by zero" in text


def test_a_missing_module_names_its_sibling(problems: Problems, tmp_path: Path) -> None:
    (tmp_path / "own_operators_3.py").touch()
    ((_, text),) = problems(LINES + actor("s", "own_operator_3:Split", 'inputs = ["lines"]'))
    assert "did you mean 'own_operators_3'?" in text


def test_an_unknown_actor_in_inputs_names_the_nearest(problems: Problems) -> None:
    found = problems(LINES + actor("s", "split", 'inputs = [\n  "lnies",\n]'))
    assert found == [
        (7, "actors.s.inputs[0]: there is no actor 'lnies'; allowed: lines (did you mean 'lines'?)")
    ]


def test_an_unknown_output_names_the_nearest(problems: Problems) -> None:
    text = LINES + SPLIT + actor("count", "counter", 'inputs = ["split"]')
    ((line, found),) = problems(text + actor("o", "out", 'inputs = ["count.fnial"]', 'path = "o"'))
    assert line == 14
    assert found == (
        "actors.o.inputs[0]: 'count' has no output 'fnial'; "
        "allowed: count.running, count.final, count.late, count.dead (did you mean 'final'?)"
    )


def test_an_unknown_output_is_found_also_where_the_inputs_of_its_actor_are_wrong(problems: Problems) -> None:
    text = LINES + actor("split", "split", 'inputs = ["lnies"]')
    text += actor("count", "counter", 'inputs = ["split"]') + actor(
        "o", "out", 'inputs = ["count.fnial"]', 'path = "o"'
    )
    assert [found for _, found in problems(text)] == [
        "actors.split.inputs[0]: there is no actor 'lnies'; allowed: lines, count, o (did you mean 'lines'?)",
        "actors.o.inputs[0]: 'count' has no output 'fnial'; allowed: count.dead, count.default, count.final, "
        "count.late, count.running (did you mean 'final'?)",
    ]


def test_outputs_that_only_right_inputs_could_tell_are_not_called_wrong() -> None:
    class Fields(Actor):
        """Has an output for each field of its input, and cannot say so without it."""

        @classmethod
        def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Any]:
            return dict.fromkeys(("default", *inputs[0].names()), inputs[0])

        def on_batch(self, batch: Batch) -> Batch:
            return batch

    topology = Topology()
    lines = topology.source([{"line": "a"}], name="lines")
    fields = lines["typo"].through(Fields, name="fields")
    fields["line"].into("null-sink", name="out")
    with pytest.raises(ConfigurationError) as caught:
        topology.graph()
    (problem,) = caught.value.problems
    assert "'lines' has no output 'typo'" in str(problem)


def test_reading_a_default_output_that_is_not_declared_says_how_to_declare_it(problems: Problems) -> None:
    text = LINES + SPLIT + actor("count", "counter", 'inputs = ["split"]')
    ((_, found),) = problems(text + actor("o", "out", 'inputs = ["count"]', 'path = "o"'))
    assert "'count' has no output 'default'" in found
    assert "annotate what the hook returns" in found


def test_a_sink_has_no_output_to_read(problems: Problems) -> None:
    text = LINES + actor("o", "out", 'inputs = ["lines"]', 'path = "o"')
    ((_, found),) = problems(text + actor("s", "split", 'inputs = ["o"]'))
    assert "'o' is a sink" in found


def test_a_key_that_the_schema_lacks_names_the_nearest_field(problems: Problems) -> None:
    text = LINES + SPLIT + actor("c", "counter", 'inputs = [{ from = "split", key = "wrod" }]')
    ((line, found),) = problems(text)
    assert line == 10
    assert found == (
        "actors.c.inputs[0].key: 'split' has no field 'wrod'; allowed: ts, word (did you mean 'word'?)"
    )


def test_a_key_is_looked_up_in_what_a_class_declares_although_its_input_is_wrong(problems: Problems) -> None:
    text = LINES.replace("path", "pth") + SPLIT.replace('"lines"', '"nobody"')
    text += actor("c", "counter", 'inputs = [{ from = "split", key = "wrod" }]')
    found = [text for _, text in problems(text)]
    assert any("has no field 'wrod'; allowed: ts, word" in text for text in found)
    assert any("there is no actor 'nobody'" in text for text in found)
    hangs_on_it = LINES.replace("path", "pth") + actor("p", "passing", 'inputs = ["nobody"]')
    hangs_on_it += actor("c", "counter", 'inputs = [{ from = "p", key = "wrod" }]')
    assert not any("wrod" in text for _, text in problems(hangs_on_it))


def test_a_cycle_is_named_along_the_flow(problems: Problems) -> None:
    text = LINES + actor("a", "passing", 'inputs = ["lines", "c"]') + actor("b", "passing", 'inputs = ["a"]')
    text += actor("c", "passing", 'inputs = ["b"]')
    ((line, found),) = problems(text)
    assert line in (6, 10, 14)
    assert "closes a cycle: a -> b -> c -> a; allowed: a graph without cycles" in found


def test_two_cycles_are_two_problems_and_what_lies_behind_them_is_none(problems: Problems) -> None:
    text = LINES
    for one, other in (("a", "b"), ("c", "d")):
        text += actor(one, "passing", f'inputs = ["lines", "{other}"]')
        text += actor(other, "passing", f'inputs = ["{one}"]')
    text += actor("after", "passing", 'inputs = ["b", "d"]')
    assert len([text for _, text in problems(text) if "cycle" in text]) == 2
    assert len(problems(text)) == 2


def test_an_actor_that_reads_itself_is_a_cycle(problems: Problems) -> None:
    ((_, found),) = problems(LINES + actor("a", "passing", 'inputs = ["lines", "a"]'))
    assert "a -> a" in found


def test_a_source_with_inputs_is_refused(problems: Problems) -> None:
    ((line, found),) = problems(LINES + actor("more", "lines", 'inputs = ["lines"]'))
    assert (line, found) == (6, "actors.more.inputs: 'lines' is a source; allowed: no inputs")


def test_an_operator_or_sink_without_inputs_is_refused(problems: Problems) -> None:
    found = problems(actor("s", "split") + actor("o", "out", 'path = "o"'))
    assert [line for line, _ in found] == [1, 4]
    assert all("has no inputs" in text for _, text in found)


def test_two_inputs_of_one_name_are_refused_unless_one_is_renamed(problems: Problems, read: Read) -> None:
    text = LINES + actor("p", "passing", 'inputs = ["lines", "lines"]')
    ((_, found),) = problems(text)
    assert "is a second input called 'lines'" in found
    graph = read(text.replace('"lines", "lines"', '"lines", { from = "lines", name = "again" }')).graph
    assert [edge.name for edge in graph.actors["p"].inputs] == ["lines", "again"]


def test_an_input_that_no_hook_takes_is_a_problem(problems: Problems, read: Read, tmp_path: Path) -> None:
    code = "from actorstream import Actor\nclass One(Actor):\n    def on_lines(self, event): ...\n"
    (tmp_path / "hooks_test_a.py").write_text(code)
    assert read(LINES + actor("one", "hooks_test_a:One", 'inputs = ["lines"]')).graph.edges[0].name == "lines"
    text = LINES + SPLIT + actor("one", "hooks_test_a:One", 'inputs = ["lines", "lines.late"]')
    assert problems(text) == [
        (
            10,
            "actors.one.inputs[1]: One has no hook for the input 'lines.late'; "
            "allowed: on_event, on_batch or on_lines_late (did you mean 'on_lines'?)",
        )
    ]


def test_a_hook_of_the_life_cycle_takes_no_input(problems: Problems, tmp_path: Path) -> None:
    code = "from actorstream import Actor\nclass One(Actor):\n    def on_lines(self, event): ...\n"
    (tmp_path / "hooks_test_b.py").write_text(code)
    text = actor("end", "lines") + actor("one", "hooks_test_b:One", 'inputs = ["end"]')
    assert "One has no hook for the input 'end'" in problems(text)[0][1]


def test_names_of_inputs_are_words(problems: Problems) -> None:
    text = LINES + actor("p", "passing", 'inputs = [{ from = "lines", name = "a b" }]')
    allowed = "letters, digits, _ and -, beginning with a letter or _"
    assert problems(text) == [(6, f"actors.p.inputs[0].name: is 'a b'; allowed: {allowed}")]


def test_orders_that_are_promised_but_not_there_are_a_clear_problem(problems: Problems) -> None:
    text = LINES + actor("p", "passing", 'inputs = [{ from = "lines", order = "serial" }]')
    assert problems(text) == [
        (6, "actors.p.inputs[0].order: 'serial' is not available in this version; allowed: none")
    ]
    ((_, found),) = problems(text.replace("serial", "seril"))
    assert "is 'seril'; allowed: none (did you mean 'serial'?)" in found


def test_outputs_can_be_declared_in_the_topology(read: Read, problems: Problems) -> None:
    text = LINES + actor(
        "c", "passing", 'inputs = ["lines"]', 'outputs = { default = { word = "str", n = "int32" } }'
    )
    text += actor("p", "passing", 'inputs = [{ from = "c", key = ["word", "n"] }]')
    assert read(text).graph.actors["c"].outputs["default"].names() == ("word", "n")
    ((line, found),) = problems(text.replace("int32", "int3"))
    assert line == 7
    assert "actors.c.outputs.default" in found


def test_what_a_class_checks_is_listed_with_the_line_of_the_key(problems: Problems, tmp_path: Path) -> None:
    ((line, found),) = problems(actor("lines", "lines", 'path = "missing.txt"'))
    assert line == 3
    assert found == f"actors.lines.path: {str(tmp_path / 'missing.txt')!r} does not exist; allowed: a file"


def test_replicas_auto_is_as_many_as_workers_for_operators_and_one_for_sources_and_sinks(read: Read) -> None:
    text = LINES.replace("\n\n", '\nreplicas = "auto"\n\n') + SPLIT.replace("\n\n", '\nreplicas = "auto"\n\n')
    graph = read(text, workers=3).graph
    assert {name: (each.replicas, each.auto) for name, each in graph.actors.items()} == {
        "lines": (1, True),
        "split": (3, True),
    }


def test_replicas_that_a_placement_chose_replace_auto(tmp_path: Path, registry: TypeRegistry) -> None:
    file = tmp_path / "t.toml"
    file.write_text(LINES + SPLIT.replace("\n\n", '\nreplicas = "auto"\n\n'))
    graph = build_graph(load_topology(file), registry, replicas={"split": 7})
    assert graph.actors["split"].replicas == 7
    assert graph.edges[0].route == "shuffle"


def test_everything_that_is_wrong_is_in_one_listing_by_line(problems: Problems) -> None:
    text = """
nam = "x"
[actors.lines]
type = "lines"
pth = "data"
[actors.split]
type = "splt"
inputs = ["lines"]
replicas = 0
[actors.count]
type = "counter"
inputs = [{ from = "lines", kye = "line" }, "nobody"]
[actors.loop]
type = "passing"
inputs = ["loop"]
[actors.count]
type = "counter"
[actors.o]
type = "out"
inputs = [{ from = "lines", key = "lnie" }]
path = 5
"""
    assert [(line, text.split(":")[0]) for line, text in problems(text)] == [
        (1, "nam"),
        (4, "actors.lines.pth"),
        (6, "actors.split.type"),
        (8, "actors.split.replicas"),
        (11, "actors.count.inputs[0].kye"),
        (11, "actors.count.inputs[1]"),
        (14, "actors.loop.inputs[0]"),
        (15, "actors.count"),
        (19, "actors.o.inputs[0].key"),
        (20, "actors.o.path"),
    ]


def test_build_graph_raises_the_listing(tmp_path: Path, registry: TypeRegistry) -> None:
    file = tmp_path / "t.toml"
    file.write_text(actor("a", "x") + actor("b", "y"))
    with pytest.raises(ConfigurationError, match="2 problems") as caught:
        build_graph(load_topology(file), registry)
    assert [each.line for each in caught.value.problems] == [2, 5]


def test_what_follows_from_wrong_keys_is_not_a_problem_of_its_own() -> None:
    class Refuses(Actor):
        """Finds fault with its keys, and says nothing of its outputs."""

        @classmethod
        def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Any]:
            return {}

        @classmethod
        def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
            return [Problem("ways", "are two", "one")]

        def on_batch(self, batch: Batch) -> Batch:
            return batch

    topology = Topology()
    lines = topology.source([{"line": "a"}], name="lines")
    lines.through(Refuses, name="refuses").into("null-sink", name="out")
    with pytest.raises(ConfigurationError) as caught:
        topology.graph()
    (problem,) = caught.value.problems
    assert "actors.refuses.ways: are two" in str(problem)
