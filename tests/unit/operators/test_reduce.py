"""reduce brings all rows to one value, whatever the batches, and keeps it over a checkpoint."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, Schema, Topology
from actorstream.errors import ConfigurationError
from actorstream.operators.reduce import Aggregates, Reduce
from actorstream.placement.rlas.dataflow import dataflow_of
from tests.unit.operators.trades import DEPLOYMENTS, ROWS, Trade, fields, problems, through

ALL = {
    "n": "count()", "noted": "count(note)", "total": "sum(price * quantity)", "whole": "sum(quantity)", "least": "min(price)",
    "most": "max(note)", "mean": "mean(quantity)", "first": "first(note)", "last": "last(kind)",
    "kinds": "count_distinct(kind)", "median": "quantile(price, 0.5)",
}  # fmt: skip


class Priced(Event):
    price: float


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_aggregates_of_all_rows_are_what_python_computes(deploy: dict[str, Any]) -> None:
    notes = [row.note for row in ROWS if row.note is not None]
    total = math.fsum(row.price * row.quantity for row in ROWS)
    quantities = [row.quantity for row in ROWS]
    expected = (
        len(ROWS), len(notes), total, sum(quantities), 0.0, max(notes), sum(quantities) / len(ROWS), notes[0],
        ROWS[-1].kind, 2, (ROWS[749].price + ROWS[750].price) / 2,
    )  # fmt: skip
    assert fields(through("reduce", deploy=deploy, aggregate=ALL)) == [expected]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_a_python_function_folds_events_in_order(deploy: dict[str, Any]) -> None:
    def dearer(a: Trade, b: Trade) -> Trade:
        return Trade(b.at, a.price + b.price, a.quantity * 3 % 101 + b.quantity, b.kind)

    value = ROWS[0]
    for row in ROWS[1:]:
        value = dearer(value, row)
    assert through(Reduce, deploy=deploy, function=dearer) == [value]


@pytest.mark.parametrize("deploy", DEPLOYMENTS)
def test_running_gives_the_value_after_each_row(deploy: dict[str, Any]) -> None:
    keys = {"n": "count()", "whole": "sum(quantity)", "most": "max(price)", "note": "last(note)"}
    found = fields(through(Reduce, deploy=deploy, aggregate=keys, running=True))
    expected, whole, note = [], 0, None
    for number, row in enumerate(ROWS):
        whole, note = whole + row.quantity, row.note or note
        expected.append((number + 1, whole, row.price, note))
    assert found == expected


def started(aggregate: Any, schema: Any, snapshot: Any = None, running: bool = False) -> Aggregates:
    found = Aggregates({"aggregate": aggregate, "running": running}, schema)
    if snapshot is not None:
        found.restore(msgspec.msgpack.decode(msgspec.msgpack.encode(snapshot)))
    return found


def result(reduction: Aggregates) -> tuple[Any, ...]:
    made = reduction.result(True)
    assert made is not None
    return fields(made.events())[0]  # type: ignore[no-any-return]


def test_sums_are_exact_or_say_that_they_do_not_fit() -> None:
    batch = Batch.of_events(Trade, [Trade(0, 0.0, each, "buy") for each in (2**62, 2**62, -(2**62))])
    reduction = started("sum(quantity)", batch.schema)
    reduction.add(batch.slice(0, 2), False)
    with pytest.raises(Exception, match="does not fit int64"):
        reduction.result(True)
    reduction.add(batch.slice(2, 1), False)
    assert result(reduction) == (2**62,)


def test_the_sum_of_floats_is_exact_whatever_the_order_and_the_batches() -> None:
    values = (1e16, 1.0, -1e16, 0.1, 0.2) * 50
    for ordered in (values, values[::-1], tuple(sorted(values))):
        rows = Batch.of_events(Trade, [Trade(0, value, 0, "buy") for value in ordered])
        for size in (1, 3, 64, 250):
            reduction = started("sum(price)", rows.schema)
            for first in range(0, 250, size):
                reduction.add(rows.slice(first, min(size, 250 - first)), False)
            assert result(reduction) == (math.fsum(values),)


def test_the_state_comes_back_from_a_snapshot() -> None:
    batch = Batch.of_events(Trade, ROWS)
    for text in (*ALL.values(), ALL):
        whole, half = started(text, batch.schema), started(text, batch.schema)
        whole.add(batch, False)
        half.add(batch.slice(0, 700), False)
        other = started(text, batch.schema, half.snapshot())
        other.add(batch.slice(700, 800), False)
        assert result(other) == result(whole), text


NUMBERS = st.one_of(
    st.none(), st.floats(width=32), st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1e308])
)
RUN = (
    "count()",
    "count(x)",
    "sum(x)",
    "min(x)",
    "max(x)",
    "mean(x)",
    "first(x)",
    "last(x)",
    "sum(n)",
    "min(n)",
)


class Maybe(Event):
    x: float | None
    n: int | None


@settings(max_examples=60, deadline=None)
@given(st.lists(NUMBERS, min_size=1, max_size=30), st.integers(0, 30))
def test_the_value_of_all_rows_is_the_one_after_the_last_row(values: list[float | None], cut: int) -> None:
    rows = [
        Maybe(each, None if each is None or each != each else int(max(min(each, 9), -9))) for each in values
    ]
    batch = Batch.of_events(Maybe, rows)
    cut = min(cut, batch.rows - 1)
    for text in RUN:
        end, running = started(text, batch.schema), started(text, batch.schema, running=True)
        for part in (batch.slice(0, cut), batch.slice(cut, batch.rows - cut)):
            end.add(part, False)
            made = running.add(part, True)
        assert made is not None
        (found,), (wanted,) = result(end), fields(made.events())[-1]
        zeros = (
            found == wanted == 0
        )  # 0.0 is above -0.0 at the end, while of two equal values the later one is told before
        assert zeros or repr(found) == repr(wanted), text


@pytest.mark.parametrize("value", [2**62, -(2**62)])
def test_a_running_mean_goes_on_from_a_snapshot_also_when_its_sum_has_left_int64(value: int) -> None:
    rows = Batch.of_events(Trade, [Trade(0, 0.0, value, "buy")] * 20)
    half = started("mean(quantity)", rows.schema, running=True)
    half.add(rows, True)
    other = started("mean(quantity)", rows.schema, half.snapshot(), running=True)
    other.add(rows, True)
    assert result(other) == (float(value),)


def test_a_running_mean_goes_on_from_a_snapshot_that_keeps_its_sum_as_a_number() -> None:
    rows = Batch.of_events(Trade, [Trade(0, 0.0, 5, "buy")])
    reduction = started("mean(quantity)", rows.schema, [2, None, [[7, 2]]], running=True)
    reduction.add(rows, True)
    assert result(reduction) == (4.0,)


class Pair(Event):
    a: int
    b: int | None


class Surroundings:
    """What a `Reduce` that is called by hand asks of its surroundings; `dead`: the rows that had no value."""

    def __init__(self) -> None:
        self.inputs = {"rows": Schema.of(Pair)}
        self.dead: list[Any] = []

    def failed(self, what: Any, error: Exception) -> None:
        assert "does not fit int64" in str(error)
        self.dead.append(what)


LARGE = st.sampled_from([2**62, -(2**62), 2**63 - 1, -(2**63), -1, 5])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(LARGE, st.none() | LARGE), max_size=15), st.integers(1, 15))
@example([(2**62, None), (2**62, 1), (-1, 2), (5, 3)], 4)
def test_a_row_whose_running_sum_does_not_fit_counts_in_no_aggregate_whatever_the_batches(
    values: list[tuple[int, int | None]], size: int
) -> None:
    expected, dead, a, b = [], [], 0, None
    for left, right in values:
        sums = a + left, (b or 0) + (right or 0)
        if not all(-(2**63) <= each < 2**63 for each in sums):
            dead.append((left, right))
            continue
        a, b = sums[0], b if right is None else sums[1]
        expected.append((a, len(expected) + 1, b, left))
    keys = {"a": "sum(a)", "n": "count()", "b": "sum(b)", "last": "last(a)"}
    surroundings = Surroundings()
    reduce = Reduce(keys, running=True)
    reduce._bind(surroundings)  # type: ignore[arg-type]
    reduce.on_start()
    found = []
    for first in range(0, len(values), size):
        batch = Batch.of_events(Pair, [Pair(*each) for each in values[first : first + size]])
        made = reduce.on_batch(batch)
        assert made is not None
        found += fields(made.events())
    assert found == expected
    assert fields(surroundings.dead) == dead


def test_without_rows_only_counts_and_sums_have_a_value() -> None:
    nothing = {"where": "price < 0"}

    def reduced(aggregate: Any) -> list[Any]:
        topology = Topology("test")
        found = (
            topology.source(ROWS[:5])
            .through("filter", **nothing)
            .through(Reduce, aggregate=aggregate)
            .collect()
        )
        topology.run()
        return fields(list(found))

    assert reduced({"n": "count()", "s": "sum(quantity)"}) == [(0, 0)]
    assert reduced({"n": "count()", "m": "max(price)"}) == []


def test_the_number_of_replicas_and_of_workers_changes_no_result() -> None:
    counted = {"n": "count()", "first": "first(price)"}
    assert fields(through("reduce", aggregate=counted, replicas=3)) == [(len(ROWS), 0.0)]
    assert fields(through("reduce", aggregate={"n": "count()"}, replicas=2)) == [(len(ROWS),)]
    topology = Topology("test")
    rows = topology.source(ROWS[:3], name="rows")
    rows.through("reduce", name="all", aggregate="count()", replicas="auto").collect()
    graph = topology.graph(workers=3)
    assert graph.actors["all"].replicas == 1
    written = dataflow_of(graph, scale=True).operator_of()["all"]
    assert not dataflow_of(graph, scale=True).operators[written].scalable


def test_rows_are_spread_over_replicas_only_by_a_written_key() -> None:
    def counted(**route: str) -> list[Any]:
        topology = Topology("test")
        topology.source(ROWS, name="rows")
        given = [{"from": "rows", **route}]
        found = topology.actor("n", "reduce", given, aggregate="count()", replicas=2).collect()
        topology.run()
        return list(found)

    with pytest.raises(ConfigurationError, match="'shuffle' would spread rows that belong together"):
        counted(route="shuffle")
    assert sum(row.count for row in counted(route="key", key="kind")) == len(ROWS)


@pytest.mark.parametrize(
    ("keys", "where", "message"),
    [
        ({}, "aggregate", "is missing"),
        ({"aggregate": "sum(note)"}, "aggregate", "sum of string?"),
        ({"aggregate": "summ(price)"}, "aggregate", "there is no aggregate 'summ'"),
        ({"aggregate": {"a": "sum(prise)"}}, "aggregate.a", "there is no field 'prise'"),
        ({"aggregate": "quantile(price, 2)"}, "aggregate", "quantile at 2"),
        (
            {"aggregate": "count()", "returns": {"n": "int"}},
            "returns",
            "is given with `aggregate`, which does not use it",
        ),
        ({"aggregate": "quantile(price, 0.5)", "running": True}, "running", "of quantile"),
    ],
)
def test_what_is_wrong_is_said_before_the_run(keys: dict[str, Any], where: str, message: str) -> None:
    assert problems("reduce", **keys) == [(where, message)]


@pytest.mark.parametrize(
    ("prices", "q", "wanted"),
    [
        ([1.0, math.inf, 2.0], 0.0, 1.0),
        ([1.0, math.inf, 2.0], 0.5, 2.0),
        ([1.0, math.inf, 2.0], 0.75, math.inf),
        ([math.inf, math.inf], 0.3, math.inf),
        ([math.nan, 1.0, 2.0, 3.0], 1 / 3, 2.0),
        ([math.nan, 1.0], 0.5, math.nan),
        ([-math.inf, math.inf], 0.5, math.nan),
        ([-1.5e308, 1.5e308], 0.5, 0.0),
    ],
)
def test_a_quantile_beside_infinities_and_nan_is_that_of_aggregate(prices, q, wanted):
    topology = Topology()
    rows = topology.source([Priced(price) for price in prices])
    call = {"found": f"quantile(price, {q!r})"}
    reduced = rows.through("reduce", aggregate=call).collect()
    aggregated = rows.through("aggregate", aggregates=call).collect()
    topology.run()
    assert [repr(reduced[0].found), repr(aggregated[0].found)] == [repr(wanted)] * 2
