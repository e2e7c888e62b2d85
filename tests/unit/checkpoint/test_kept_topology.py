"""What of a topology must be the same when a run goes on from a checkpoint."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from actorstream import Actor, Event, Source, Topology
from actorstream.checkpoint.kept_topology import differences, parts_of


class Row(Event, event_time="at"):
    at: int
    value: int


class Rows(Source):
    outputs: ClassVar = {"default": Row}

    def __init__(self, path: str) -> None:
        self.path = path

    def read(self, max_rows: int) -> None:
        return None


class Own(Actor):
    def __init__(self, limit: int = 1) -> None:
        self.limit = limit

    def on_event(self, event: Row) -> Row:
        return event


def add(one: Row, other: Row) -> Row:
    return Row(one.at, one.value + other.value)


def keep(one: Row, other: Row) -> Row:
    return one


def parts(**changed: Any) -> dict[str, dict[str, str]]:
    """Of one topology with other keys of some actors: `ACTOR__KEY=value`."""
    topology = Topology("kept")
    given: dict[str, dict[str, Any]] = {
        "rows": {"type": Rows, "path": "rows"},
        "few": {"type": "filter", "inputs": ["rows"], "where": "value > 1"},
        "own": {"type": Own, "inputs": ["few"], "limit": 3},
        "sums": {
            "type": "aggregate",
            "inputs": ["own"],
            "aggregates": {"total": "sum(value)"},
            "window": {"type": "tumbling", "size": "2s"},
        },
        "all": {"type": "reduce", "inputs": ["own"], "function": add},
        "out": {"type": "csv-sink", "inputs": ["sums"], "path": "out.csv"},
        "other": {"type": "csv-sink", "inputs": ["all"], "path": "other.csv"},
        "lake": {
            **{"type": "spark-sink", "inputs": ["own"], "path": "lake", "format": "iceberg"},
            **{"table": "db.rows", "catalog": {"type": "rest", "token": "hidden"}},
        },
    }
    for key, value in changed.items():
        actor, _, name = key.partition("__")
        given[actor][name] = value
    for actor, keys in given.items():
        topology.actor(actor, keys.pop("type"), **keys)
    return parts_of(topology.graph())


def said(**changed: Any) -> list[str]:
    return [problem.message for problem in differences(parts(), parts(**changed), "state/")]


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("sums__window", {"type": "tumbling", "size": "3s"}, "actor 'sums': key window is {'size': '3s'"),
        ("sums__allowed_lateness", "1s", "actor 'sums': key allowed_lateness is "),
        ("out__path", "new.csv", "actor 'out': key path is "),
        ("out__delimiter", ";", "actor 'out': key delimiter is ';', and was not there"),
        ("all__function", keep, "actor 'all': key function is "),
        ("own__inputs", [{"from": "few", "order": "serial"}], "actor 'own': input 0 is few as "),
    ],
)
def test_keys_that_shape_what_is_kept_are_the_same(key: str, value: Any, message: str) -> None:
    found = said(**{key: value})
    assert found
    assert found[0].startswith(message)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("few__where", "value > 2"),
        ("own__limit", 4),
        ("lake__catalog", {"type": "rest", "token": "renewed"}),
        ("own__on_error", "skip"),
        ("rows__path", "moved"),
    ],
)
def test_other_keys_may_change(key: str, value: Any) -> None:
    assert said(**{key: value}) == []


def test_credentials_are_not_kept() -> None:
    assert "db.rows" in str(parts()["lake"])
    assert "hidden" not in str(parts())


def test_a_difference_behind_what_a_message_shows_is_found() -> None:
    long = [" + ".join(["value"] * 100 + [last]) for last in ("1", "2")]
    one, other = (parts(sums__aggregates={"total": f"sum({text})"}) for text in long)
    (problem,) = differences(one, other, "state/")
    assert len(problem.message) < 1000


def test_a_function_is_known_by_its_name() -> None:
    assert parts()["all"]["key function"].endswith("test_kept_topology:add'")


def test_another_type_of_rows_is_named() -> None:
    found = differences({"a": {"output default": "{x: int}"}}, {"a": {"output default": "{x: float}"}}, "s")
    assert [problem.message for problem in found] == [
        "actor 'a': output default is {x: float}, and was {x: int} when the checkpoint was made"
    ]
