from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from actorstream import Actor, Event
from actorstream.errors import ConfigurationError
from actorstream.topology.builder import Topology as Built
from actorstream.topology.inputs import Inputs
from actorstream.topology.routes import default_route
from actorstream.topology.spec import InputSpec

Read = Callable[..., Inputs]
Problems = Callable[..., list[tuple[int, str]]]


def topology(each: str, *, producers: int = 1, consumers: int = 1) -> str:
    return f"""
[actors.lines]
type = "lines"
replicas = {producers}
[actors.p]
type = "passing"
replicas = {consumers}
inputs = [{each}]
"""


@pytest.mark.parametrize(
    ("each", "producers", "consumers", "route"),
    [
        ({}, 1, 1, "forward"),
        ({}, 3, 3, "forward"),
        ({}, 1, 2, "shuffle"),
        ({}, 2, 1, "shuffle"),
        ({"key": "k"}, 1, 1, "key"),
        ({"key": ["k", "l"]}, 1, 2, "key"),
        ({"key": "k", "bounds": [1]}, 1, 2, "range"),
    ],
)
def test_the_default_route_follows_from_key_bounds_and_replicas(
    each: dict[str, Any], producers: int, consumers: int, route: str
) -> None:
    assert default_route(InputSpec(from_="a", **each), producers, consumers) == route


@pytest.mark.parametrize("route", ["forward", "shuffle", "broadcast", "global"])
def test_routes_without_a_key_are_taken_by_name(read: Read, route: str) -> None:
    text = topology(f'{{ from = "lines", route = "{route}" }}', producers=2, consumers=2)
    assert read(text).graph.edges[0].route == route


def test_a_range_has_a_key_and_bounds(read: Read) -> None:
    edge = read(topology('{ from = "lines", key = "line", bounds = ["f", "p"] }', consumers=3)).graph.edges[0]
    assert (edge.route, edge.key, edge.bounds) == ("range", ("line",), ("f", "p"))


def test_a_function_of_a_module_is_a_route(read: Read, tmp_path: Path) -> None:
    (tmp_path / "routes_test_a.py").write_text("def by_length(batch, replicas): ...\n")
    text = topology('{ from = "lines", route = "routes_test_a:by_length" }', consumers=2)
    assert read(text).graph.edges[0].route == "routes_test_a:by_length"


@pytest.mark.parametrize(
    ("each", "message"),
    [
        ('{ from = "lines", route = "shufle" }', "is 'shufle'; allowed: forward, shuffle, key, range, broadcast, "
         "global, \"package.module:function\" (did you mean 'shuffle'?)"),
        ('{ from = "lines", route = "key" }', 'route = "key" has no key; allowed: key = FIELD, FIELD being'),
        ('{ from = "lines", route = "forward" }', "but 'lines' has 1 and 'p' has 2"),
        ('{ from = "lines", route = "shuffle", key = "line" }', "is 'line', but route = \"shuffle\" uses no key"),
        ('{ from = "lines", route = "range", key = "line" }', 'route = "range" has no bounds'),
        ('{ from = "lines", key = "line", bounds = [2, 1] }', "is [2, 1]; allowed: ascending values of one type"),
        ('{ from = "lines", key = "line", bounds = [1, "a"] }', "is [1, 'a']; allowed: ascending values of one type"),
        ('{ from = "lines", key = ["line", "line"], bounds = [1] }', "is ['line', 'line']; allowed: one field"),
        ('{ from = "lines", route = "key", key = "line", bounds = [1] }', 'is given, but route = "key" has no bounds'),
        ('{ from = "lines", route = "json:dumps", key = "line" }', 'is \'line\', but route = "json:dumps" uses no key'),
        ('{ from = "lines", route = "json:dumsp" }', "'json' has no 'dumsp'"),
        ('{ from = "lines", route = "json:__doc__" }', "allowed: a function (batch, replicas)"),
        ('{ from = "lines", key = ["line", "lnie"] }', "has no field 'lnie'; allowed: line (did you mean 'line'?)"),
    ],
)  # fmt: skip
def test_routes_that_cannot_be_say_why(problems: Problems, each: str, message: str) -> None:
    ((line, text),) = problems(topology(each, consumers=2))
    assert line == 7
    assert message in text


class Ranged(Event):
    n: int
    f: float | None
    at: datetime
    raw: bytes
    code: Literal[1, 2]
    colour: Literal["blue", "red"]


@pytest.mark.parametrize(
    ("key", "bounds", "where", "message"),
    [
        ("f", [1.0], "key", "is 'f', which is float64? in 'rows': null is in no range; allowed: a field of numbers, text"),
        ("raw", [b"a"], "key", "is 'raw', which is bytes in 'rows' and has no ranges; allowed: a field of numbers, text"),
        ("code", [2], "key", "is 'code', which is one of [1, 2] in 'rows' and has no ranges"),
        ("n", ["a"], "bounds", "is ['a'], but the key 'n' is int64 in 'rows'; allowed: numbers, in ascending order"),
        ("colour", [1], "bounds", "is [1], but the key 'colour' is one of ['blue', 'red'] in 'rows'; allowed: text"),
        ("at", [datetime(2026, 1, 1)], "bounds", "but the key 'at' is datetime in 'rows'; allowed: dates and times with"),
    ],
)  # fmt: skip
def test_bounds_must_fit_the_field_of_the_key(key: str, bounds: list[Any], where: str, message: str) -> None:
    topology = Built("t")
    topology.source([], name="rows", event=Ranged).ranges(key, bounds).through(
        type("Passing", (Actor,), {"on_event": lambda self, event: event, "outputs": {"default": Ranged}}),
        name="p",
    ).collect()
    with pytest.raises(ConfigurationError) as caught:
        topology.graph()
    (problem,) = caught.value.problems
    assert problem.where == f"actors.p.inputs[0].{where}"
    assert message in str(problem)


@pytest.mark.parametrize(
    ("key", "bound"), [("n", 1.5), ("at", datetime(2026, 1, 1, tzinfo=UTC)), ("at", 5), ("colour", "green")]
)
def test_bounds_of_what_a_field_can_be_compared_with_are_right(key: str, bound: Any) -> None:
    topology = Built("t")
    topology.source([], name="rows", event=Ranged).ranges(key, [bound]).through(
        type("Passing", (Actor,), {"on_event": lambda self, event: event, "outputs": {"default": Ranged}}),
    ).collect()
    assert topology.graph().edges[0].bounds == (bound,)


class Pair(Event):
    a: int
    b: int
    c: int = 0


class Keyed(Actor):
    """Needs equal pairs in one replica."""

    def __init__(self, on: list[str]) -> None:
        self.on = on

    @classmethod
    def keyed_by(cls, keys: dict[str, Any], input: int) -> tuple[str, ...] | None:
        return tuple(keys["on"]) or None

    def on_event(self, event: Pair) -> Pair:
        return event


def keyed(replicas: int, on: tuple[str, ...] = ("a", "b"), **each: Any) -> tuple[str, tuple[str, ...]]:
    built = Built()
    built.source([Pair(1, 2)], name="pairs")
    built.actor("keyed", Keyed, [InputSpec(from_="pairs", **each)], replicas=replicas, on=list(on))
    edge = built.graph().actors["keyed"].inputs[0]
    return edge.route, edge.key


def test_rows_that_must_meet_are_routed_by_their_key_once_there_are_several_replicas() -> None:
    assert keyed(1) == ("forward", ())
    assert keyed(2) == ("key", ("a", "b"))
    assert keyed(2, route="key") == ("key", ("a", "b"))
    assert keyed(2, key="b") == ("key", ("b",))
    assert keyed(2, route="global") == ("global", ())


@pytest.mark.parametrize("each", [{"route": "shuffle"}, {"key": ["a", "b", "c"]}, {"key": "c"}])
def test_a_route_that_would_tear_keys_apart_is_a_problem(each: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="would spread rows with equal a, b over replicas"):
        keyed(2, **each)


def test_keyed_by_may_be_an_attribute_that_names_the_fields() -> None:
    for said, expected in (
        ("a", ("key", ("a",))),
        (["a", "b"], ("key", ("a", "b"))),
        ((), ("shuffle", ())),
        (None, ("global", ())),
    ):
        built = Built()
        built.source([Pair(1, 2)], name="pairs")
        cls = type("Named", (Keyed,), {"keyed_by": said})
        built.actor("keyed", cls, [InputSpec(from_="pairs")], replicas=2, on=[])
        edge = built.graph().actors["keyed"].inputs[0]
        assert (edge.route, edge.key) == expected


@pytest.mark.parametrize("said", [3, ["a", 3], classmethod(lambda cls, keys, input: 1 / 0)])
def test_a_keyed_by_that_names_no_fields_is_a_problem(said: Any) -> None:
    built = Built()
    built.source([Pair(1, 2)], name="pairs")
    cls = type("Named", (Keyed,), {"keyed_by": said})
    built.actor("keyed", cls, [InputSpec(from_="pairs")], replicas=2, on=[])
    with pytest.raises(
        ConfigurationError, match=r"keyed: its keyed_by (is|raised).*allowed: a field, a list"
    ):
        built.graph()


def test_rows_that_must_all_meet_go_to_one_replica() -> None:
    assert keyed(1, ()) == ("forward", ())
    assert keyed(2, ()) == ("global", ())
    for each in ({"route": "shuffle"}, {"key": "a"}):
        with pytest.raises(ConfigurationError, match="would spread rows that belong together over replicas"):
            keyed(2, (), **each)
