from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.inputs import Inputs, in_order, read_inputs
from actorstream.topology.registry import TypeRegistry

from .conftest import WORD_COUNT, Lines


def test_topology_deployment_and_graph_come_together(read: Callable[..., Inputs]) -> None:
    found = read(WORD_COUNT, "deploy.batch_size=7", deploy='transport = "local"\n', workers=3)
    assert (found.deploy.transport, found.deploy.batch_size, found.deploy.workers) == ("local", 7, 3)
    assert found.spec.name == found.graph.name == "word-count"


class Several(Lines):
    """A source with paths within tables and arrays."""

    def __init__(self, files: list[Path], named: dict[str, Path]) -> None:
        self.files, self.named = files, named


def test_a_path_that_is_given_within_a_value_starts_at_the_current_directory_and_those_beside_it_at_the_file(
    read: Callable[..., Inputs], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    kind = "tests.unit.topology.test_inputs:Several"
    text = f'[actors.a]\ntype = "{kind}"\nfiles = ["a", "b"]\nnamed = {{ a = "a", b = "b" }}\n'
    keys = read(text, "actors.a.files.0=new", "actors.a.named.b=new").graph.actors["a"].keys
    assert keys["files"] == [here / "new", tmp_path / "b"]
    assert keys["named"] == {"a": tmp_path / "a", "b": here / "new"}


def test_problems_of_both_files_are_in_one_listing(tmp_path: Path, registry: TypeRegistry) -> None:
    topology, deploy = tmp_path / "t.toml", tmp_path / "d.toml"
    topology.write_text('[actors.a]\ntype = "lines"\nrat = 1\n')
    deploy.write_text('workers = 0\nschedule = "qst"\nwatch = 1\n')
    with pytest.raises(ConfigurationError) as caught:
        read_inputs(topology, deploy, ["deploy.wait=x"], registry=registry)
    assert [(Path(each.file).name, each.line, each.where) for each in caught.value.problems] == [
        ("t.toml", 3, "actors.a.rat"),
        ("d.toml", 1, "workers"),
        ("d.toml", 2, "schedule"),
        ("d.toml", 3, "watch"),
        ("--set deploy.wait=x", 0, "wait"),
    ]


def test_a_broken_topology_does_not_hide_a_broken_deployment(tmp_path: Path, registry: TypeRegistry) -> None:
    topology, deploy = tmp_path / "t.toml", tmp_path / "d.toml"
    topology.write_text("[actors\n")
    deploy.write_text("workers = [\n")
    with pytest.raises(ConfigurationError) as caught:
        read_inputs(topology, deploy, registry=registry)
    assert [Path(each.file).name for each in caught.value.problems] == ["t.toml", "d.toml"]


def test_problems_are_sorted_by_file_and_line_and_named_once() -> None:
    def problem(file: str, line: int) -> Problem:
        return Problem("x", "y", file=file, line=line)

    found = in_order([problem("b", 3), problem("a", 9), problem("b", 1), problem("a", 9)])
    assert [(each.file, each.line) for each in found] == [("b", 1), ("b", 3), ("a", 9)]
    assert in_order(found, "a")[0].file == "a"
