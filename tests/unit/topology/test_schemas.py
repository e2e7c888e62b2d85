from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actorstream.actors.actor import Actor
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.schema import Schema
from actorstream.topology.graph import GraphActor
from actorstream.topology.schemas import check_class, dead_letters, output_schemas
from actorstream.topology.spec import ActorSpec
from actorstream.topology.written import Written

from .conftest import Count, Counter, Line, Lines, Passing, Split, Word


def node(cls: type, *inputs: type, **keys: Any) -> GraphActor:
    schemas = [Schema.of(each) for each in inputs]
    return GraphActor("a", "t", cls, cls.role, keys, 1, input_schemas=schemas)  # type: ignore[attr-defined]


def outputs(cls: type, *inputs: type, declared: dict[str, Any] | None = None) -> dict[str, Schema]:
    problems: list[Problem] = []
    spec = ActorSpec(name="a", type=cls, outputs=declared or {})
    found = output_schemas(spec, node(cls, *inputs), Written(), problems)
    assert problems == []
    return found


def test_outputs_come_from_the_class_or_the_hook_or_the_input() -> None:
    assert outputs(Lines)["default"] == Schema.of(Line)
    assert outputs(Split, Line)["default"] == Schema.of(Word)
    assert outputs(Passing, Count)["default"] == Schema.of(Count)
    assert list(outputs(Counter, Word)) == ["running", "final", "late", "dead"]


def test_outputs_of_the_topology_replace_those_of_the_class() -> None:
    found = outputs(Counter, Word, declared={"final": Word, "more": {"x": "int"}})
    assert found["final"] == Schema.of(Word)
    assert found["running"] == Schema.of(Count)
    assert found["more"].names() == ("x",)


def test_dead_letters_say_event_error_and_operator() -> None:
    assert dead_letters().names() == ("event", "error", "operator")


@pytest.mark.parametrize("declared", ["json:dumps", "nowhere:Event", {"x": "number"}, "text"])
def test_a_declared_output_that_is_no_schema_is_a_problem(declared: Any) -> None:
    problems: list[Problem] = []
    spec = ActorSpec(name="a", type=Split, outputs={"default": declared})
    output_schemas(spec, node(Split, Line), Written(), problems)
    assert [problem.where for problem in problems] == ["actors.a.outputs.default"]


class Checking(Actor):
    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Any], base: Path) -> list[Problem]:
        if keys.get("broken"):
            raise ValueError("cannot look")
        if keys.get("refused"):
            raise ConfigurationError(Problem("path", "is refused"))
        return [Problem("window.size", "is wrong", "right", "do it"), Problem("actors.a.path", "is missing")]


def test_problems_of_a_class_get_the_path_and_place_of_their_key() -> None:
    problems: list[Problem] = []
    written = Written(places={("actors", "a"): ("app.py", 7)})
    check_class(node(Checking, Line), written, problems)
    assert [str(problem) for problem in problems] == [
        "app.py:7: actors.a.window.size: is wrong; allowed: right (do it)",
        "app.py:7: actors.a.path: is missing",
    ]


def test_a_check_that_raises_is_a_problem() -> None:
    problems: list[Problem] = []
    check_class(node(Checking, Line, broken=True), Written(), problems)
    assert problems[0].message == "its check raised ValueError('cannot look')"


def test_problems_that_a_check_raises_are_problems_of_its_keys() -> None:
    problems: list[Problem] = []
    check_class(node(Checking, Line, refused=True), Written(), problems)
    assert [(problem.where, problem.message) for problem in problems] == [("actors.a.path", "is refused")]


class Locked(Counter):
    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        raise PermissionError(13, "Permission denied", "/root/out.csv")


def test_a_path_that_a_check_may_not_look_at_is_a_problem_of_its_actor() -> None:
    problems: list[Problem] = []
    check_class(node(Locked, Word), Written(), problems)
    assert [str(problem) for problem in problems] == [
        "actors.a: '/root/out.csv' cannot be looked at: Permission denied; allowed: paths that this user may read or write"
    ]
