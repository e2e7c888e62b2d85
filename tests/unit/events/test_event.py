"""Event classes: what a subclass inherits, and the ways to name its event time."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from actorstream.events import Event, EventDatetime, EventTime, Int8, Schema


class Plain(Event):
    a: int
    b: str = "x"


class ByKeyword(Event, event_time="at", time_unit="us"):
    at: int


class ByMark(Event):
    name: str
    at: EventTime


class ByDatetime(Event, time_unit="s"):
    at: EventDatetime


class ByAttribute(Event):
    __event_time__ = "at"
    at: Int8


class Inherits(ByKeyword):
    more: int


def test_events_are_immutable_and_not_tracked_by_the_garbage_collector() -> None:
    event = Plain(1)
    with pytest.raises(AttributeError, match="immutable"):
        event.a = 2  # type: ignore[misc]
    config = Plain.__struct_config__
    assert config.frozen and not config.gc


def test_events_compare_by_value_and_have_defaults() -> None:
    assert Plain(1) == Plain(1, "x") != Plain(2)


@pytest.mark.parametrize("cls", [ByKeyword, ByMark, ByAttribute, Inherits])
def test_the_event_time_is_named_by_keyword_mark_or_attribute_and_inherited(cls: type[Event]) -> None:
    assert Schema.of(cls).event_time == "at"


def test_the_unit_of_an_integer_event_time_is_milliseconds_unless_said() -> None:
    assert Schema.of(ByMark).time_unit == "ms"
    assert Schema.of(ByKeyword).time_unit == Schema.of(Inherits).time_unit == "us"


def test_a_datetime_event_time_is_in_microseconds_whatever_was_said() -> None:
    assert Schema.of(ByDatetime).time_unit == "us"
    assert ByDatetime(datetime(2026, 1, 1, tzinfo=UTC)).at.year == 2026


def test_a_class_without_event_time_has_none() -> None:
    assert Schema.of(Plain).event_time is None
