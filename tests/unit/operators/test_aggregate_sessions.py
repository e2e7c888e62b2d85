"""Sessions, windows of so many rows and keys that are idle are what plain Python makes of the rows of each key."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Event, Topology
from tests.unit.operators.aggregate_model import AGGREGATES, Row, groups
from tests.unit.operators.test_aggregate import aggregated
from tests.unit.operators.test_aggregate_updates import Fed
from tests.unit.operators.timed import NOT_BEHIND, values, watermarks

TEXTS = [text for text in AGGREGATES if not text.startswith(("first", "last"))]
"""Rows of equal times in sessions that join are in no order."""

some_rows = st.lists(
    st.tuples(
        st.integers(0, 80),
        st.sampled_from(["a", "bb", None]),
        st.integers(0, 1),
        st.none() | st.integers(-8, 8).map(lambda number: number / 4),
        st.integers(-5, 5),
        st.sampled_from(["x", "y", ""]),
    ),
    max_size=60,
)


def sessions(
    parts: dict[str, list[Row]], slack: int, key: list[str], texts: list[str], gap: int, lateness: int
) -> tuple[list[Any], list[Row]]:
    """Rows in time are in sessions by their gaps; then each row that is behind joins what is not over at its own
    watermark, and is late if its own session would be."""
    marked = [each for rows in parts.values() for each in watermarks(rows, slack)]
    in_time = [row for row, mark in marked if mark == NOT_BEHIND]
    behind = [(row, mark) for row, mark in marked if mark != NOT_BEHIND]
    behind.sort(key=lambda each: (each[1], -each[0].ts))
    made: dict[tuple[Any, ...], list[list[Row]]] = {}
    late = []
    for row, mark in [*((row, None) for row in sorted(in_time, key=lambda row: row.ts)), *behind]:
        own = made.setdefault(tuple(getattr(row, name) for name in key), [])
        over = -(2**62) if mark is None else mark - lateness
        joined = [
            rows
            for rows in own
            if min(each.ts for each in rows) - gap <= row.ts <= max(each.ts for each in rows) + gap
            and max(each.ts for each in rows) + gap >= over
        ]
        if not joined and row.ts + gap < over:
            late.append(row)
            continue
        own[:] = [rows for rows in own if all(rows is not each for each in joined)]
        own.append([row, *(each for rows in joined for each in rows)])
    found = [
        (max(row.ts for row in rows) + gap, min(row.ts for row in rows), number, own, rows)
        for number, (own, _) in enumerate(groups([row for row, _ in marked], key))
        for rows in made.get(own, [])
    ]
    found.sort(key=lambda each: each[:3])
    return [
        (start, end, *own, *(AGGREGATES[text](rows) for text in texts)) for end, start, _, own, rows in found
    ], late


@settings(max_examples=80, deadline=None)
@given(
    rows=some_rows,
    gap=st.sampled_from([1, 4, 10]),
    lateness=st.sampled_from([0, 5]),
    slack=st.sampled_from([0, 3, 100]),
    key=st.sampled_from([[], ["key"], ["other", "key"]]),
    texts=st.lists(st.sampled_from(TEXTS), min_size=1, max_size=4, unique=True),
    batch_size=st.sampled_from([1, 3, 1000]),
)
def test_random_rows_are_in_sessions_as_plain_python_has_them(
    rows, gap, lateness, slack, key, texts, batch_size
):
    parts = {"0": [Row(*each) for each in rows]}
    window = {"type": "session", "gap": gap, "allowed_lateness": lateness}
    found, late, report = aggregated(
        parts, key, texts, slack, deploy={"batch_size": batch_size}, window=window
    )
    wanted, wanted_late = sessions(parts, slack, key, texts, gap, lateness)
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert sorted(map(values, late), key=repr) == sorted(map(values, wanted_late), key=repr)
    assert report["late"] == len(late)


@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2)])
@pytest.mark.parametrize("lateness", [0, 7])
def test_partitions_replicas_and_transports_change_no_session(transport, workers, lateness):
    parts = {
        name: [
            Row((at * 7 + shift) % 40 + at, "abc"[at % 3], at % 2, at / 4, at * 3 % 7, "xyz"[at % 3])
            for at in range(120)
        ]
        for name, shift in (("0", 0), ("1", 5), ("2", 11))
    }
    texts = ["count()", "sum(price)", "count_distinct(text)"]
    deploy = {"transport": transport, "workers": workers, "batch_size": 11}
    window = {"type": "session", "gap": 3, "allowed_lateness": lateness}
    key = ["key", "number"]
    found, late, _ = aggregated(parts, key, texts, 10, sources=3, replicas=2, deploy=deploy, window=window)
    wanted, wanted_late = sessions(parts, 10, key, texts, 3, lateness)
    assert sorted(found) == sorted(wanted)
    assert sorted(map(values, late)) == sorted(map(values, wanted_late))
    assert len(late) > 5


def test_sessions_come_out_by_end_then_start_then_key():
    parts = {
        "0": [Row(ts, key, 0, 0.0, 0, "") for ts, key in ((0, "b"), (0, "a"), (3, "c"), (3, "b"), (50, "a"))]
    }
    found = aggregated(parts, ["key"], ["count()"], window={"type": "session", "gap": 5})[0]
    assert found == [(0, 5, "a", 1), (0, 8, "b", 2), (3, 8, "c", 1), (50, 55, "a", 1)]


@settings(max_examples=40, deadline=None)
@given(
    rows=some_rows,
    size=st.integers(1, 7),
    key=st.sampled_from([[], ["key"]]),
    texts=st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, max_size=4, unique=True),
    batch_size=st.sampled_from([1, 5, 1000]),
)
def test_count_windows_are_so_many_rows_of_a_key_as_they_come(rows, size, key, texts, batch_size):
    parts = {"0": [Row(*each) for each in rows]}
    found, late, _ = aggregated(
        parts, key, texts, 100, deploy={"batch_size": batch_size}, window={"type": "count", "size": size}
    )
    wanted = []
    for own, mine in groups(parts["0"], key):
        for first in range(0, len(mine), size):
            part = mine[first : first + size]
            bounds = (min(row.ts for row in part), max(row.ts for row in part) + 1)
            wanted.append((*bounds, *own, *(AGGREGATES[text](part) for text in texts)))
    assert sorted(found, key=repr) == sorted(wanted, key=repr)
    assert late == []


class Untimed(Event):
    key: str
    number: int


def test_count_windows_of_rows_without_event_time_say_which_rows_of_the_key_they_are():
    topology = Topology()
    rows = [Untimed("ab"[at % 2], at) for at in range(10)]
    made = topology.source(rows, name="rows").through(
        "aggregate",
        name="aggregate",
        key="key",
        window={"type": "count", "size": 2},
        aggregates={"sum": "sum(number)", "last": "last(number)"},
    )
    out = made.collect()
    topology.run(batch_size=3)
    assert sorted(map(values, out)) == [
        (0, 2, "a", 2, 2), (0, 2, "b", 4, 3), (2, 4, "a", 10, 6), (2, 4, "b", 12, 7), (4, 5, "a", 8, 8), (4, 5, "b", 9, 9)
    ]  # fmt: skip


def test_a_count_window_that_waits_longer_than_its_ttl_comes_out_with_what_it_has():
    parts = {"0": [Row(ts, "a", 0, 0.0, ts, "") for ts in (0, 1, 30, 31, 32, 33)]}
    found = aggregated(parts, ["key"], ["sum(number)"], window={"type": "count", "size": 3}, ttl="10ms")[0]
    assert found == [(0, 2, "a", 1), (30, 33, "a", 93), (33, 34, "a", 33)]


@pytest.mark.parametrize("heartbeats", [False, True])
def test_the_time_of_a_count_window_that_its_ttl_ends_does_not_depend_on_batches_and_heartbeats(heartbeats):
    """Whether the next row of the key ends it or a watermark."""
    rows = [(0, 1, 1), (1, 2, 1), (20_000, 2, 1), (20_001, 1, 1)]
    fed = Fed(window={"type": "count", "size": 3}, ttl="10s")
    made: list[Any] = []
    for batch in [[row] for row in rows] if heartbeats else [rows]:
        made += fed.actor.on_batch(fed.batch(*batch))
        made += fed.actor.on_heartbeat(batch[-1][0]) if heartbeats else []
    assert sorted(time for each in made for time in each.event_times().tolist()) == [10_000, 10_001]


def test_a_count_window_of_a_row_that_is_behind_has_no_time_below_what_was_promised():
    fed = Fed(window={"type": "count", "size": 3}, ttl="10s")
    assert fed.watermark(30_000) == []
    assert fed.rows((5_000, 1, 1), mark=30_000) == []
    (made,) = fed.actor.on_heartbeat(40_000)
    assert made.event_times().tolist() == [30_000]


def test_without_a_window_an_idle_key_comes_out_and_begins_anew():
    parts = {
        "0": [
            Row(ts, key, 0, 0.0, ts, "") for ts, key in ((0, "a"), (1, "b"), (9, "b"), (20, "b"), (31, "a"))
        ]
    }
    found = aggregated(parts, ["key"], ["sum(number)"], ttl="10ms")[0]
    assert found == [("a", 0), ("b", 10), ("b", 20), ("a", 31)]
