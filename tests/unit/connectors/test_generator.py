"""Generated rows: the same for every batch size, number of shards and restart, and distributed as asked."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from actorstream.connectors.generator import GeneratorSource
from actorstream.errors import SchemaError
from actorstream.events.batch import Batch
from actorstream.events.event import Event

SCHEMA: dict[str, Any] = {
    "ts": "int",
    "user": {"type": "int32", "distribution": "zipf", "of": 100},
    "name": {"type": "str", "distribution": "uniform", "low": 0, "high": 5, "prefix": "u-"},
    "kind": {"type": "str", "distribution": "choice", "values": ["a", "b"], "weights": [3, 1]},
    "height": {"type": "float?", "distribution": "normal", "mean": 5, "std": 2, "nulls": 0.25},
    "ok": "bool",
    "when": "datetime",
}


def table(source: GeneratorSource, max_rows: int = 4096) -> Batch:
    source.open(source.partitions())
    return rest(source, max_rows)


def rest(source: GeneratorSource, max_rows: int = 4096) -> Batch:
    found = []
    while (batch := source.read(max_rows)) is not None:
        found.append(batch)
    return Batch.concat(found)


def rows(batch: Batch) -> list[tuple[Any, ...]]:
    return sorted(zip(*(each.tolist() for each in batch.columns())), key=lambda row: row[0])


@pytest.mark.parametrize(("shards", "max_rows"), [(1, 1), (1, 100), (3, 7), (8, 4096)])
def test_rows_do_not_depend_on_batches_or_shards(shards: int, max_rows: int) -> None:
    count = 300 if max_rows == 1 else 10_000
    plain = rows(table(GeneratorSource(schema=SCHEMA, event_time="ts", count=count)))
    assert (
        rows(table(GeneratorSource(schema=SCHEMA, event_time="ts", count=count, shards=shards), max_rows))
        == plain
    )


@pytest.mark.parametrize("replicas", [1, 2, 3, 5])
def test_replicas_share_the_shards(replicas: int) -> None:
    plain = rows(table(GeneratorSource(schema=SCHEMA, event_time="ts", count=1001, shards=4)))
    found: list[tuple[Any, ...]] = []
    for replica in range(replicas):
        source = GeneratorSource(schema=SCHEMA, event_time="ts", count=1001, shards=4)
        source.open(source.partitions()[replica::replicas])
        while (batch := source.read(100)) is not None:
            names = range(source.row, source.row + batch.rows)
            assert batch["ts"].tolist() == [number * 4 + source.origin for number in names]
            found += zip(*(each.tolist() for each in batch.columns()))
    assert sorted(found, key=lambda row: row[0]) == plain


def test_the_order_of_one_replica_does_not_depend_on_the_batch_size() -> None:
    first = table(GeneratorSource(schema={"a": "int"}, count=20_000, shards=3), 4096)
    again = table(GeneratorSource(schema={"a": "int"}, count=20_000, shards=3), 7)
    assert first["a"].tolist() == again["a"].tolist()


def test_goes_on_at_any_position() -> None:
    whole = table(GeneratorSource(schema=SCHEMA, event_time="ts", count=500, shards=2), 33)
    source = GeneratorSource(schema=SCHEMA, event_time="ts", count=500, shards=2)
    source.open(source.partitions())
    head = [source.read(33) for _ in range(5)]
    kept = source.position()
    again = GeneratorSource(schema=SCHEMA, event_time="ts", count=500, shards=2)
    again.open(again.partitions())
    again.seek(kept)
    assert rows(Batch.concat([*[each for each in head if each is not None], rest(again)])) == rows(whole)


def test_another_seed_gives_other_values() -> None:
    first, second = (table(GeneratorSource(schema={"a": "int"}, count=1000, seed=seed)) for seed in (1, 2))
    assert (first["a"] == second["a"]).mean() < 0.01


def test_fields_are_independent() -> None:
    found = table(GeneratorSource(schema={"a": "float", "b": "float"}, count=100_000))
    assert abs(np.corrcoef(found["a"], found["b"])[0, 1]) < 0.02


def test_values_are_distributed_as_asked() -> None:
    spec = {
        "uniform": {"type": "int", "distribution": "uniform", "low": -5, "high": 5},
        "fraction": {"type": "float", "distribution": "uniform", "low": 2, "high": 4},
        "normal": {"type": "float", "distribution": "normal", "mean": 10, "std": 3},
        "rounded": {"type": "int", "distribution": "normal", "mean": 10, "std": 3},
        "waiting": {"type": "float", "distribution": "exponential", "mean": 7},
        "rank": {"type": "int", "distribution": "zipf", "of": 3, "exponent": 1},
        "kind": {"type": "str", "distribution": "choice", "values": ["a", "b"], "weights": [3, 1]},
        "same": {"type": "str", "distribution": "constant", "value": "x"},
        "step": {"type": "int", "distribution": "sequence", "start": 100, "step": -2},
        "flag": {"type": "bool", "distribution": "bernoulli", "p": 0.9},
    }
    found = table(GeneratorSource(schema=spec, count=100_000))
    assert set(found["uniform"].tolist()) == set(range(-5, 5))
    assert abs(found["uniform"].mean() + 0.5) < 0.05
    assert (
        found["fraction"].min() >= 2
        and found["fraction"].max() < 4
        and abs(found["fraction"].mean() - 3) < 0.02
    )
    assert abs(found["normal"].mean() - 10) < 0.05 and abs(found["normal"].std() - 3) < 0.05
    assert abs(found["rounded"].mean() - 10) < 0.05
    assert abs(found["waiting"].mean() - 7) < 0.1 and found["waiting"].min() >= 0
    shares = np.bincount(found["rank"]) / 100_000
    assert np.allclose(shares, np.array([6, 3, 2]) / 11, atol=0.01)
    kinds = Counter(found.column("kind").tolist())
    assert abs(kinds["a"] / 100_000 - 0.75) < 0.01
    assert set(found.column("same").tolist()) == {"x"}
    assert found["step"].tolist()[:3] == [100, 98, 96]
    assert abs(found["flag"].mean() - 0.9) < 0.01


def test_nulls_are_as_many_as_asked() -> None:
    found = table(GeneratorSource(schema=SCHEMA, event_time="ts", count=100_000))
    assert abs(found["height"].null_count / 100_000 - 0.25) < 0.01


class Click(Event, event_time="ts"):
    ts: datetime
    page: Literal["home", "shop"]
    tags: list[str]
    raw: bytes | None


def test_rows_of_an_event_class_are_made_with_distributions_for_some_fields() -> None:
    schema = {
        "ts": {
            "type": "datetime",
            "distribution": "sequence",
            "start": "2020-01-01",
            "step": timedelta(seconds=1),
        },
        "tags": {"distribution": "choice", "values": [["x"], []]},
        "raw": {"distribution": "constant", "value": b"z", "nulls": 0.5},
        "page": {"distribution": "choice", "values": ["shop", "home"], "weights": [9, 1]},
    }
    found = table(GeneratorSource(event=Click, schema=schema, count=100)).events()
    assert all(isinstance(each, Click) for each in found)
    assert found[1].ts == datetime(2020, 1, 1, 0, 0, 1, tzinfo=UTC)  # type: ignore[attr-defined]
    pages = Counter(each.page for each in found)  # type: ignore[attr-defined]
    assert pages["shop"] > pages["home"] > 0
    assert {tuple(each.tags) for each in found} == {("x",), ()}  # type: ignore[attr-defined]
    assert {each.raw for each in found} == {b"z", None}  # type: ignore[attr-defined]


def test_the_next_event_time_is_a_promise() -> None:
    source = GeneratorSource(schema={"ts": "int", "a": "int"}, event_time="ts", count=100, shards=2)
    source.open(source.partitions())
    assert source.lower_bound(0) == 0
    source.read(10)
    assert source.lower_bound(0) == 1
    while source.read(10) is not None:
        pass
    assert source.lower_bound(0) == 2**63 - 1
    unsorted = GeneratorSource(
        schema={"ts": {"type": "int", "distribution": "uniform", "high": 9}}, event_time="ts", count=9
    )
    unsorted.open(unsorted.partitions())
    assert unsorted.lower_bound(0) is None


@pytest.mark.parametrize(
    ("keys", "where", "hint"),
    [
        ({}, "schema", ""),
        ({"schema": {"a": {"distribution": "uniform"}}}, "schema.a", ""),
        ({"schema": {"a": "itn"}}, "schema.a", ""),
        ({"schema": {"a": {"type": "int", "distribution": "unifrom"}}}, "schema.a.distribution", "uniform"),
        ({"schema": {"a": {"type": "int", "distribution": "uniform", "hihg": 1}}}, "schema.a.hihg", "high"),
        (
            {"schema": {"a": {"type": "int", "distribution": "uniform", "low": 3, "high": 3}}},
            "schema.a.high",
            "",
        ),
        ({"schema": {"a": {"type": "int", "distribution": "zipf"}}}, "schema.a.of", ""),
        (
            {"schema": {"a": {"type": "int", "distribution": "choice", "values": ["x"]}}},
            "schema.a.values",
            "",
        ),
        (
            {"schema": {"a": {"type": "int", "distribution": "choice", "values": [1], "weights": []}}},
            "schema.a.weights",
            "",
        ),
        ({"schema": {"a": {"type": "int", "distribution": "constant"}}}, "schema.a.value", ""),
        ({"schema": {"a": {"type": "bool", "distribution": "bernoulli", "p": 2}}}, "schema.a.p", ""),
        ({"schema": {"a": {"type": "int", "nulls": 0.5}}}, "schema.a.nulls", ""),
        ({"schema": {"a": {"type": "int?", "nulls": True}}}, "schema.a.nulls", ""),
        ({"schema": {"a": {"type": "int", "distribution": []}}}, "schema.a.distribution", ""),
        (
            {
                "schema": {
                    "a": {"type": "int", "distribution": "choice", "values": [1, 2], "weights": ["x", 2]}
                }
            },
            "schema.a.weights",
            "",
        ),
        ({"schema": {"a": "int"}, "event_rate": float("inf")}, "event_rate", ""),
        ({"schema": {"a": {"type": "bytes"}}}, "schema.a.distribution", ""),
        ({"schema": {"a": "int"}, "event_time": "b"}, "event_time", ""),
        ({"schema": {"a": "int"}, "shards": 0}, "shards", ""),
        ({"schema": {"a": "int"}, "count": -1}, "count", ""),
    ],
)
def test_wrong_keys_are_problems(keys: dict[str, Any], where: str, hint: str) -> None:
    problems = GeneratorSource.check(keys, [], Path())
    assert [each.where for each in problems] == [where]
    assert hint in problems[0].hint


@pytest.mark.parametrize(
    "keys", [{}, {"distribution": "uniform", "low": -5, "high": 5}], ids=["sequence", "uniform"]
)
def test_a_time_may_be_null(keys: dict[str, Any]) -> None:
    schema = {"a": {"type": "datetime?", "nulls": 0.5, **keys}, "b": {"type": "datetime?", **keys}}
    found = table(GeneratorSource(schema=schema, count=1000, seed=3))
    some, all_of_them = (found.column(name).tolist() for name in "ab")
    assert 400 < some.count(None) < 600
    assert None not in all_of_them
    if not keys:
        assert all(one in (None, other) for one, other in zip(some, all_of_them))


def uses(kind: str, distribution: str, **keys: Any) -> dict[str, Any]:
    return {"a": {"type": kind, "distribution": distribution, **keys}}


@pytest.mark.parametrize(
    ("keys", "where", "value"),
    [
        ({"schema": uses("int16", "zipf", of=100_000)}, "schema.a.of", "99999"),
        ({"schema": uses("int8", "uniform", high=1000)}, "schema.a.high", "999"),
        ({"schema": uses("int8", "uniform", high=128.5)}, "schema.a.high", "128"),
        ({"schema": uses("uint8?", "uniform", low=-1, high=5)}, "schema.a.low", "-1"),
        ({"schema": uses("int8", "sequence"), "count": 129}, "schema.a", "128, which row 128"),
        ({"schema": uses("uint16", "sequence", step=-1), "count": 2}, "schema.a", "-1, which row 1"),
        ({"schema": uses("int", "sequence", step=2**62), "count": 3}, "schema.a", f"{2**63}, which row 2"),
        ({"schema": uses("str", "sequence", step=2**62), "count": 3}, "schema.a", f"{2**63}, which row 2"),
        ({"schema": uses("int8", "sequence", step=0.5), "count": 300}, "schema.a", "which row 299"),
        (
            {"schema": {"a": "int32"}, "event_time": "a", "start": 1_700_000_000_000},
            "schema.a",
            "1700000000000, which row 0",
        ),
        (
            {"schema": {"a": "int16"}, "event_time": "a", "count": 40_000},
            "schema.a",
            "39999, which row 39999",
        ),
    ],
)
def test_numbers_that_their_field_cannot_hold_are_problems(
    keys: dict[str, Any], where: str, value: str
) -> None:
    (problem,) = GeneratorSource.check(keys, [], Path())
    assert problem.where == where
    assert value in str(problem)


def test_the_greatest_numbers_of_a_field_are_no_problems() -> None:
    schema = {
        **uses("int8", "uniform", low=-128, high=128),
        "b": {"type": "uint8", "distribution": "zipf", "of": 256},
        "c": {"type": "int8", "distribution": "sequence", "start": -128},
        "d": {"type": "int", "distribution": "uniform", "low": -(2**63), "high": 2**63},
    }
    assert GeneratorSource.check({"schema": schema, "count": 256}, [], Path()) == []
    found = table(GeneratorSource(schema=schema, count=256))
    assert found.column("c").tolist() == list(range(-128, 128))
    assert 100 < (found["d"] < 0).sum() < 156


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            uses("int8", "normal", std=1000),
            r"field 'a': -?\d+\.0, which row \d+ would have, does not fit int8",
        ),
        (uses("int8", "sequence"), "field 'a': 199, which row 199 would have, does not fit int8"),
    ],
)
def test_a_number_that_its_field_cannot_hold_ends_the_run(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        table(GeneratorSource(schema=schema, count=200))
