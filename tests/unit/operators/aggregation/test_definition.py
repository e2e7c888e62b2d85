"""What an aggregate's keys ask for: the fields that come out, the window in units of event time, what needs times."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from actorstream import Schema
from actorstream.events.fields import Kind
from actorstream.operators.aggregation.definition import Definition, define, needs_time

ROW = Schema.from_dict({"ts": "int", "key": "str?", "price": "float?"}, event_time="ts")
TUMBLING = {"type": "tumbling", "size": "10s"}


def defined(schema: Schema = ROW, **keys: Any) -> Definition:
    found, problems = define({"aggregates": {"n": "count()"}, **keys}, schema)
    assert found is not None, problems
    return found


def fields(definition: Definition) -> list[tuple[str, Kind, bool]]:
    return [(field.name, field.kind, field.nullable) for field in definition.result.fields]


def test_results_have_the_bounds_then_the_key_then_the_aggregates():
    made = defined(window=TUMBLING, key=["key"], aggregates={"n": "count()", "most": "max(price)"})
    assert fields(made) == [
        ("window_start", Kind.INT64, False),
        ("window_end", Kind.INT64, False),
        ("key", Kind.STRING, True),
        ("n", Kind.INT64, False),
        ("most", Kind.FLOAT64, True),
    ]
    assert (made.result.event_time, made.result.time_unit) == (None, "ms")


def test_without_a_window_there_are_no_bounds():
    assert [name for name, _, _ in fields(defined(key="key"))] == ["key", "n"]


def test_a_key_that_is_named_like_a_bound_stands_in_its_place():
    schema = Schema.from_dict({"ts": "int", "window_start": "int"}, event_time="ts")
    made = defined(schema, window=TUMBLING, key="window_start")
    assert [name for name, _, _ in fields(made)] == ["window_end", "window_start", "n"]


def test_bounds_are_datetimes_where_the_event_time_is_one():
    schema = Schema.from_dict({"at": "datetime"}, event_time="at")
    made = defined(schema, window=TUMBLING)
    assert [kind for _, kind, _ in fields(made)[:2]] == [Kind.DATETIME] * 2
    assert made.window is not None
    assert made.window.size == 10_000_000


def test_durations_are_in_units_of_the_event_time():
    made = defined(window=TUMBLING, allowed_lateness=timedelta(seconds=2), every="500ms")
    assert made.window is not None
    assert (made.window.size, made.window.lateness, made.period, made.rows) == (10_000, 2_000, 500, None)
    assert defined(ttl="1m").ttl == 60_000
    assert defined(every=7).rows == 7


@pytest.mark.parametrize(
    ("keys", "paned"),
    [
        ({}, True),
        ({"window": TUMBLING}, True),
        ({"window": {"type": "sliding", "size": 4, "slide": 2}}, True),
        ({"window": {"type": "session", "gap": 4}}, False),
        ({"window": {"type": "count", "size": 4}}, False),
        ({"ttl": "1s"}, False),
    ],
)
def test_sessions_counts_and_idle_keys_are_not_put_together_from_panes(keys, paned):
    assert defined(**keys).paned == paned


@pytest.mark.parametrize(
    ("keys", "needs"),
    [
        ({}, False),
        ({"window": {"type": "count", "size": 4}}, False),
        ({"window": {"type": "count", "size": 4}, "ttl": "1s"}, True),
        ({"window": TUMBLING}, True),
        ({"window": "tumbling"}, True),
        ({"every": 10}, False),
        ({"every": "1s"}, True),
    ],
)
def test_only_what_goes_by_event_time_needs_it(keys, needs):
    assert needs_time(keys) == needs
