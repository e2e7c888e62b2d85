"""join gives what one row after the other gives, in SQL and by the plainest Python, whatever order rows come in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream import Batch, Event, EventTime, Topology
from actorstream.errors import ConfigurationError, OperatorError
from actorstream.operators.join import Join
from tests.unit.operators.timed import Left, Right, Windows, arrow_of, assigned, values

HOWS = ["inner", "left", "right", "outer"]
Parts = dict[str, list[Any]]


def last_null(value: Any) -> tuple[bool, Any]:
    return (value is None, 0 if value is None else value)


def expected(left: Parts, right: Parts, windows: Windows, slack: int, on: list[str], how: str) -> Any:
    """The rows in order, and the late ones of both sides."""
    lefts, late = assigned(left, windows, slack)
    rights, late_right = assigned(right, windows, slack)
    found = []
    for start in sorted({*lefts, *rights}):
        pairs = []
        partnered = set()
        for one in lefts.get(start, []):
            key = tuple(getattr(one, name) for name in on)
            partners = [
                (number, other) for number, other in enumerate(rights.get(start, []))
                if None not in key and tuple(getattr(other, name) for name in on) == key
            ]  # fmt: skip
            partnered.update(number for number, _ in partners)
            pairs += [(key, one, other) for _, other in partners]
            if not partners and how in ("left", "outer"):
                pairs.append((key, one, None))
        for number, other in enumerate(rights.get(start, [])):
            if number not in partnered and how in ("right", "outer"):
                pairs.append((tuple(getattr(other, name) for name in on), None, other))
        pairs.sort(key=lambda pair: tuple(map(last_null, pair[0])))
        bounds = (start, start + windows.size)
        for key, one, other in pairs:
            own = [name for name in Left.__struct_fields__ if name not in on]
            rest = [name for name in Right.__struct_fields__ if name not in on]
            mine = [None if one is None else getattr(one, name) for name in own]
            theirs = [None if other is None else getattr(other, name) for name in rest]
            found.append((*key, *mine, *theirs, *bounds))
    return found, late, late_right


def joined(
    left: Any,
    right: Any,
    windows: Windows | dict[str, Any],
    slack: int = 0,
    *,
    replicas: int = 1,
    sources: int = 1,
    deploy: dict[str, Any] | None = None,
    **keys: Any,
) -> tuple[list, list, list]:
    topology = Topology()
    order = timedelta(milliseconds=slack)
    event = {"event": Left} if not isinstance(left, list) else {}
    a = topology.source(left, name="a", replicas=sources, max_out_of_orderness=order, **event)
    event = {"event": Right} if not isinstance(right, list) else {}
    b = topology.source(right, name="b", replicas=sources, max_out_of_orderness=order, **event)
    table = windows.table() if isinstance(windows, Windows) else windows
    out = a.through("join", b, name="join", replicas=replicas, window=table, **keys).collect()
    late = topology["join.late"].collect()
    late_right = topology["join.late_right"].collect()
    topology.run(**(deploy or {}))
    return [values(each) for each in out], list(late), list(late_right)


# -- against the references

times = st.integers(0, 60)
lefts = st.lists(st.tuples(times, st.none() | st.integers(0, 3), st.sampled_from("ab")), max_size=40)
rights = st.lists(st.tuples(times, st.none() | st.integers(0, 3), st.sampled_from("ab")), max_size=40)
shapes = st.sampled_from(
    [Windows(10, 10), Windows(7, 7, 3, 2), Windows(10, 5), Windows(9, 4, 1, 5), Windows(4, 10), Windows(1, 1)]
)


@settings(max_examples=60, deadline=None)
@given(
    left=lefts,
    right=rights,
    windows=shapes,
    slack=st.sampled_from([0, 3, 100]),
    on=st.sampled_from([["key"], ["text"], ["text", "key"]]),
    how=st.sampled_from(HOWS),
    batch_size=st.sampled_from([1, 3, 1000]),
)
def test_random_streams_agree_with_one_row_after_the_other_under_any_batching(
    left, right, windows, slack, on, how, batch_size
):
    one = {"0": [Left(*each, row) for row, each in enumerate(left)]}
    other = {"0": [Right(*each, row) for row, each in enumerate(right)]}
    rows, late, late_right = joined(
        one, other, windows, slack, on=on, how=how, deploy={"batch_size": batch_size}
    )
    assert (rows, late, late_right) == expected(one, other, windows, slack, on, how)


@settings(max_examples=20, deadline=None)
@given(left=lefts, right=rights, windows=shapes, how=st.sampled_from(HOWS))
def test_random_streams_agree_with_duckdb(database, left, right, windows, how):
    one = {"0": [Left(*each, row) for row, each in enumerate(left)]}
    other = {"0": [Right(*each, row) for row, each in enumerate(right)]}
    rows, _, _ = joined(one, other, windows, 1000, on="key", how=how)
    for name, event, events in (("l", Left, one["0"]), ("r", Right, other["0"])):
        database.register(name, arrow_of(event, events))
    offset, size, slide = windows.offset, windows.size, windows.slide
    last = f"cast(floor((ts - {offset}) / {slide}) as bigint)"
    first = f"cast(floor((ts - {size} - {offset}) / {slide}) as bigint) + 1"
    windowed = "(select *, unnest(range({first}, {last} + 1)) as w from {name})"
    lefts_of, rights_of = (windowed.format(first=first, last=last, name=name) for name in "lr")
    kind = "full" if how == "outer" else how
    found = database.execute(
        f"select coalesce(l.key, r.key), l.ts, l.text, l.row, r.ts, r.text, r.number,"
        f" coalesce(l.w, r.w) * {slide} + {offset} as s, s + {size}"
        f" from {lefts_of} l {kind} join {rights_of} r on l.key = r.key and l.w = r.w"
    ).fetchall()
    assert sorted(rows, key=repr) == sorted(found, key=repr)


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize(("transport", "workers"), [("local", 1), ("local", 3), ("shm", 2), ("shm", 4)])
def test_partitions_replicas_and_transports_change_nothing(transport, workers, how):
    one = {
        str(part): [Left(t + t * part % 5, t % 4, "ab"[t % 2], 100 * part + t) for t in range(60)]
        for part in range(3)
    }
    other = {
        str(part): [Right(t + 2 * (t % 3), t % 5, "ba"[t % 2], 100 * part + t) for t in range(50)]
        for part in range(2)
    }
    windows = Windows(12, 6, 1, 1)
    deploy = {"transport": transport, "workers": workers, "batch_size": 5}
    rows, late, late_right = joined(
        one, other, windows, 2, on=["key", "text"], how=how, replicas=workers, sources=2, deploy=deploy
    )
    wanted, wanted_late, wanted_late_right = expected(one, other, windows, 2, ["key", "text"], how)
    assert sorted(rows, key=repr) == sorted(wanted, key=repr)
    assert sorted(late, key=repr) == sorted(wanted_late, key=repr)
    assert sorted(late_right, key=repr) == sorted(wanted_late_right, key=repr)


# -- what else it promises


class Price(Event):
    at: EventTime
    item: str
    price: float
    at_datetime: datetime | None = None


def test_a_doubled_name_gets_right_and_fields_of_windows_give_way_to_those_of_the_join():
    class Count(Event):
        __event_time__ = "ts"
        ts: int
        item: str
        count: int
        window_start: int = 7
        window_end: int = 8

    topology = Topology()
    views = topology.source([Count(1, "a", 10)], name="views")
    clicks = topology.source([Count(2, "a", 3)], name="clicks")
    window = {"type": "tumbling", "size": "10s"}
    out = views.through(Join, clicks, window=window, on="item").collect()
    keyed = views.through(Join, clicks, window=window, on=["item", "window_start"]).collect()
    topology.run()
    assert [event.__struct_fields__ for event in out] == [
        ("item", "ts", "count", "ts_right", "count_right", "window_start", "window_end")
    ]
    assert values(out[0]) == ("a", 1, 10, 2, 3, 0, 10_000)
    assert values(keyed[0]) == ("a", 7, 1, 10, 2, 3, 10_000)


def test_windows_of_a_datetime_are_datetimes():
    class At(Event):
        __event_time__ = "at"
        at: datetime
        item: str

    when = datetime(2024, 5, 1, 12, 0, 7, tzinfo=UTC)
    topology = Topology()
    a, b = topology.source([At(when, "x")], name="a"), topology.source([At(when, "x")], name="b")
    out = a.through(Join, b, window={"type": "tumbling", "size": "10s"}, on="item").collect()
    topology.run()
    assert (out[0].window_start, out[0].window_end) == (
        datetime(2024, 5, 1, 12, 0, 0, tzinfo=UTC), datetime(2024, 5, 1, 12, 0, 10, tzinfo=UTC)
    )  # fmt: skip


def test_joined_rows_have_the_time_of_their_windows_end_for_windows_behind():
    left = [Left(t, t % 2, "a", t) for t in range(40)]
    right = [Right(t, t % 2, "a", t) for t in range(40)]
    topology = Topology()
    a, b, c = (topology.source(rows, name=name) for rows, name in ((left, "a"), (right, "b"), (right, "c")))
    first = a.through(Join, b, window={"type": "tumbling", "size": 10, "allowed_lateness": 7}, on="key")
    second = first.through(
        Join, c, name="second", window={"type": "tumbling", "size": 20}, on="key", allowed_lateness=None
    )
    out = second.collect()
    late = second.late.collect()
    topology.run(batch_size=3)
    counts = {}
    for event in out:
        counts[event.window_start, event.window_end] = (
            counts.get((event.window_start, event.window_end), 0) + 1
        )
    assert counts == {(0, 20): 2 * 2 * 5 * 5 * 10, (20, 40): 2 * 2 * 5 * 5 * 10}
    assert list(late) == []


def test_closed_windows_leave_no_state_behind():
    class Context:
        inputs: Any = None
        input = ""

        def count_late(self, rows: int) -> None:
            raise AssertionError

    context = Context()
    context.inputs = {"a": _schema(Left), "b": _schema(Right)}
    join = Join({"type": "sliding", "size": 20, "slide": 10}, "key")
    join._bind(context)
    join.on_start()
    sizes = []
    for start in range(0, 100_000, 1000):
        for name, event in (("a", Left), ("b", Right)):
            context.input = name
            rows = [event(start + t, t % 3, "a", t) for t in range(0, 1000, 50)]
            join.on_batch(Batch.of_events(event, rows))
        for _ in join.on_heartbeat(start + 950) or ():
            pass
        sizes.append(join.state_bytes)
    assert max(sizes[50:]) <= max(sizes[:10])
    assert 0 < max(sizes) < 5000


def _schema(event: type[Event]) -> Any:
    from actorstream import Schema

    return Schema.of(event)


@pytest.mark.parametrize("how", HOWS)
def test_a_restored_join_goes_on_where_the_snapshot_was_taken(how):
    def made() -> tuple[Any, Any]:
        context: Any = type("Context", (), {"input": "", "count_late": lambda self, rows: None})()
        context.inputs = {"a": _schema(Left), "b": _schema(Right)}
        join = Join({"type": "sliding", "size": 9, "slide": 3, "allowed_lateness": 2}, ["key", "text"], how)
        join._bind(context)
        return join, context

    def feed(join: Any, context: Any, part: range, fired: list) -> None:
        for t in part:
            for name, event in (("a", Left), ("b", Right)):
                context.input = name
                join.on_batch(Batch.of_events(event, [event(t, t % 3, "ab"[t % 2], t)]))
            for batch in join.on_heartbeat(t) or ():
                fired.extend(values(each) for each in batch.events())

    whole: list = []
    join, context = made()
    join.on_start()
    feed(join, context, range(60), whole)
    parts: list = []
    join, context = made()
    join.on_start()
    feed(join, context, range(31), parts)
    snapshot = join.snapshot()
    join, context = made()
    join.restore(snapshot)
    join.on_start()
    feed(join, context, range(31, 60), parts)
    assert parts == whole and len(whole) > 20


def test_late_rows_are_counted_in_the_report():
    topology = Topology()
    rows = [Left(50, 1, "a", 0), Left(3, 1, "a", 1)]
    a, b = topology.source(rows, name="a"), topology.source([Right(50, 1, "a", 0)], name="b")
    a.through(Join, b, name="join", window={"type": "tumbling", "size": 10}, on="key").collect()
    assert topology.run().report["late"] == 1


# -- bad input


def problems(**keys: Any) -> list[str]:
    inputs = keys.pop("inputs", 2)
    topology = Topology()
    streams = [
        topology.source([Left(1, 1, "a", 0)], name="a"),
        topology.source([Right(1, 1, "a", 0)], name="b"),
        topology.source([Right(1, 1, "a", 0)], name="c"),
    ]
    keys = {"window": {"type": "tumbling", "size": "1s"}, "on": "key", **keys}
    topology.actor("join", "join", streams[:inputs], **keys).collect()
    with pytest.raises(ConfigurationError) as raised:
        topology.graph()
    return [f"{each.where}: {each.message}" for each in raised.value.problems]


def test_what_is_wrong_with_a_join_is_said_before_the_run():
    assert problems(inputs=1) == ["actors.join.inputs: are 1"]
    assert problems(inputs=3) == ["actors.join.inputs: are 3"]
    assert problems(on="kye") == [
        "actors.join.on: the left input has no field 'kye'",
        "actors.join.on: the right input has no field 'kye'",
    ]
    assert problems(on={"key": "text"}) == [
        "actors.join.on: the left input's key: int64? and the right input's text: string have no common type"
    ]
    assert problems(window={"type": "session", "gap": "1s"}) == ["actors.join.window.type: is 'session'"]
    assert problems(window={"type": "tumbling"}) == [
        "actors.join.window.size: is missing from a tumbling window"
    ]
    assert problems(how="full") == ["actors.join.how: is 'full'"]


def test_inputs_with_other_units_or_without_event_time_are_refused():
    class Seconds(Event):
        __event_time__ = "ts"
        __time_unit__ = "s"
        ts: int
        key: int

    class Timeless(Event):
        key: int

    for event, message in (
        (Seconds(1, 1), "have event times in ms and in s"),
        (Timeless(1), "no event time"),
    ):
        topology = Topology()
        a, b = topology.source([Left(1, 1, "a", 0)], name="a"), topology.source([event], name="b")
        a.through(Join, b, window={"type": "tumbling", "size": "10s"}, on="key").collect()
        with pytest.raises(ConfigurationError, match=message):
            topology.graph()


def test_a_time_before_the_epoch_is_a_row_error_and_costs_only_its_row():
    rows = [Left(5, 1, "a", 0), Left(-5, 1, "a", 1), Left(6, 1, "a", 2)]

    def run(on_error: str) -> tuple[list, list]:
        topology = Topology()
        a = topology.source(rows, name="a", max_out_of_orderness=timedelta(seconds=1))
        b = topology.source([Right(7, 1, "a", 0)], name="b")
        window = {"type": "tumbling", "size": 10}
        made = a.through("join", b, name="join", window=window, on="key", on_error=on_error)
        out, dead = made.collect(), made.dead.collect()
        topology.run()
        return [each.row for each in out], [each.event for each in dead]

    with pytest.raises(OperatorError, match="has the event time -5; allowed: 0"):
        run("fail")
    assert run("skip") == ([0, 2], [])
    kept, dead = run("dead-letter")
    assert kept == [0, 2] and len(dead) == 1 and "ts=-5" in dead[0]
