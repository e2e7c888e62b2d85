"""The source that gives a sample again and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from actorstream import Event
from actorstream.connectors.source import NO_MORE
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema
from actorstream.profiling.sample_source import Sample, SampleSource


class Bid(Event, event_time="ts"):
    ts: int
    price: int


class Meeting(Event, event_time="at"):
    at: datetime


class Plain(Event):
    price: int


def sample(*times: int) -> Sample:
    schema = Schema.of(Bid)
    return Sample(schema, [Batch.of_columns(schema, {"ts": list(times), "price": list(times)})])


def read_all(feed: SampleSource, rows: int, most: int = 100) -> list[list[int]]:
    found: list[list[int]] = []
    while len(found) < most and (batch := feed.read(rows)) is not None:
        found.append(
            batch.event_times().tolist() if feed.sample.times is not None else batch["price"].tolist()
        )  # type: ignore[union-attr]
    return found


def test_a_pass_ends_with_a_shorter_batch() -> None:
    assert read_all(SampleSource(sample(1, 2, 3, 4, 5), passes=1), 2) == [[1, 2], [3, 4], [5]]


def test_each_pass_is_later_than_the_one_before() -> None:
    assert read_all(SampleSource(sample(10, 12, 11), passes=3), 3) == [
        [10, 12, 11],
        [13, 15, 14],
        [16, 18, 17],
    ]
    assert read_all(SampleSource(sample(10, 12)), 2, most=50)[-1] == [10 + 49 * 3, 12 + 49 * 3]


def test_rows_without_a_time_come_again_as_they_are() -> None:
    schema = Schema.of(Plain)
    feed = SampleSource(Sample(schema, [Batch.of_columns(schema, {"price": [1, 2, 3]})]), passes=2)
    assert read_all(feed, 2) == [[1, 2], [3], [1, 2], [3]]


def test_times_that_rows_have_by_descent_pass_on_too() -> None:
    schema = Schema.of(Plain)
    batch = Batch.of_columns(schema, {"price": [1, 2]}).with_system(_time=np.array([5, 7]))
    feed = SampleSource(Sample(schema, [batch]), passes=2)
    assert read_all(feed, 1) == [[5], [7], [8], [10]]


def test_it_never_promises_past_a_row_that_is_still_to_come() -> None:
    feed = SampleSource(sample(10, 14, 11, 13), passes=3)
    while (bound := feed.lower_bound(0)) != NO_MORE:
        batch = feed.read(1)
        assert batch is not None and bound is not None
        assert bound <= int(batch.event_times()[0])  # type: ignore[index]
    assert feed.read(1) is None


def test_rows_out_of_order_in_the_sample_are_not_late() -> None:
    slack = SampleSource(sample(10, 14, 11)).max_out_of_orderness
    assert slack is not None and Schema.of(Bid).time_units_in(slack) >= 3


def test_no_rows_are_the_end_at_once() -> None:
    feed = SampleSource(Sample(Schema.of(Bid), []))
    assert feed.read(5) is None and feed.lower_bound(0) == NO_MORE


YEAR = timedelta(days=365)
SHORT = Schema.from_dict({"ts": "int32"}, event_time="ts")


@pytest.mark.parametrize(
    ("schema", "times"),
    [
        (Schema.of(Bid), [0, 1 << 58]),
        (Schema.of(Bid), [0, (1 << 63) - 5]),
        (SHORT, [0, 1 << 28]),
        (Schema.of(Meeting), [datetime(2000, 1, 1, tzinfo=UTC) + number * 100 * YEAR for number in range(3)]),
        (Schema.of(Meeting), [datetime.max.replace(tzinfo=UTC) - 2 * YEAR, datetime.max.replace(tzinfo=UTC)]),
    ],
)
def test_the_passes_end_before_their_event_time_does(schema: Schema, times: list[object]) -> None:
    columns = {name: [0] * len(times) for name in schema.names()} | {str(schema.event_time): times}
    feed = SampleSource(Sample(schema, [Batch.of_columns(schema, columns)]))
    latest, passes = -1, 0
    while (batch := feed.read(10)) is not None:
        found = batch.event_times()
        assert found is not None and batch.events(), "they are rows of the class"
        assert found.min() > latest, "no pass has wrapped around"
        latest, passes = int(found.max()), passes + 1
        assert passes < 1000
    assert passes >= 1 and feed.lower_bound(0) == NO_MORE


def test_times_far_from_the_end_of_time_come_again_as_often_as_was_asked() -> None:
    assert len(read_all(SampleSource(sample(10, 12), passes=7), 2)) == 7
