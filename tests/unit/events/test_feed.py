"""Feeds: events that are made as they are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import numpy as np
import pytest

from actorstream import Batch, Event, Float32, Int8, UInt64
from actorstream.events.feed import Feed, is_over, taken


class Number(Event):
    value: int


class Kinds(Event):
    small: Int8
    large: UInt64
    short: Float32
    value: float
    flag: bool
    maybe: int | None


class Reading(Event):
    sensor: int
    name: str | None
    value: float


def batch(rows: int) -> Batch:
    names = [None if row % 3 == 0 else f"n{row}" for row in range(rows)]
    return Batch.of_columns(Reading, {"sensor": np.arange(rows), "name": names, "value": np.arange(rows) / 2})


def test_a_feed_gives_the_events_of_its_batch_again_and_again() -> None:
    given = batch(50)
    feed = given.feed()
    assert isinstance(feed, Feed)
    assert not given.has_events
    assert list(feed) == list(feed) == given.events()
    assert len(feed) == 50


def test_parts_of_a_feed_are_feeds_and_a_row_is_an_event() -> None:
    feed, events = batch(50).feed(), batch(50).events()
    part = feed[10:20]
    assert isinstance(part, Feed)
    assert list(part) == events[10:20]
    assert list(part[3:]) == events[13:20]
    assert feed[7] == events[7]
    assert feed[-1] == events[-1]


@pytest.mark.parametrize("of", [lambda: [0, 1, 2, 3, 4], lambda: Feed(Number, (list(range(5)),), 5)])
def test_an_iterator_of_events_says_how_many_were_taken_and_whether_more_were_wanted(
    of: Callable[[], Iterable[Any]],
) -> None:
    events = iter(of())
    assert (taken(events, 5), is_over(events)) == (0, False)
    assert [taken(events, 5) for _, _ in zip(range(5), events)] == [1, 2, 3, 4, 5]
    assert not is_over(events)
    assert next(events, None) is None
    assert (taken(events, 5), is_over(events)) == (5, True)


@pytest.mark.parametrize("wrong", [50, -51])
def test_a_row_that_is_not_there_is_an_index_error(wrong: int) -> None:
    with pytest.raises(IndexError, match=f"event {wrong} of a feed of 50"):
        batch(50).feed()[wrong]


def test_only_runs_of_rows_are_parts_of_a_feed() -> None:
    with pytest.raises(ValueError, match="step 2"):
        batch(50).feed()[::2]
    assert len(batch(50).feed()[40:30]) == 0


def test_plain_numbers_are_made_as_they_are_taken_and_are_those_of_a_list() -> None:
    columns = {
        "small": np.array([-128, 0, 127], np.int8),
        "large": np.array([0, 1, 2**64 - 1], np.uint64),
        "short": np.array([0.1, -0.0, np.inf], np.float32),
        "value": np.array([0.1, -0.0, np.inf]),
        "flag": np.array([True, False, True]),
        "maybe": [1, None, 3],
    }
    rows = Batch.of_columns(Kinds, columns)
    given = [rows.column(name).described() for name in columns]
    assert [each[0] for each in given] == ["b", "Q", "f", "d", "?", "q"]
    feed = rows.feed()
    assert isinstance(feed, Feed)
    assert list(feed) == rows.events()
    assert [type(value) for value in msgspec.structs.astuple(feed[1])] == [
        int,
        int,
        float,
        float,
        bool,
        type(None),
    ]
    part = rows.slice(1, 2).feed()
    assert list(part) == rows.events()[1:]


def test_events_that_are_there_already_are_not_made_again() -> None:
    events = batch(5).events()
    given = Batch.of_events(Reading, events)
    assert given.feed() is events
    assert given.slice(1, 3).feed() == events[1:4]
    assert isinstance(batch(1).feed(), list)


def test_values_of_each_field_become_columns_or_events() -> None:
    rows = batch(7)
    values = [rows.column(name).tolist() for name in rows.schema.names()]
    made = Batch.of_values(Reading, values)
    assert made.events() == rows.events()
    assert list(Batch.of_values(Reading, values).feed()) == rows.events()
    assert Batch.of_values(Reading, values)["sensor"].tolist() == list(range(7))
    assert Batch.of_values(Reading, values)["name"].to_pylist() == values[1]
    assert Batch.of_values(Reading, values).take(np.array([2, 0])).events() == [
        rows.events()[2],
        rows.events()[0],
    ]


def test_the_size_of_values_is_told_without_converting_them() -> None:
    rows = batch(1000)
    values = [rows.column(name).tolist() for name in rows.schema.names()]
    made = Batch.of_values(Reading, values)
    packed = rows.nbytes
    assert packed / 2 < made.nbytes < packed * 2
    assert made._columns == [None, None, None]
    assert packed / 2 < Batch.of_events(Reading, rows.events()).nbytes < packed * 2
