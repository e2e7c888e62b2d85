from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

import pytest

from actorstream.actors.actor import Actor
from actorstream.connectors.source import Source
from actorstream.errors import Problem
from actorstream.topology.keywords import UnresolvedError, check_keywords, constructor_keywords
from actorstream.topology.spec import ActorSpec
from actorstream.topology.written import Written

if TYPE_CHECKING:
    from decimal import Decimal


class Plain(Actor): ...


class Typed(Actor):
    def __init__(self, path: Path, *, limit: float = 1.0, anything=None) -> None: ...  # type: ignore[no-untyped-def]


class Open(Actor):
    def __init__(self, *args: Any, limit: int = 0, **others: Any) -> None: ...


class Common(TypedDict, total=False):
    limit: float | None
    name: Required[str]


class Unpacked(Actor):
    def __init__(self, colour: str = "red", **keys: Unpack[Common]) -> None: ...


class Feed(Source):
    def __init__(self, url: str = "", **keys: Any) -> None:
        self.url, self.other = url, keys.pop("other", None)
        super().__init__(**keys)


class Limited(Typed):
    def __init__(self, **keys: Any) -> None:
        super().__init__(**{"path": Path("x"), **keys})


class Unresolvable(Actor):
    def __init__(self, price: Decimal) -> None: ...


class Reserved(Actor):
    def __init__(self, type: str = "", limit: int = 0) -> None: ...


def check(cls: type, **keys: Any) -> tuple[dict[str, Any], bool, list[Problem]]:
    problems: list[Problem] = []
    values, enough = check_keywords(ActorSpec(name="a", type="x", keys=keys), cls, Written(), problems)
    return values, enough, problems


def test_a_class_without_a_constructor_takes_no_keys() -> None:
    assert constructor_keywords(Plain) == ({}, False)
    _, enough, (problem,) = check(Plain, limit=1)
    assert enough
    assert (
        str(problem)
        == "actors.a.limit: is not a key here; allowed: type, inputs, replicas, outputs, on_error"
    )


def test_keywords_have_annotations_and_defaults() -> None:
    found, others = constructor_keywords(Typed)
    assert not others
    assert [(each.name, each.annotation, each.required) for each in found.values()] == [
        ("path", Path, True),
        ("limit", float, False),
        ("anything", Any, False),
    ]


def test_unannotated_keywords_take_any_value() -> None:
    values, enough, problems = check(Typed, path="x", anything=[1, {"a": 2}])
    assert (enough, problems) == (True, [])
    assert values["anything"] == [1, {"a": 2}]


def test_var_keywords_take_any_key_but_named_ones_are_still_checked() -> None:
    values, enough, problems = check(Open, limit=1, colour="red")
    assert (values, enough, problems) == ({"limit": 1, "colour": "red"}, True, [])
    _, enough, (problem,) = check(Open, limit="x")
    assert not enough
    assert str(problem) == "actors.a.limit: is 'x'; allowed: an integer"


def test_var_keywords_have_the_types_of_the_constructor_that_gets_them() -> None:
    values, enough, problems = check(Feed, url="x", max_out_of_orderness="10s", rate=2, other="y")
    assert (enough, problems) == (True, [])
    assert values == {"url": "x", "max_out_of_orderness": timedelta(seconds=10), "rate": 2.0, "other": "y"}
    assert Feed(**values).max_out_of_orderness == timedelta(seconds=10)
    _, enough, (problem,) = check(Feed, max_out_of_orderness="late")
    assert (enough, problem.where, problem.message) == (False, "actors.a.max_out_of_orderness", "is 'late'")


def test_what_a_constructor_may_pass_on_by_itself_is_not_missing() -> None:
    assert check(Limited) == ({}, True, [])
    assert check(Limited, limit=3)[0] == {"limit": 3.0}


def test_keywords_of_an_unpacked_typed_dict_are_keywords_like_others() -> None:
    values, enough, problems = check(Unpacked, colour="blue", limit=2, name="x")
    assert (values, enough, problems) == ({"colour": "blue", "limit": 2.0, "name": "x"}, True, [])
    assert check(Unpacked, limit=None, name="x")[0]["limit"] is None
    _, enough, (problem,) = check(Unpacked, name=None)
    assert (enough, problem.where) == (False, "actors.a.name")
    _, enough, found = check(Unpacked, limmit=2)
    assert not enough
    assert [(each.where, each.message) for each in found] == [
        ("actors.a.limmit", "is not a key here"),
        ("actors.a.name", "is missing"),
    ]
    assert found[0].hint == "did you mean 'limit'?"


def test_an_annotation_that_cannot_be_resolved_is_a_problem_with_advice() -> None:
    with pytest.raises(UnresolvedError, match=r"Unresolvable\.__init__ cannot be resolved: name 'Decimal'"):
        constructor_keywords(Unresolvable)
    _, enough, (problem,) = check(Unresolvable, price=1)
    assert not enough
    assert "not only under TYPE_CHECKING" in problem.hint


def test_a_reserved_keyword_of_a_constructor_is_a_problem() -> None:
    _, _, (problem,) = check(Reserved, limit=1)
    assert problem.message == "Reserved.__init__ has a keyword 'type', which is reserved"


def test_a_missing_keyword_is_a_problem_unless_a_misspelt_one_explains_it() -> None:
    _, enough, (problem,) = check(Typed)
    assert (enough, problem.where, problem.message) == (False, "actors.a.path", "is missing")
    _, enough, (problem,) = check(Typed, pahth="x")
    assert (enough, problem.where, problem.hint) == (False, "actors.a.pahth", "did you mean 'path'?")


def test_none_from_python_leaves_a_keyword_with_the_default_none() -> None:
    values, enough, problems = check(Typed, path="/x", anything=None)
    assert (values["anything"], enough, problems) == (None, True, [])
