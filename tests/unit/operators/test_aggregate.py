"""aggregate gives what plain Python gives for the rows of each window and key, however they come in."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Event, Topology
from actorstream.operators.aggregate import Aggregate
from tests.unit.operators.aggregate_model import AGGREGATES, MERGED, Row, said
from tests.unit.operators.timed import Windows, assigned, values

Parts = dict[str, list[Any]]

rows = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.sampled_from(["a", "bb", "é", None]),
        st.integers(-1, 1),
        st.none() | st.integers(-8, 8).map(lambda number: number / 4),
        st.integers(-5, 5),
        st.sampled_from(["x", "y", ""]),
    ),
    max_size=60,
)
all_windows = st.sampled_from(
    [
        Windows(10, 10),
        Windows(7, 7, 3, 2),
        Windows(10, 5),
        Windows(9, 4, 1, 5),
        Windows(3, 5, 2),
        Windows(6, 4),
    ]
)


def expected(parts: Parts, windows: Windows, slack: int, key: list[str], texts: list[str]) -> tuple[Any, Any]:
    found, late = assigned(parts, windows, slack)
    made = [
        (start, start + windows.size, *each)
        for start in sorted(found)
        for each in said(found[start], key, texts)
    ]
    return made, late


def aggregated(
    parts: Any,
    key: list[str],
    texts: list[str],
    slack: int = 0,
    *,
    sources: int = 1,
    replicas: int = 1,
    deploy: Any = None,
    **keys: Any,
) -> tuple[list[Any], list[Any], Any]:
    """The rows that come out, the late ones, and the report."""
    topology = Topology()
    stream = topology.source(
        parts, name="rows", event=Row, replicas=sources, max_out_of_orderness=timedelta(milliseconds=slack)
    )
    made = stream.through(
        "aggregate",
        name="aggregate",
        key=key,
        aggregates={f"a{number}": text for number, text in enumerate(texts)},
        replicas=replicas,
        **keys,
    )
    out, late = made.collect(), made.late.collect()
    run = topology.run(**(deploy or {}))
    return [values(each) for each in out], list(late), run.report


@settings(max_examples=60, deadline=None)
@given(
    rows=rows,
    windows=all_windows,
    slack=st.sampled_from([0, 3, 100]),
    key=st.sampled_from([[], ["key"], ["other"], ["other", "key"]]),
    texts=st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, max_size=5, unique=True),
    batch_size=st.sampled_from([1, 3, 1000]),
    two_steps=st.booleans(),
)
def test_random_rows_agree_with_plain_python_under_any_batching(
    rows, windows, slack, key, texts, batch_size, two_steps
):
    parts = {"0": [Row(*each) for each in rows]}
    deploy = {"batch_size": batch_size, "pre_aggregation": two_steps}
    found, late, report = aggregated(parts, key, texts, slack, deploy=deploy, window=windows.table())
    wanted, wanted_late = expected(parts, windows, slack, key, texts)
    assert found == wanted
    assert late == wanted_late
    assert report["late"] == len(late)


@pytest.mark.parametrize("two_steps", [True, False])
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("shm", 2)])
def test_partitions_replicas_and_transports_change_nothing(transport, workers, two_steps):
    parts = {
        name: [
            Row((at * 7 + shift) % 40 + at, "abc"[at % 3], at % 2, at / 4, at * 3 % 7, "xyz"[at % 3])
            for at in range(120)
        ]
        for name, shift in (("0", 0), ("1", 5), ("2", 11))
    }
    windows = Windows(20, 5, 0, 4)
    texts = [text for text in MERGED if not text.startswith(("first", "last"))]
    deploy = {"transport": transport, "workers": workers, "pre_aggregation": two_steps, "batch_size": 17}
    options: Any = {"deploy": deploy, "window": windows.table(), "sources": 3, "replicas": 2}
    found, late, _ = aggregated(parts, ["key", "other"], texts, 10, **options)
    wanted, wanted_late = expected(parts, windows, 10, ["key", "other"], texts)
    assert sorted(found) == sorted(wanted)
    assert sorted(map(values, late)) == sorted(map(values, wanted_late))
    assert len(late) > 5


@pytest.mark.parametrize("key", [[], ["other"]])
def test_without_a_window_the_whole_stream_is_one(key):
    parts = {"0": [Row(at, "a", at % 2, at / 2, at, "x") for at in range(50)]}
    texts = ["count()", "sum(price)", "last(number)"]
    assert aggregated(parts, key, texts)[0] == said(parts["0"], key, texts)


class Untimed(Event):
    key: int
    text: str


def test_rows_without_event_time_are_one_group_of_the_whole_stream_in_the_order_they_come():
    topology = Topology()
    stream = topology.source([Untimed(at % 2, str(at)) for at in range(9)], name="rows")
    made = stream.through(
        Aggregate, name="aggregate", key="key", aggregates={"first": "first(text)", "last": "last(text)"}
    ).collect()
    topology.run()
    assert [values(each) for each in made] == [(0, "0", "8"), (1, "1", "7")]


def test_an_empty_stream_has_no_results():
    assert aggregated({"0": []}, [], ["count()"], window={"type": "tumbling", "size": 10})[0] == []


class Seen(Event):
    __event_time__ = "at"
    at: datetime
    kind: str


def test_with_datetimes_the_bounds_of_windows_are_datetimes():
    def at(second: float) -> datetime:
        return datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=second)

    topology = Topology()
    stream = topology.source([Seen(at(0.5), "a"), Seen(at(9), "b"), Seen(at(10), "c")], name="seen")
    made = stream.through(
        "aggregate",
        name="aggregate",
        window={"type": "tumbling", "size": "10s"},
        aggregates={"n": "count()", "last": "max(at)"},
    ).collect()
    topology.run()
    assert [values(each) for each in made] == [(at(0), at(10), 2, at(9)), (at(10), at(20), 1, at(10))]


def test_results_of_a_window_have_the_event_time_of_its_end_less_one():
    topology = Topology()
    stream = topology.source([Row(at, "a", 0, 0.0, at, "x") for at in range(40)], name="rows")
    first = stream.through(
        "aggregate", name="first", window={"type": "tumbling", "size": 5}, aggregates={"n": "count()"}
    )
    out = first.through(
        "aggregate", name="second", window={"type": "tumbling", "size": 10}, aggregates={"n": "sum(n)"}
    ).collect()
    topology.run()
    assert [values(each) for each in out] == [(start, start + 10, 10) for start in range(0, 40, 10)]


def test_sums_and_means_are_exact_where_int64_is_not():
    most = 2**63 - 1
    parts = {"0": [Row(1, "a", 0, 0.0, number, "x") for number in (most, most, -most, -most, 7)]}
    found = aggregated(
        parts,
        [],
        ["sum(number)", "mean(number)"],
        window={"type": "tumbling", "size": 10},
        deploy={"batch_size": 1},
    )[0]
    assert found == [(0, 10, 7, 7 / 5)]


def test_groups_are_more_than_fit_one_batch_and_come_in_the_order_of_their_keys():
    parts = {"0": [Row(1, None, at * 7919 % 70001, 0.0, at, "x") for at in range(70001)]}
    found = aggregated(parts, ["other"], ["count()"], window={"type": "tumbling", "size": 10})[0]
    assert found == [(0, 10, other, 1) for other in range(70001)]


@pytest.mark.parametrize("operator", ["aggregate", "top", "join"])
def test_a_window_that_ends_after_the_last_datetime_ends_with_it(operator: str) -> None:
    class Last(Event, event_time="at"):
        at: datetime
        n: int

    rows = [Last(datetime(9999, 12, 31, 23, tzinfo=UTC), 1)]
    topology = Topology("test")
    source, other = topology.source(rows), topology.source(rows)
    window = {"type": "tumbling", "size": "1d"}
    if operator == "aggregate":
        made = source.through("aggregate", window=window, aggregates={"rows": "count()"})
    elif operator == "top":
        made = source.through("top", window=window, by="n", n=1)
    else:
        made = source.through("join", other, window=window, on="n")
    found = made.collect()
    topology.run()
    assert [row.window_end for row in found] == [datetime.max.replace(tzinfo=UTC)]


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("numbers", "quantiles"),
    [
        ([1.0, 2.0, NAN], [1.0, 1.5, 2.0, NAN]),
        ([NAN, 1.0, 2.0, 3.0], [1.0, 1.75, 2.5, NAN]),
        ([NAN, None], [NAN] * 4),
        ([1.0, INF], [1.0, INF, INF, INF]),
        ([-INF, INF], [-INF, NAN, NAN, INF]),
        ([-INF, 1.0, 2.0, INF], [-INF, -INF, 1.5, INF]),
    ],
)
def test_in_quantiles_nan_is_the_greatest_number_and_infinity_a_number(
    numbers: list[float | None], quantiles: list[float]
) -> None:
    class Number(Event, event_time="at"):
        at: int
        x: float | None

    topology = Topology("test")
    aggregates = {f"q{number}": f"quantile(x, {number / 4})" for number in (0, 1, 2, 4)}
    source = topology.source([Number(1, each) for each in numbers])
    found = source.through(
        "aggregate", window={"type": "tumbling", "size": 10}, aggregates=aggregates
    ).collect()
    topology.run()
    assert str([values(row)[2:] for row in found]) == str([tuple(quantiles)])
