"""map computes, replaces, chooses and orders fields, on every deployment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actorstream import Batch, Event, Topology
from actorstream.events.schema import Schema
from actorstream.operators.map import Map, mapped_schema
from tests.unit.operators.trades import DEPLOYMENTS, ROWS, Trade, fields, problems, through

SCHEMA = Schema.of(Trade)


class Value(Event):
    value: float


class Time(Event):
    number: int


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_fields_are_computed_from_the_fields_that_came_in(deploy: dict[str, Any]) -> None:
    found = through("map", deploy=deploy, set={"quantity": "quantity + 1", "value": "price * quantity"})
    assert fields(found) == [
        (r.at, r.price, r.quantity + 1, r.kind, r.note, r.price * r.quantity) for r in ROWS
    ]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_select_chooses_and_orders_fields(deploy: dict[str, Any]) -> None:
    found = through(Map, deploy=deploy, set={"label": "coalesce(note, kind)"}, select=["label", "price"])
    assert fields(found) == [(r.kind if r.note is None else r.note, r.price) for r in ROWS]
    assert fields(through(Map, deploy=deploy, select=["kind"])) == [(r.kind,) for r in ROWS]


def test_the_schema_that_comes_out_is_known_before_the_run() -> None:
    made = mapped_schema(
        {"set": {"value": "price * quantity", "kind": "upper(kind)"}, "select": None}, SCHEMA
    )
    assert made.names() == ("at", "price", "quantity", "kind", "note", "value")
    assert (made.event_time, str(made.field("kind"))) == ("at", "kind: string")
    assert mapped_schema({"select": ["price"]}, SCHEMA).event_time is None
    assert mapped_schema({"set": {"quantity": "quantity * 2"}}, SCHEMA) is SCHEMA


def test_rows_keep_their_event_time_when_its_field_does_not_go_on() -> None:
    batch = Batch.of_events(Trade, ROWS[:9])
    mapped = Map(select=["price"]).on_batch(batch)
    assert mapped is not None and mapped.event_times().tolist() == [row.at for row in ROWS[:9]]  # type: ignore[union-attr]


def test_a_field_called_event_can_be_computed() -> None:
    class Named(Event):
        event: str

    assert fields(through(Map, [Named("a")], set={"event": "event + '!'"})) == [("a!",)]


def test_python_functions_make_events_or_columns() -> None:
    def one(event: Trade) -> Value | None:
        return Value(event.price) if event.quantity else None

    def many(event: Trade) -> list[Value]:
        return [Value(event.price)] * (event.quantity % 3)

    def columns(batch: Batch) -> Value:
        return {"value": batch["price"] * 2}  # type: ignore[return-value]

    assert through(Map, function=one) == [Value(r.price) for r in ROWS if r.quantity]
    assert through(Map, function=many) == [Value(r.price) for r in ROWS for _ in range(r.quantity % 3)]
    assert through(Map, function=columns) == [Value(r.price * 2) for r in ROWS]


def test_rows_that_overflow_become_dead_letters_and_the_others_go_on() -> None:
    rows = [Trade(1, 0.0, quantity, "buy") for quantity in (1, 2**62, 3)]
    topology = Topology("test")
    mapped = topology.source(rows).through(Map, set={"quantity": "quantity * 4"}, on_error="dead-letter")
    good, dead = mapped.collect(), mapped.dead.collect()
    topology.run()
    assert [row.quantity for row in good] == [4, 12]
    assert [letter.error for letter in dead] == [
        f"RowError: int64 overflow: quantity * 4 (quantity = {2**62})"
    ]


@pytest.mark.parametrize("sink", ["csv-sink", "jsonl-sink", "memory"])
def test_a_time_after_the_year_9999_is_an_error_of_its_row_wherever_the_rows_go(
    sink: str, tmp_path: Path
) -> None:
    topology = Topology("test")
    times = [253402300799999, 253402300800000, 0]
    made = topology.source([Time(each) for each in times]).through(
        Map, set={"at": "datetime(number)"}, on_error="skip"
    )
    if sink == "memory":
        rows = made.collect()
        topology.run()
        assert [row.at.year for row in rows] == [9999, 1970]
        return
    made.into(sink, path=str(tmp_path / "out"))
    topology.run()
    text = (tmp_path / "out").read_text()
    assert text.count("9999-12-31T23:59:59.999") == text.count("1970-01-01T00:00:00Z") == 1
    assert len(text.splitlines()) == (3 if sink == "csv-sink" else 2)


@pytest.mark.parametrize(
    ("keys", "where", "message"),
    [
        ({}, "set", "is missing"),
        ({"set": {"x": "prise"}}, "set.x", "there is no field 'prise'"),
        ({"select": ["prise"]}, "select", "there is no field 'prise'"),
        ({"select": ["price", "price"]}, "select", "has 'price' twice"),
        ({"set": {"x": "price"}, "select": []}, "select", "is empty"),
        ({"set": {"at": "price"}}, "set", "field 'at' of Trade cannot be the event time"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(keys: dict[str, Any], where: str, message: str) -> None:
    ((found, said),) = problems("map", **keys)
    assert found == where and said.startswith(message)
