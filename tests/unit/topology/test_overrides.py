from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream.errors import Problem
from actorstream.topology.overrides import apply_overrides, parse_override, split_overrides
from actorstream.topology.written import Written


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("actors.split.replicas=2", ("actors", "split", "replicas"), 2),
        ("actors.split.replicas = 2", ("actors", "split", "replicas"), 2),
        ("actors.lines.path=data/a.csv", ("actors", "lines", "path"), "data/a.csv"),
        ("actors.lines.path=a=b.csv", ("actors", "lines", "path"), "a=b.csv"),
        ('deploy.transport="shm"', ("deploy", "transport"), "shm"),
        ("deploy.pipelining=false", ("deploy", "pipelining"), False),
        ("actors.a.sizes=[1, 2]", ("actors", "a", "sizes"), [1, 2]),
        ("actors.a.window={size = '1s'}", ("actors", "a", "window"), {"size": "1s"}),
        ("actors.a.note=", ("actors", "a", "note"), ""),
        ('actors."odd name".x=1', ("actors", "odd name", "x"), 1),
        ("actors.a.text=two\nb = 1", ("actors", "a", "text"), "two\nb = 1"),
        ("actors.a.n=1\nb = 1", ("actors", "a", "n"), "1\nb = 1"),
    ],
)
def test_a_value_is_toml_and_else_text(text: str, path: tuple[str, ...], value: Any) -> None:
    assert parse_override(text) == (path, value)


@pytest.mark.parametrize("text", ["actors.split.replicas", "=2", "a b=2", "..=1", ""])
def test_what_is_not_path_and_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="PATH=VALUE"):
        parse_override(text)


@given(st.text(min_size=1), st.text())
def test_no_text_whatever_breaks_the_parser(key: str, value: str) -> None:
    try:
        path, _ = parse_override(f"{key}={value}")
    except ValueError:
        return
    assert path


def test_overrides_are_divided_between_topology_and_deployment() -> None:
    problems: list[Problem] = []
    topology, deploy = split_overrides(["actors.a.b=1", "deploy.checkpoint.every='1s'", "name=x"], problems)
    assert [path for path, _, _ in topology] == [("actors", "a", "b"), ("name",)]
    assert [path for path, _, _ in deploy] == [("checkpoint", "every")]
    assert problems == []


@pytest.mark.parametrize("text", ["actor.a.b=1", "actors.a=1", "deploy=1", "name.x=1", "nonsense"])
def test_other_paths_are_problems_that_say_what_is_allowed(text: str) -> None:
    problems: list[Problem] = []
    assert split_overrides([text], problems) == ([], [])
    assert "actors.ACTOR.KEY=VALUE" in problems[0].allowed
    assert f"--set {text}" in str(problems[0])


def applied(table: dict[str, Any], *texts: str) -> tuple[dict[str, Any], Written, list[Problem]]:
    problems: list[Problem] = []
    written = Written()
    apply_overrides(table, split_overrides(list(texts), problems)[0], written, problems)
    return table, written, problems


def test_a_value_is_laid_over_and_remembered() -> None:
    table, written, problems = applied({"actors": {"a": {"n": 1}}}, "actors.a.n=2", "actors.a.window.size=3")
    assert table == {"actors": {"a": {"n": 2, "window": {"size": 3}}}}
    assert written.at(("actors", "a", "n")) == ("--set actors.a.n=2", 0)
    assert written.at(("actors", "a", "window", "size", "x")) == ("--set actors.a.window.size=3", 0)
    assert problems == []


def test_elements_of_arrays_have_numbers_and_a_short_input_becomes_a_table() -> None:
    table, _, problems = applied({"actors": {"a": {"inputs": ["x", "y"]}}}, "actors.a.inputs.1.route=shuffle")
    assert table["actors"]["a"]["inputs"] == ["x", {"from": "y", "route": "shuffle"}]
    assert problems == []


def test_an_unknown_actor_names_the_nearest() -> None:
    table, _, (problem,) = applied({"actors": {"lines": {}}}, "actors.lnies.path=x")
    assert (problem.message, problem.hint) == ("there is no actor 'lnies'", "did you mean 'lines'?")
    assert table == {"actors": {"lines": {}}}


def test_a_path_through_a_value_or_past_an_array_is_a_problem() -> None:
    table = {"actors": {"a": {"n": 1, "list": [1]}}}
    _, _, problems = applied(table, "actors.a.n.x=1", "actors.a.list.4=1", "actors.a.list.x=1")
    assert [problem.message for problem in problems] == [
        "actors.a.n is a value and has no keys",
        "actors.a.list has no element 4",
        "actors.a.list has no element x",
    ]
