"""top gives what sorting all rows of a window gives, whatever order they come in and however they are batched."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, Schema, Topology
from actorstream.errors import ConfigurationError
from actorstream.operators import top as top_module
from actorstream.operators.top import Top
from tests.unit.operators.timed import Left, Windows, assigned, values

Parts = dict[str, list[Any]]


class Bid(Event):
    __event_time__ = "ts"
    ts: int
    price: float | None
    item: str
    bidder: int


BY: dict[str, Any] = {
    "price": lambda bid: (bid.price is None, -(bid.price or 0)),
    "price asc": lambda bid: (bid.price is None, bid.price or 0),
    "-price": lambda bid: (bid.price is None, bid.price or 0),
    "bidder * 2 - ts": lambda bid: -(bid.bidder * 2 - bid.ts),
    "bidder Desc": lambda bid: -bid.bidder,
    "-item": lambda bid: bid.item,
}
"""An entry of `by` -> what sorts as it does."""
FIELD = {"price": "price", "price asc": "price", "-price": "price", "bidder Desc": "bidder", "-item": "item"}


def rest_of(bid: Bid, by: list[str]) -> tuple[Any, ...]:
    named = {FIELD.get(each) for each in by}
    rest = [getattr(bid, name) for name in Bid.__struct_fields__ if name not in named]
    return tuple((value is None, 0 if value is None else value) for value in rest)


def best(rows: list[Bid], n: int, by: list[str], key: str | None) -> list[Bid]:
    ranked = sorted(rows, key=lambda bid: (*(BY[each](bid) for each in by), rest_of(bid, by)))
    groups: dict[Any, list[Bid]] = {}
    for bid in ranked:
        groups.setdefault(getattr(bid, key) if key else None, []).append(bid)
    return [bid for group in sorted(groups) for bid in groups[group][:n]] if key else ranked[:n]


def expected(
    parts: Parts, windows: Windows, slack: int, n: int, by: list[str], key: str | None = None
) -> tuple[list, list]:
    found, late = assigned(parts, windows, slack)
    rows = [
        (start, start + windows.size, *values(bid))
        for start in sorted(found)
        for bid in best(found[start], n, by, key)
    ]
    return rows, late


def topped(
    parts: Any, windows: Windows | None, slack: int = 0, *, sources: int = 1, deploy: Any = None, **keys: Any
) -> tuple[list, list]:
    topology = Topology()
    order = timedelta(milliseconds=slack)
    bids = topology.source(parts, name="bids", event=Bid, replicas=sources, max_out_of_orderness=order)
    if windows is not None:
        keys["window"] = windows.table()
    made = bids.through("top", name="top", **keys)
    out, late = made.collect(), made.late.collect()
    topology.run(**(deploy or {}))
    return [values(each) for each in out], list(late)


def ordered(rows: list) -> list:
    return sorted(rows, key=repr)


bids = st.lists(
    st.tuples(
        st.integers(0, 60),
        st.none() | st.sampled_from([0.5, 1.5, 2.0]),
        st.sampled_from(["a", "bb", "é"]),
        st.integers(0, 2),
    ),
    max_size=60,
)


@settings(max_examples=80, deadline=None)
@given(
    rows=bids,
    windows=st.sampled_from([Windows(10, 10), Windows(7, 7, 3, 2), Windows(10, 5), Windows(9, 4, 1, 5)]),
    slack=st.sampled_from([0, 3, 100]),
    n=st.sampled_from([1, 2, 5, 100]),
    by=st.lists(st.sampled_from(sorted(BY)), min_size=1, max_size=2, unique=True),
    key=st.sampled_from([None, "item"]),
    batch_size=st.sampled_from([1, 3, 1000]),
    limit=st.sampled_from([4, 1 << 15]),
)
def test_random_rows_agree_with_sorting_under_any_batching(
    rows, windows, slack, n, by, key, batch_size, limit
):
    parts = {"0": [Bid(*each) for each in rows]}
    keys = {"key": key} if key else {}
    usual, top_module.REDUCE_ROWS = top_module.REDUCE_ROWS, limit
    try:
        found = topped(parts, windows, slack, n=n, by=by, deploy={"batch_size": batch_size}, **keys)
    finally:
        top_module.REDUCE_ROWS = usual
    assert found == expected(parts, windows, slack, n, by, key)


@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("local", 3), ("shm", 2), ("shm", 4)])
@pytest.mark.parametrize("key", [None, "item"])
def test_partitions_replicas_and_transports_change_nothing(transport, workers, key):
    parts = {
        str(part): [
            Bid(t + part * t % 4, t % 5 + 0.5, ["a", "bb", "c"][t % 3], 100 * part + t) for t in range(80)
        ]
        for part in range(3)
    }
    windows = Windows(20, 10, 0, 2)
    keys = {"key": key, "replicas": workers} if key else {"replicas": workers}
    deploy = {"transport": transport, "workers": workers, "batch_size": 7}
    rows, late = topped(parts, windows, 2, sources=2, n=4, by="price", deploy=deploy, **keys)
    wanted, wanted_late = expected(parts, windows, 2, 4, ["price"], key)
    assert ordered(rows) == ordered(wanted)
    assert ordered(late) == ordered(wanted_late)
    if key is None:
        assert rows == wanted


def test_without_a_window_the_whole_stream_is_one_and_ends_with_the_input():
    rows = [Bid(t, float(t * 7 % 13), "x", t) for t in range(50)]
    found, _ = topped(rows, None, n=3, by="price", deploy={"batch_size": 4})
    assert found == [values(bid) for bid in best(rows, 3, ["price"], None)]


def test_rows_without_event_time_have_a_top_of_the_whole_stream():
    stream = Batch.of({"score": np.array([3, 9, 4, 9, 1])})
    topology = Topology()
    out = topology.source([stream]).through(Top, n=2, by="score").collect()
    topology.run()
    assert [each.score for each in out] == [9, 9]


def test_the_top_of_windows_has_their_bounds_once_and_their_end_as_its_time():
    rows = [Bid(t, float(t % 10), "x", t) for t in range(100)]
    topology = Topology()
    stream = topology.source(rows).through(Top, n=3, by="price", window=Windows(10, 10).table())
    out = stream.through(Top, n=2, by="-bidder", window=Windows(50, 50).table(), name="second").collect()
    topology.run(batch_size=7)
    assert [(each.window_start, each.window_end, each.bidder) for each in out] == [
        (0, 50, 7), (0, 50, 8), (50, 100, 57), (50, 100, 58)
    ]  # fmt: skip
    assert out[0].__struct_fields__ == ("window_start", "window_end", "ts", "price", "item", "bidder")


class Context:
    """What the operator asks of its surroundings, for calling its hooks by hand."""

    input = "bids"

    def __init__(self) -> None:
        self.inputs = {"bids": Schema.of(Left)}
        self.late = 0

    def count_late(self, rows: int) -> None:
        self.late += rows


def started(context: Any, snapshot: Any = None, **keys: Any) -> Top:
    made = Top(**{"n": 2, "by": ["key", "row % 7"], **keys})
    made._bind(context)
    if snapshot is not None:
        made.restore(snapshot)
    made.on_start()
    return made


def left_rows(part: range) -> Batch:
    return Batch.of_events(Left, [Left(t, t * 5 % 11 if t % 4 else None, "ab"[t % 2], t) for t in part])


def test_state_grows_with_n_and_not_with_the_rows_of_a_window():
    window = {"type": "tumbling", "size": 10**9}
    small = started(Context(), window=window)
    sizes = []
    for start in range(0, 400_000, 4000):
        numbers = np.arange(start, start + 4000)
        columns = {"ts": numbers, "key": numbers % 1000, "text": ["x"] * 4000, "row": numbers}
        small.on_batch(Batch.of_columns(Left, columns))
        sizes.append(small.state_bytes)
    assert max(sizes[60:]) <= max(sizes[:40])
    (made,) = small.on_end()
    assert made["key"].to_pylist() == [999, 999]


def test_closed_windows_leave_no_state_behind():
    made = started(Context(), window={"type": "sliding", "size": 20, "slide": 10})
    for start in range(0, 2000, 100):
        made.on_batch(left_rows(range(start, start + 100)))
        made.on_heartbeat(start + 100)
        assert 0 < made.state_bytes < 3000


def test_a_restored_top_goes_on_where_the_snapshot_was_taken():
    def feed(made: Top, part: range) -> list:
        fired = []
        for t in part:
            made.on_batch(left_rows(range(t, t + 1)))
            for batch in made.on_heartbeat(t) or ():
                fired.extend(values(each) for each in batch.events())
        return fired

    keys = {"window": {"type": "sliding", "size": 9, "slide": 3, "allowed_lateness": 2}, "key": "text"}
    whole = feed(started(Context(), **keys), range(60))
    made = started(Context(), **keys)
    first = feed(made, range(31))
    again = started(Context(), made.snapshot(), **keys)
    assert first + feed(again, range(31, 60)) == whole and len(whole) > 20


def test_a_restored_top_of_the_whole_stream_keeps_event_times_that_are_in_no_field():
    class Score(Event):
        score: int

    context = Context()
    context.inputs = {"bids": Schema.of(Score)}
    made = started(context, by="score")
    made.on_batch(Batch.of_columns(Score, {"score": [3, 9, 4]}).with_system(_time=[10, 20, 30]))
    again = started(context, made.snapshot(), by="score")
    assert [batch.event_times().tolist() for batch in again.on_end() or ()] == [[20, 30]]


# -- bad input


def problems(**keys: Any) -> list[str]:
    topology = Topology()
    topology.source([Bid(1, 1.0, "a", 1)], name="bids").through("top", name="top", **keys).collect()
    with pytest.raises(ConfigurationError) as raised:
        topology.graph()
    return [f"{each.where}: {each.message.splitlines()[0]}" for each in raised.value.problems]


def test_what_is_wrong_with_a_top_is_said_before_the_run():
    assert problems(n=0, by="price") == ["actors.top.n: is 0"]
    assert problems(n=1, by="prise") == ["actors.top.by: there is no field 'prise'"]
    assert problems(n=1, by=[]) == ["actors.top.by: names nothing"]
    assert problems(n=1, by="price", key="itme") == ["actors.top.key: Bid has no field 'itme'"]
    assert problems(n=1, by="price", window={"type": "count", "size": 3}) == [
        "actors.top.window.type: is 'count'"
    ]
    assert problems(n=1, by="price", allowed_lateness="1s") == [
        "actors.top.allowed_lateness: is given without a `window`"
    ]
    assert problems(by="price") == ["actors.top.n: is missing"]


def test_a_window_needs_event_time():
    topology = Topology()
    stream = topology.source([Batch.of({"score": np.arange(3)})], name="plain")
    stream.through("top", n=1, by="score", window={"type": "tumbling", "size": "1s"}).collect()
    with pytest.raises(ConfigurationError, match="'plain' have no event time, which 'top' needs"):
        topology.graph()


def test_a_row_whose_value_overflows_is_told_to_on_error():
    rows = [Bid(1, 1.0, "a", 2**62), Bid(2, 2.0, "b", 3)]
    topology = Topology()
    made = topology.source(rows).through(Top, n=5, by="bidder * 4", on_error="dead-letter")
    out, dead = made.collect(), made.dead.collect()
    topology.run()
    assert [each.bidder for each in out] == [3]
    assert len(dead) == 1 and str(2**62) in dead[0].event


@pytest.mark.parametrize("by", ["price", "price asc"])
def test_nan_comes_after_all_numbers_and_null_after_nan(by: str) -> None:
    class Offer(Event):
        number: int
        price: float | None

    prices = [math.nan, None, math.inf, -math.inf, 1.0, math.nan, None]
    topology = Topology("test")
    source = topology.source([Offer(number, price) for number, price in enumerate(prices)])
    found = source.through("top", n=7, by=by).collect()
    topology.run()
    assert [row.number for row in found] == [*([3, 4, 2] if "asc" in by else [2, 4, 3]), 0, 5, 1, 6]
