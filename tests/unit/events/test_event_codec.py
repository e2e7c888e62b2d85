"""Rows: events to columns and back, in bulk, and the errors that name event, field and value."""

from __future__ import annotations

import pytest

from actorstream.errors import SchemaError
from actorstream.events import Batch, Event, Int8, Schema
from actorstream.events.event_codec import lost_fields, rows_of


class Reading(Event):
    sensor: str
    value: Int8


class Keywords(Event, kw_only=True):
    a: int
    b: str = "b"


class Mixed(Keywords):
    c: int


class Nothing(Event):
    pass


class Checked(Event):
    a: int

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError("negative")


def test_the_compiled_functions_are_made_once_a_schema() -> None:
    schema = Schema.of(Reading)
    assert rows_of(schema) is rows_of(schema)


def test_events_and_columns_are_the_same_rows() -> None:
    events = [Reading(f"s{i}", i) for i in range(100)]
    columns = {name: Batch.of_events(Reading, events)[name] for name in ("sensor", "value")}
    assert Batch.of_columns(Reading, columns).events() == events


@pytest.mark.parametrize(
    "events", [[Keywords(a=1), Keywords(a=2, b="x")], [Mixed(3, a=1), Mixed(c=4, a=2, b="x")]]
)
def test_keyword_only_fields_are_rebuilt_by_name(events: list[Event]) -> None:
    schema = Schema.of(type(events[0]))
    columns = {name: Batch.of_events(schema, events).column(name) for name in schema.names()}
    assert Batch.of_columns(schema, columns).events() == events


def test_events_without_fields_are_counted() -> None:
    assert rows_of(Schema.of(Nothing)).build((), 3) == [Nothing()] * 3


def test_a_class_that_checks_itself_does_so_when_rebuilt() -> None:
    with pytest.raises(ValueError, match="negative"):
        Batch.of_columns(Checked, {"a": [1, -1]}).events()


def test_a_value_that_does_not_fit_names_event_field_and_value() -> None:
    events = [Reading("a", 1), Reading("b", 200)]
    with pytest.raises(
        SchemaError, match="field 'value', Reading event 1: 200 does not fit int8; allowed: -128 to 127"
    ):
        Batch.of_events(Reading, events)["value"]


def test_an_event_of_another_class_is_named() -> None:
    with pytest.raises(SchemaError, match="event 1 is a Checked: Checked\\(a=1\\); allowed: Reading"):
        Batch.of_events(Reading, [Reading("a", 1), Checked(1)])["sensor"]


class Derived(Reading):
    unit: str = "m"


class Renamed(Event):
    sensor: str
    value: int


class Extended(Event):
    sensor: str
    value: int
    unit: str = "m"


def test_an_event_is_refused_that_has_fields_which_the_schema_lacks() -> None:
    schema = Schema.of(Reading)
    for fits in (Reading("a", 1), Derived("a", 1), Renamed("a", 1), "text"):
        assert lost_fields(schema, fits) is None
    wrong = lost_fields(schema, Extended("a", 1))
    assert wrong is not None and "Extended(sensor='a', value=1, unit='m') is not of class Reading" in str(
        wrong
    )


def test_a_schema_without_a_class_takes_events_of_an_equal_one() -> None:
    fields = {"sensor": "str", "value": "int"}
    other = Schema.from_dict(fields).event_class()
    assert lost_fields(Schema.from_dict(fields), other("a", 1)) is None
    assert lost_fields(Schema.from_dict({"a b": "int"}), Extended("a", 1)) is not None
