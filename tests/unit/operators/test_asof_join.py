"""asof-join gives what a search through all right rows gives, and DuckDB, under any order of arrival and batching."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, EventTime, Schema, Topology
from actorstream.errors import ConfigurationError
from actorstream.operators import asof_join
from actorstream.operators.asof_join import AsofJoin
from tests.unit.operators.timed import Left, Right, arrow_of, values, watermarks

DIRECTIONS = ["backward", "forward", "nearest"]
Parts = dict[str, list[Any]]


def in_time(parts: Parts, slack: int) -> tuple[list, list]:
    """Rows that are not behind, in the order of their time (of arrival where it is the same), and those that are."""
    marked = [pair for rows in parts.values() for pair in watermarks(rows, slack)]
    kept = [row for row, watermark in marked if watermark < 0]
    return sorted(kept, key=lambda row: row.ts), [row for row, watermark in marked if watermark >= 0]


def as_of(
    row: Left, rights: list[Right], by: list[str], direction: str, tolerance: int | None
) -> Right | None:
    key = tuple(getattr(row, name) for name in by)
    same = [] if None in key else [r for r in rights if tuple(getattr(r, name) for name in by) == key]
    before = next((r for r in reversed(same) if r.ts <= row.ts), None)
    after = next((r for r in same if r.ts >= row.ts), None)
    if direction == "backward" or (direction == "nearest" and after is None):
        found = before
    elif direction == "forward" or before is None:
        found = after
    else:
        assert after is not None
        found = before if row.ts - before.ts <= after.ts - row.ts else after
    return found if found is None or tolerance is None or abs(found.ts - row.ts) <= tolerance else None


def expected(
    left: Parts, right: Parts, slack: int, by: list[str], direction: str, tolerance: int | None
) -> tuple[list, list, list]:
    lefts, late = in_time(left, slack)
    rights, late_right = in_time(right, slack)
    names = [name for name in ("text", "number") if name not in by]
    if "key" not in by:
        names.insert(0, "key")
    found = []
    for row in lefts:
        other = as_of(row, rights, by, direction, tolerance)
        found.append((*values(row), *(None if other is None else getattr(other, name) for name in names)))
    return found, late, late_right


def joined(
    left: Parts,
    right: Parts,
    slack: int = 0,
    *,
    replicas: int = 1,
    sources: int = 1,
    deploy: dict[str, Any] | None = None,
    **keys: Any,
) -> tuple[list, list, list]:
    topology = Topology()
    order = timedelta(milliseconds=slack)
    a = topology.source(left, name="a", event=Left, replicas=sources, max_out_of_orderness=order)
    b = topology.source(right, name="b", event=Right, replicas=sources, max_out_of_orderness=order)
    made = a.through("asof-join", b, name="asof", replicas=replicas, on="ts", **keys)
    out, late, late_right = made.collect(), made.late.collect(), made["late_right"].collect()
    topology.run(**(deploy or {}))
    return [values(each) for each in out], list(late), list(late_right)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_right_rows_whose_keys_are_all_null_match_nothing(direction):
    one = {"0": [Left(1, 1, "x", 0), Left(2, None, "y", 1)]}
    other = {"0": [Right(1, None, "z", 7)]}
    rows, _, _ = joined(one, other, by="key", direction=direction)
    assert rows == [(1, 1, "x", 0, None, None), (2, None, "y", 1, None, None)]


def test_an_operator_behind_the_join_may_use_fields_of_the_right_rows():
    topology = Topology()
    a = topology.source([Left(1, 1, "x", 0), Left(5, 1, "x", 1), Left(5, 2, "y", 2)], name="a")
    b = topology.source([Right(0, 1, "z", 7), Right(3, 1, "z", 9)], name="b")
    found = a.through("asof-join", b, on="ts", by="key")
    means = found.through("aggregate", key="text", aggregates={"mean": "mean(number)"}).collect()
    topology.run()
    assert {each.text: each.mean for each in means} == {"x": 8.0, "y": None}


# -- against the references

times = st.integers(0, 60)
lefts = st.lists(st.tuples(times, st.none() | st.integers(0, 3), st.sampled_from("ab")), max_size=50)
rights = st.lists(st.tuples(times, st.none() | st.integers(0, 3), st.sampled_from("ab")), max_size=50)


@settings(max_examples=50, deadline=None)
@given(
    left=lefts,
    right=rights,
    slack=st.sampled_from([0, 5, 100]),
    by=st.sampled_from([[], ["key"], ["text"], ["text", "key"]]),
    direction=st.sampled_from(DIRECTIONS),
    tolerance=st.sampled_from([None, 0, 2, 10]),
    batch_size=st.sampled_from([1, 3, 1000]),
)
def test_random_streams_agree_with_a_search_under_any_batching(
    left, right, slack, by, direction, tolerance, batch_size
):
    one = {"0": [Left(*each, row) for row, each in enumerate(left)]}
    other = {"0": [Right(*each, row) for row, each in enumerate(right)]}
    keys = {"by": by, "direction": direction, "tolerance": tolerance, "deploy": {"batch_size": batch_size}}
    assert joined(one, other, slack, **keys) == expected(one, other, slack, by, direction, tolerance)


@settings(max_examples=25, deadline=None)
@given(
    left=st.lists(st.tuples(times, st.integers(0, 2)), min_size=1, max_size=40),
    right=st.lists(st.tuples(times, st.integers(0, 2)), min_size=1, max_size=40, unique=True),
    forward=st.booleans(),
)
def test_random_streams_agree_with_duckdb(database, left, right, forward):
    one = {"0": [Left(*each, "x", row) for row, each in enumerate(left)]}
    other = {"0": [Right(*each, "y", row) for row, each in enumerate(right)]}
    direction = "forward" if forward else "backward"
    rows, _, _ = joined(one, other, 1000, by="key", direction=direction)
    for name, event, events in (("l", Left, one["0"]), ("r", Right, other["0"])):
        database.register(name, arrow_of(event, events))
    found = database.execute(
        "select l.*, r.text, r.number from l asof left join r"
        f" on l.key = r.key and l.ts {'<=' if forward else '>='} r.ts"
    ).fetchall()
    assert sorted(rows, key=repr) == sorted(found, key=repr)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("local", 3), ("shm", 2), ("shm", 4)])
def test_partitions_replicas_and_transports_change_nothing(transport, workers, direction):
    one = {
        str(part): [Left(3 * t + t * part % 5, t % 4, "ab"[t % 2], 100 * part + t) for t in range(60)]
        for part in range(3)
    }
    other = {
        str(part): [Right(7 * t + 2 * (t % 3) + part, t % 5, "x", 100 * part + t) for t in range(25)]
        for part in range(2)
    }
    deploy = {"transport": transport, "workers": workers, "batch_size": 5}
    keys = {"by": "key", "direction": direction, "tolerance": 40, "replicas": workers}
    rows, late, late_right = joined(one, other, 1, sources=2, deploy=deploy, **keys)
    wanted, wanted_late, wanted_late_right = expected(one, other, 1, ["key"], direction, 40)
    assert sorted(late, key=repr) == sorted(wanted_late, key=repr)
    assert sorted(late_right, key=repr) == sorted(wanted_late_right, key=repr)
    ties = {(r.ts, r.key) for part in other.values() for r in part}
    assert len(ties) == sum(len(part) for part in other.values())  # so nothing depends on who comes first
    assert sorted(rows, key=repr) == sorted(wanted, key=repr)


def test_times_too_far_apart_to_be_packed_with_a_key_are_told_apart():
    far = 2**60
    one = {"0": [Left(t * far // 7, t % 3, "x", t) for t in range(15)]}
    other = {"0": [Right(t * far // 5, t % 3, "y", t) for t in range(10)]}
    for direction in DIRECTIONS:
        assert (
            joined(one, other, by="key", direction=direction)[0]
            == (expected(one, other, 0, ["key"], direction, None)[0])
        )


# -- what else it promises


class Trade(Event):
    at: EventTime
    symbol: str
    price: float


class Quote(Event):
    quoted: EventTime
    ticker: str
    price: float


def test_the_time_of_the_right_comes_out_if_its_field_has_another_name():
    topology = Topology()
    trades = topology.source([Trade(5, "x", 1.0), Trade(9, "y", 2.0)], name="trades")
    quotes = topology.source([Quote(3, "x", 0.5)], name="quotes")
    keys = {"on": {"at": "quoted"}, "by": {"symbol": "ticker"}}
    out = trades.through(AsofJoin, quotes, name="joined", **keys).collect()
    topology.run()
    assert out[0].__struct_fields__ == ("at", "symbol", "price", "quoted", "price_right")
    assert [values(each) for each in out] == [(5, "x", 1.0, 3, 0.5), (9, "y", 2.0, None, None)]
    graph = topology.graph()
    assert graph.actors["joined"].outputs["default"].event_time == "at"


def test_windows_behind_see_the_time_of_the_left_and_wait_for_rows_that_wait():
    topology = Topology()
    lefts_of = topology.source([Left(t, t % 2, "x", t) for t in range(100)], name="a")
    rights_of = topology.source([Right(t, t % 2, "y", t) for t in range(0, 100, 10)], name="b")
    stream = lefts_of.through(AsofJoin, rights_of, by="key", direction="forward", name="asof")
    top = stream.through("top", n=1, by="row", window={"type": "tumbling", "size": 10})
    out, late = top.collect(), topology["top.late"].collect()
    topology.run(batch_size=3)
    assert [each.row for each in out] == list(range(9, 100, 10))
    assert list(late) == []


class Context:
    """What the operator asks of its surroundings, for calling its hooks by hand."""

    def __init__(self, left: type[Event] = Left, right: type[Event] = Right) -> None:
        self.input = ""
        self.inputs = {"a": Schema.of(left), "b": Schema.of(right)}

    def count_late(self, rows: int) -> None:
        raise AssertionError(f"{rows} late rows")


def started(context: Any, snapshot: Any = None, **keys: Any) -> AsofJoin:
    made = AsofJoin(**keys)
    made._bind(context)
    if snapshot is not None:
        made.restore(snapshot)
    made.on_start()
    return made


def give(made: AsofJoin, context: Any, name: str, **columns: Any) -> None:
    context.input = name
    made.on_batch(Batch.of_columns(context.inputs[name], columns))


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_state_grows_with_the_keys_and_not_with_time(direction):
    context = Context()
    made = started(context, by="key", direction=direction)
    sizes, answered = [], 0
    for start in range(0, 120_000, 2000):
        numbers = np.arange(start, start + 2000)
        texts = ["x"] * 2000
        give(made, context, "a", ts=numbers, key=numbers % 100, text=texts, row=numbers)
        give(made, context, "b", ts=numbers, key=numbers % 100, text=texts, number=numbers)
        answered += sum(batch.rows for batch in made.on_heartbeat(start + 1990) or ())
        sizes.append(made.state_bytes)
    assert answered > 110_000
    assert max(sizes[30:]) <= 1.1 * max(sizes[:30])


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_row_with_a_null_key_waits_for_nothing(direction):
    context = Context()
    made = started(context, by=["text", "key"], direction=direction)
    give(made, context, "a", ts=[0, 1], key=[None, 7], text=["x", "x"], row=[0, 1])
    give(made, context, "b", ts=[1, 1], key=[7, None], text=["x", "x"], number=[5, 6])
    found = [values(each) for batch in made.on_heartbeat(3) or () for each in batch.events()]
    assert found == [(0, None, "x", 0, None), (1, 7, "x", 1, 5)]


def test_right_rows_that_nobody_asks_for_do_not_pile_up():
    context = Context()
    made = started(context, by="key")
    for start in range(0, 1_000_000, 10_000):
        numbers = np.arange(start, start + 10_000)
        give(made, context, "b", ts=numbers, key=numbers % 7, text=["x"] * 10_000, number=numbers)
        assert made.on_heartbeat(start + 9_999) is None
    assert made.state_bytes < 60 * asof_join.SETTLE_ROWS
    give(made, context, "a", ts=[10**6], key=[3], text=["q"], row=[0])
    (batch,) = made.on_end()
    assert batch["number"].to_pylist() == [max(n for n in range(10**6 - 7, 10**6) if n % 7 == 3)]


def test_keys_that_are_silent_longer_than_the_tolerance_are_forgotten():
    context = Context()
    made = started(context, by="key", tolerance=1000)
    for start in range(0, 400_000, 1000):
        numbers = np.arange(start, start + 1000)
        give(made, context, "b", ts=numbers, key=numbers, text=["x"] * 1000, number=numbers)
        give(made, context, "a", ts=numbers, key=numbers, text=["x"] * 1000, row=numbers)
        made.on_heartbeat(start + 1000)
    assert made.state_bytes < 1_000_000


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_restored_join_goes_on_where_the_snapshot_was_taken(direction):
    def feed(made: AsofJoin, context: Any, part: range) -> list:
        found = []
        for t in part:
            give(made, context, "a", ts=[t], key=[t % 3], text=["x"], row=[t])
            if t % 4 == 0:
                give(made, context, "b", ts=[t], key=[t % 5], text=["y"], number=[t])
            for batch in made.on_heartbeat(t) or ():
                found.extend(values(each) for each in batch.events())
        return found

    keys = {"by": "key", "direction": direction, "tolerance": 20}
    context = Context()
    whole = feed(started(context, **keys), context, range(200))
    made = started(context, **keys)
    first = feed(made, context, range(111))
    again = started(context, made.snapshot(), **keys)
    rest = feed(again, context, range(111, 200))
    assert (first + rest)[: len(whole)] == whole[: len(first + rest)] and len(first + rest) > 150


class Plain(Event):
    """As behind an operator that leaves the event time out: its rows have the time of those they descend from."""

    key: int
    row: int


def test_a_restored_join_keeps_event_times_that_are_in_no_field():
    context = Context(Plain)
    made = started(context, by="key", direction="forward")
    context.input = "a"
    for time in (10, 20):
        made.on_batch(Batch.of_columns(Plain, {"key": [1], "row": [time]}).with_system(_time=[time]))
        assert not list(made.on_heartbeat(time + 1) or ())
    again = started(context, made.snapshot(), by="key", direction="forward")
    again.on_batch(Batch.of_columns(Plain, {"key": [1], "row": [30]}).with_system(_time=[30]))
    found = [batch.event_times().tolist() for batch in again.on_end() or ()]
    assert found == [[10, 20, 30]]


# -- bad input


def problems(**keys: Any) -> list[str]:
    inputs = keys.pop("inputs", 2)
    topology = Topology()
    streams = [
        topology.source([Left(1, 1, "a", 0)], name="a"),
        topology.source([Right(1, 1, "a", 0)], name="b"),
        topology.source([Right(1, 1, "a", 0)], name="c"),
    ]
    topology.actor("asof", "asof-join", streams[:inputs], **keys).collect()
    with pytest.raises(ConfigurationError) as raised:
        topology.graph()
    return [f"{each.where}: {each.message}" for each in raised.value.problems]


def test_what_is_wrong_with_an_as_of_join_is_said_before_the_run():
    assert problems(inputs=1) == ["actors.asof.inputs: are 1"]
    assert problems(on="row") == [
        "actors.asof.on: is 'row', but the event time of the left input is 'ts'",
        "actors.asof.on: is 'row', but the event time of the right input is 'ts'",
    ]
    assert problems(by="kye") == [
        "actors.asof.by: the left input has no field 'kye'",
        "actors.asof.by: the right input has no field 'kye'",
    ]
    assert problems(by={"key": "text"}) == [
        "actors.asof.by: the left input's key: int64? and the right input's text: string have no common type"
    ]
    assert problems(direction="back") == ["actors.asof.direction: is 'back'"]
    assert problems(tolerance="soon") == ["actors.asof.tolerance: is 'soon', which is not a duration"]
    assert problems(tolerance=-1) == ["actors.asof.tolerance: is -1, which is negative"]
