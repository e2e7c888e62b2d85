"""Taggings: names by columns, keys listed, hashed or found."""

from __future__ import annotations

from datetime import timedelta

import pytest

from actorstream import Event, EventTime
from actorstream.dgs.tagging import Tagging, by, every, key_class, keyed, tagging_of
from actorstream.dgs.tags import Tag
from actorstream.errors import ConfigurationError


class Operation(Event):
    ts: EventTime
    op: str
    key: str


def test_a_name_alone_is_the_tag_of_all_rows() -> None:
    tagging = tagging_of("value")
    assert tagging.tags() == (Tag("value"),)
    assert tagging.tag_of(Operation(1, "i", "a")) == Tag("value")
    assert tagging.columns == ()


def test_a_column_names_the_tag_by_its_value() -> None:
    tagging = by("op", {"i": "increment", "r": "read"})
    assert tagging.tags() == (Tag("increment"), Tag("read"))
    assert tagging.tag_of(Operation(1, "r", "a")) == Tag("read")


def test_values_may_be_the_names() -> None:
    assert by("op", ["i", "r"]).tag_of(Operation(1, "r", "a")) == Tag("r")


def test_several_values_may_have_one_name() -> None:
    assert by("op", {"i": "change", "d": "change", "r": "read"}).tags() == (Tag("change"), Tag("read"))


def test_listed_keys_give_a_tag_each() -> None:
    tagging = keyed("view", "key", keys=["a", "b"])
    assert tagging.tags() == (Tag("view", "a"), Tag("view", "b"))
    assert tagging.listed


def test_hashed_keys_give_a_tag_a_class_and_equal_keys_the_same() -> None:
    tagging = keyed("view", "key", classes=4)
    assert tagging.tags() == tuple(Tag("view", each) for each in range(4))
    assert tagging.tag_of(Operation(1, "i", "a")) == Tag("view", key_class("a", 4))
    assert {key_class(f"page {n}", 4) for n in range(200)} == {0, 1, 2, 3}


def test_integers_can_be_dealt_to_classes_in_turn() -> None:
    tagging = keyed("row", "ts", classes=3, modulo=True)
    assert [tagging.tag_of(Operation(ts, "i", "a")).key for ts in (-1, 0, 1, 2, 3)] == [2, 0, 1, 2, 0]
    with pytest.raises(ConfigurationError, match="modulo without `classes`"):
        keyed("row", "ts", modulo=True)


def test_keys_that_are_not_listed_are_those_that_were_found() -> None:
    tagging = keyed("view", "key")
    assert not tagging.listed
    assert tagging.tags(["b"]) == (Tag("view", "b"),)


def test_a_period_is_a_number_of_units_of_the_event_time() -> None:
    assert every("1h").units(1_000_000_000) == (3600, 0)
    assert every(timedelta(milliseconds=5), offset="1ms").units(1_000) == (5000, 1000)


def test_ticks_lie_after_the_first_time_and_up_to_the_last() -> None:
    hourly = every("10s")
    assert list(hourly.between(0, 30, 1_000_000_000)) == [10, 20, 30]
    assert list(hourly.between(-11, 9, 1_000_000_000)) == [-10, 0]
    assert list(hourly.between(5, 5, 1_000_000_000)) == []
    assert list(every("10s", offset="3s").between(3, 23, 1_000_000_000)) == [13, 23]


@pytest.mark.parametrize("period", ["1 hour", "0s", timedelta(0)])
def test_a_period_must_be_a_duration_above_0(period: object) -> None:
    with pytest.raises(ConfigurationError):
        every(period)  # type: ignore[arg-type]


def test_what_contradicts_itself_is_reported_at_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        by("op", {}, keys=["a"], classes=40_000)
    assert len(caught.value.problems) == 4
    assert isinstance(by("op", ["i"]), Tagging)
