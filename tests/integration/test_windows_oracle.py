"""Windows give what DuckDB gives for random streams, whatever the batches, partitions, workers and steps."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream import Actor, Batch, Topology
from tests.integration.window_oracle import (
    AGGREGATES,
    KEYS,
    TIES,
    Oracle,
    Sliding,
    Trade,
    differing,
    normal,
    taken_by_sessions,
)

DAYS = [datetime(2024, 5, day, 12, tzinfo=UTC) for day in (1, 2, 3)]
NO_TIES = [text for text in AGGREGATES if not text.startswith(TIES)]

times = st.integers(0, 80)
numbers = st.none() | st.integers(-5, 5)
prices = st.sampled_from([None, float("nan"), -0.0, 0.0, float("inf")]) | st.integers(-40, 40).map(
    lambda n: n / 8
)
notes = st.sampled_from([None, "", "a", "ab", "é"])
fields = st.tuples(
    times, st.none() | st.integers(0, 3), st.sampled_from([None, "a", "bb", ""]), st.sampled_from(DAYS), numbers,
    prices, notes,
)  # fmt: skip
keys = st.lists(st.sampled_from(KEYS), max_size=3, unique=True)
picked = st.lists(st.sampled_from(list(AGGREGATES)), min_size=1, max_size=6, unique=True)


@st.composite
def streams(draw: st.DrawFn, partitions: int = 3, rows: int = 40) -> dict[str, list[Trade]]:
    parts = {}
    number = 0
    for part in range(draw(st.integers(1, partitions))):
        given = draw(st.lists(fields, max_size=rows))
        parts[str(part)] = [Trade(*each, number + row) for row, each in enumerate(given)]
        number += len(given)
    return parts


@st.composite
def sliding(draw: st.DrawFn) -> Sliding:
    size = draw(st.integers(1, 25))
    slide = draw(st.just(size) | st.integers(1, 25))
    return Sliding(size, slide, draw(st.integers(0, slide - 1)), draw(st.sampled_from([0, 0, 1, 7, 40])))


@st.composite
def deployments(draw: st.DrawFn) -> dict[str, Any]:
    return {
        "batch_size": draw(st.sampled_from([1, 3, 16, 4096])),
        "workers": draw(st.sampled_from([1, 2])),
        "pre_aggregation": draw(st.booleans()),
        "pipelining": draw(st.booleans()),
    }


def aggregated(
    parts: dict[str, list[Trade]], key: Sequence[str], aggregates: Sequence[str], slack: int,
    deploy: dict[str, Any], *, replicas: int = 1, sources: int = 1, before: Sequence[type[Actor]] = (), **keys: Any,
) -> tuple[list[tuple[Any, ...]], list[int]]:  # fmt: skip
    """The rows that come out, and which are late. `before`: what they pass in front of the windows."""
    topology = Topology()
    rows = topology.source(
        parts,
        name="rows",
        event=Trade,
        replicas=min(sources, len(parts)),
        max_out_of_orderness=timedelta(milliseconds=slack),
    )
    for number, passed in enumerate(before):
        rows = rows.through(passed, name=f"passed{number}", replicas=replicas)
    made = rows.through(
        "aggregate",
        name="windows",
        key=list(key),
        aggregates={f"a{number}": text for number, text in enumerate(aggregates)},
        replicas=replicas,
        **keys,
    )
    out, late = made.collect(), made.late.collect()
    run = topology.run(**deploy)
    assert run.report["late"] == len(late)
    found = [tuple(normal(getattr(each, name)) for name in each.__struct_fields__) for each in out]
    return found, [each.row for each in late]


def of(aggregates: Sequence[str], parts: dict[str, list[Trade]]) -> list[str]:
    """Those that rows of several partitions can have: which of two rows of one time is first is up to arrival."""
    return (
        list(aggregates)
        if len(parts) == 1
        else [text for text in aggregates if text in NO_TIES] or ["count()"]
    )


def check_windows(
    parts: dict[str, list[Trade]], windows: Sliding, slack: int, key: list[str], aggregates: list[str],
    deploy: dict[str, Any], **counts: Any,
) -> None:  # fmt: skip
    own = of(aggregates, parts)
    found, late = aggregated(parts, key, own, slack, deploy, window=windows.table(), **counts)
    with Oracle(parts, slack) as oracle:
        wanted, wanted_late = oracle.windows(windows, key, own)
    assert differing(found, wanted) == ([], [])
    assert sorted(late) == sorted(wanted_late)


windowed = given(
    parts=streams(),
    windows=sliding(),
    slack=st.sampled_from([0, 2, 10, 1000]),
    key=keys,
    aggregates=picked,
    deploy=deployments(),
    replicas=st.integers(1, 3),
    sources=st.integers(1, 2),
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@windowed
def test_tumbling_and_sliding_windows_agree_with_duckdb(
    parts, windows, slack, key, aggregates, deploy, replicas, sources
):
    check_windows(parts, windows, slack, key, aggregates, deploy, replicas=replicas, sources=sources)


@pytest.mark.slow
@settings(max_examples=1500, suppress_health_check=[HealthCheck.too_slow])
@windowed
def test_many_tumbling_and_sliding_windows_agree_with_duckdb(
    parts, windows, slack, key, aggregates, deploy, replicas, sources
):
    check_windows(parts, windows, slack, key, aggregates, deploy, replicas=replicas, sources=sources)


class Same(Actor):
    def on_event(self, row: Trade) -> Trade:
        return row


class Anew(Actor):
    def on_event(self, row: Trade) -> Iterator[Trade]:
        yield msgspec.structs.replace(row)


class Emitted(Actor):
    def on_event(self, row: Trade) -> Trade | None:
        return self.emit(msgspec.structs.replace(row))


class Awaited(Actor):
    async def on_event(self, row: Trade) -> Trade:
        return msgspec.structs.replace(row)


class Taken(Actor):
    def on_batch(self, batch: Batch) -> Batch:
        return batch.take(np.arange(batch.rows)[::-1])


class Copied(Actor):
    outputs: ClassVar[dict[str, Any]] = {"default": Trade}

    def on_batch(self, batch: Batch) -> Batch:
        return Batch.of(
            {name: batch.column(name) for name in Trade.__struct_fields__}, event=Trade, origin=batch
        )


PASSED = [Same, Anew, Emitted, Awaited, Taken, Copied]


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(parts=streams(), windows=sliding(), slack=st.sampled_from([0, 2, 10]), key=keys, deploy=deployments(),
       replicas=st.integers(1, 3), before=st.lists(st.sampled_from(PASSED), min_size=1, max_size=2))  # fmt: skip
def test_rows_that_actors_have_made_are_late_where_those_they_come_from_are(
    parts, windows, slack, key, deploy, replicas, before
):
    check_windows(
        parts, windows, slack, key, ["count()"], deploy, replicas=replicas, sources=2, before=before
    )


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(parts=streams(), gap=st.integers(1, 12), key=keys, aggregates=picked, deploy=deployments(),
       replicas=st.integers(1, 2))  # fmt: skip
def test_sessions_agree_with_duckdb(parts, gap, key, aggregates, deploy, replicas):
    own = of(aggregates, parts)
    window = {"type": "session", "gap": gap}
    found, late = aggregated(parts, key, own, 1000, deploy, window=window, replicas=replicas)
    with Oracle(parts, 1000) as oracle:
        assert differing(found, oracle.sessions(gap, key, own)) == ([], [])
    assert late == []


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(parts=streams(), gap=st.integers(1, 12), lateness=st.sampled_from([0, 3, 15]), slack=st.sampled_from([0, 2, 10]),
       key=keys, deploy=deployments(), replicas=st.integers(1, 2))  # fmt: skip
def test_what_sessions_take_and_what_is_late_for_them_goes_by_the_data_alone(
    parts, gap, lateness, slack, key, deploy, replicas
):
    window = {"type": "session", "gap": gap, "allowed_lateness": lateness}
    found, late = aggregated(
        parts, key, ["count()", "count(amount)"], slack, deploy, window=window, replicas=replicas, sources=2
    )
    sessions, wanted_late = taken_by_sessions(parts, slack, gap, lateness, key)
    wanted = [
        (start, end, *own, len(rows), sum(row.amount is not None for row in rows))
        for start, end, own, rows in sessions
    ]
    assert differing(found, wanted) == ([], [])
    assert sorted(late) == sorted(wanted_late)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(parts=streams(partitions=1), size=st.integers(1, 9), key=keys, aggregates=picked, deploy=deployments())
def test_windows_of_so_many_rows_agree_with_duckdb(parts, size, key, aggregates, deploy):
    found, late = aggregated(parts, key, aggregates, 0, deploy, window={"type": "count", "size": size})
    with Oracle(parts, 0) as oracle:
        assert differing(found, oracle.counted(size, key, aggregates)) == ([], [])
    assert late == []


@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(parts=streams(), key=keys, aggregates=picked, deploy=deployments(), replicas=st.integers(1, 2))
def test_the_whole_stream_agrees_with_duckdb(parts, key, aggregates, deploy, replicas):
    own = of(aggregates, parts)
    found, _ = aggregated(parts, key, own, 0, deploy, replicas=replicas)
    with Oracle(parts, 0) as oracle:
        assert differing(found, oracle.whole(key, own)) == ([], [])


@pytest.mark.parametrize("two_steps", [True, False])
@pytest.mark.parametrize("window", [Sliding(30, 30, 4, 5), Sliding(24, 7, 3, 0)], ids=["tumbling", "sliding"])
def test_processes_agree_with_duckdb(window, two_steps):
    dice = random.Random(7)
    parts = {}
    for part in range(3):
        rows = [
            Trade(
                at // 2 + dice.randint(0, 25), dice.choice([None, 1, 2, 3]), dice.choice([None, "a", "bb"]),
                dice.choice(DAYS), dice.choice([None, 1, 2, -9]), dice.choice([None, float("nan"), 0.5, -2.25]),
                dice.choice([None, "x", "y"]), 400 * part + at,
            )
            for at in range(400)
        ]  # fmt: skip
        parts[str(part)] = rows
    deploy = {"transport": "shm", "workers": 2, "batch_size": 13, "pre_aggregation": two_steps}
    check_windows(parts, window, 10, ["shop", "item"], NO_TIES, deploy, replicas=2, sources=2)
