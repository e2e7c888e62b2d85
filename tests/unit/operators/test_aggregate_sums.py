"""Sums and means of floats are exact and rounded once: no order, grouping, window, replica or checkpoint shows in them."""

from __future__ import annotations

import math
import random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, Schema, Topology
from actorstream.operators.aggregate import Aggregate
from actorstream.operators.reduce import Reduce
from tests.native.exact_model import apart, exact_sum, floats
from tests.unit.operators.timed import values

SUMS = {"sum": "sum(value)", "mean": "mean(value)", "some": "sum(half)"}


class Measured(Event):
    __event_time__ = "at"
    at: int
    key: int
    value: float
    half: float | None


rows = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2), floats | apart), min_size=1, max_size=60)


def measured(rows: list[tuple[int, int, float]]) -> list[Measured]:
    return [Measured(*row, row[2] if row[0] % 2 else None) for row in rows]


def said(rows: list[Measured]) -> tuple[Any, ...]:
    """What aggregates say of them."""
    total, halves = exact_sum(row.value for row in rows), [row.half for row in rows if row.half is not None]
    return total, total / len(rows), exact_sum(halves) if halves else None


def by(rows: list[Measured], places: Any) -> dict[Any, tuple[Any, ...]]:
    """The same by what `places` says of each row: any number of keys."""
    found: dict[Any, list[Measured]] = {}
    for row in rows:
        for place in places(row):
            found.setdefault(place, []).append(row)
    return {place: said(own) for place, own in found.items()}


def aggregated(rows: list[Measured], partitions: int, deploy: dict[str, Any], **keys: Any) -> list[Any]:
    parts: dict[str, list[Measured]] = {str(number): [] for number in range(partitions)}
    for number, row in enumerate(rows):
        parts[str(number % partitions)].append(row)
    topology = Topology()
    source = topology.source(parts, event=Measured, replicas=partitions, max_out_of_orderness="100ms")
    out = source.through("aggregate", key="key", aggregates=SUMS, replicas=partitions, **keys).collect()
    topology.run(**deploy)
    return [values(each) for each in out]


@settings(max_examples=20, deadline=None)
@given(
    rows, st.randoms(use_true_random=False), st.integers(1, 3), st.sampled_from([1, 5, 1000]), st.booleans()
)
def test_a_window_has_the_exact_sums_of_its_rows_in_any_order_and_deployment(
    rows, dice, partitions, batch_size, two_steps
):
    given = measured(dice.sample(rows, len(rows)))
    deploy = {"batch_size": batch_size, "pre_aggregation": two_steps, "transport": "local"}
    tumbling = {"window": {"type": "tumbling", "size": 10}}
    found = aggregated(given, partitions, deploy, **tumbling)
    assert {row[:1] + row[2:3]: row[3:] for row in found} == by(
        given, lambda row: [(row.at // 10 * 10, row.key)]
    )
    sliding = {"window": {"type": "sliding", "size": 10, "slide": 5}}
    found = aggregated(given, partitions, deploy, **sliding)
    starts = lambda row: [(start, row.key) for start in (row.at // 5 * 5 - 5, row.at // 5 * 5)]  # noqa: E731
    assert {row[:1] + row[2:3]: row[3:] for row in found} == by(given, starts)
    found = aggregated(given, partitions, deploy, **tumbling, emit="updates")
    assert {row[:1] + row[2:3]: row[3:] for row in found} == by(
        given, lambda row: [(row.at // 10 * 10, row.key)]
    )
    whole = by(given, lambda row: [(row.key,)])
    assert {row[:1]: row[1:] for row in aggregated(given, partitions, deploy)} == whole
    for window in ({"type": "session", "gap": 100}, {"type": "count", "size": 1000}):
        found = aggregated(given, partitions, deploy, window=window)
        assert {row[2:3]: row[3:] for row in found} == whole


@pytest.mark.parametrize("workers", [1, 2])
def test_sums_that_two_floats_do_not_hold_go_from_process_to_process(workers):
    dice = random.Random(workers)
    given = measured(
        [(at // 8, at % 3, math.ldexp(dice.random(), dice.randint(-900, 900))) for at in range(900)]
    )
    for two_steps in (True, False):
        deploy = {"transport": "shm", "workers": workers, "pre_aggregation": two_steps, "batch_size": 50}
        found = aggregated(given, 2, deploy, window={"type": "sliding", "size": 40, "slide": 20})
        starts = lambda row: [(start, row.key) for start in (row.at // 20 * 20 - 20, row.at // 20 * 20)]  # noqa: E731
        assert {row[:1] + row[2:3]: row[3:] for row in found} == by(given, starts)


@pytest.mark.parametrize(
    ("some", "wanted"),
    [
        ([math.inf, 1.0, 1e34, 1e-30], math.inf),
        ([1e34, 1e17, 1.0, -math.inf], -math.inf),
        ([math.inf, 2.0, -math.inf], math.nan),
        ([1.0, math.nan, math.inf], math.nan),
    ],
)
def test_infinities_and_nan_are_added_as_ieee_754_says(some, wanted):
    for at in range(len(some)):
        turned = measured([(time, 0, value) for time, value in enumerate(some[at:] + some[:at])])
        (row,) = aggregated(turned, 2, {"transport": "local"}, window={"type": "tumbling", "size": 10})
        assert [repr(value) for value in row[3:5]] == [repr(wanted)] * 2


class Alone:
    """What an actor outside a topology sees of it."""

    inputs = {"rows": Schema.of(Measured)}  # noqa: RUF012
    replica = 0

    def count_late(self, rows: int) -> None:
        raise AssertionError("no row is late")


def started(made: Any, snapshot: Any) -> Any:
    made._bind(Alone())
    if snapshot is not None:
        made.restore(snapshot)
    made.on_start()
    return made


WINDOWS: list[dict[str, Any]] = [
    {"window": {"type": "tumbling", "size": 100}},
    {"window": {"type": "sliding", "size": 100, "slide": 50}},
    {"window": {"type": "tumbling", "size": 100}, "emit": "updates"},
    {"window": {"type": "session", "gap": 100}},
    {"window": {"type": "count", "size": 1000}},
    {},
]


@pytest.mark.parametrize("keys", WINDOWS)
@settings(max_examples=15, deadline=None)
@given(rows=rows, cuts=st.lists(st.integers(0, 60), max_size=4))
def test_a_checkpoint_keeps_sums_exactly(keys, rows, cuts):
    given, snapshot = measured(rows), None
    ends = sorted({*(min(cut, len(given)) for cut in cuts), len(given)})
    for first, end in zip([0, *ends], ends):
        actor = started(Aggregate(aggregates=SUMS, key="key", **keys), snapshot)
        if end > first:
            actor.on_batch(Batch.of_events(Measured, given[first:end]))
        snapshot = msgspec.msgpack.decode(msgspec.msgpack.encode(actor.snapshot()))
    whole = by(given, lambda row: [row.key])
    found = [values(row) for batch in actor.on_end() for row in batch.events()]
    assert found and all(row[-3:] == whole[row[-4]] for row in found)


@settings(max_examples=60, deadline=None)
@given(rows, st.lists(st.integers(0, 60), max_size=4), st.booleans())
def test_reduce_has_exact_sums_over_batches_and_checkpoints(rows, cuts, running):
    given, snapshot = measured(rows), None
    ends = sorted({*(min(cut, len(given)) for cut in cuts), len(given)})
    found: list[Any] = []
    for first, end in zip([0, *ends], ends):
        actor = started(Reduce(aggregate=SUMS, running=running), snapshot)
        if end > first:
            made = actor.on_batch(Batch.of_events(Measured, given[first:end]))
            found += [] if made is None else map(values, made.events())
        snapshot = msgspec.msgpack.decode(msgspec.msgpack.encode(actor.snapshot()))
    made = actor.on_end()
    found += [] if made is None else map(values, made.events())
    assert found == [said(given[: at + 1]) for at in range(len(given))] if running else found == [said(given)]


class Whole(Event):
    number: int


@pytest.mark.parametrize("total", [2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 3, 2**64 + 5])
def test_a_mean_of_integers_is_their_exact_sum_by_their_number_rounded_once(total):
    parts = [total // 3, total // 3, total - 2 * (total // 3)]
    topology = Topology()
    rows = topology.source([Whole(part) for part in parts])
    mean = {"mean": "mean(number)"}
    aggregated, reduced = (
        rows.through("aggregate", aggregates=mean).collect(),
        rows.through("reduce", aggregate=mean).collect(),
    )
    running = rows.through("reduce", name="running", aggregate=mean, running=True).collect()
    topology.run()
    assert [aggregated[0].mean, reduced[0].mean, running[-1].mean] == [total / 3] * 3
