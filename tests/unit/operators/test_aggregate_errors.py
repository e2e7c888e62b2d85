"""What is wrong with an aggregate is said before the run where it can be known; rows that are wrong, to on_error."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from actorstream import Event, Topology
from actorstream.errors import ConfigurationError, OperatorError
from tests.unit.operators.aggregate_model import Row
from tests.unit.operators.timed import values

TUMBLING = {"type": "tumbling", "size": "1s"}


class Untimed(Event):
    key: int
    price: float
    tags: list[str]


def problems(event: Any = Row, **keys: Any) -> list[str]:
    """Everything that is wrong, a line each."""
    topology = Topology()
    stream = topology.source([], name="rows", event=event)
    keys = {"window": TUMBLING, "aggregates": {"n": "count()"}, **keys}
    made = stream.through(
        "aggregate", name="agg", **{name: each for name, each in keys.items() if each is not None}
    )
    made.collect()
    with pytest.raises(ConfigurationError) as error:
        topology.run()
    return [str(each) for each in error.value.problems]


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"aggregates": {"n": "sum(text)"}}, "agg.aggregates.n: sum of str"),
        ({"aggregates": {"n": "min(text)"}}, "agg.aggregates.n: min of str"),
        ({"aggregates": {"n": "quantile(text, 0.5)"}}, "agg.aggregates.n: quantile of str"),
        ({"aggregates": {"n": "quantile(price, 1.5)"}}, "quantile at 1.5"),
        ({"aggregates": {"n": "summ(price)"}}, "there is no aggregate 'summ'"),
        ({"aggregates": {"n": "summ(price)"}}, "did you mean 'sum'?"),
        ({"aggregates": {"n": "sum(lenght(text))"}}, "did you mean 'length'?"),
        ({"aggregates": {"n": "sum(pric)"}}, "did you mean 'price'?"),
        ({"aggregates": {"n": "price"}}, "is no aggregate"),
        ({"aggregates": {"n": "sum(price, number)"}}, "sum has 2 arguments"),
        ({"aggregates": {}}, "agg.aggregates: names nothing"),
        ({"aggregates": {"window_end": "count()"}}, "window_end: is a field of the result already"),
        (
            {"key": "key", "aggregates": {"key": "count()"}},
            "aggregates.key: is a field of the result already",
        ),
        ({"key": ["kay"]}, "agg.key: Row has no field 'kay'"),
        ({"key": ["kay"]}, "did you mean 'key'?"),
        ({"key": ["key", "key"]}, "agg.key: names 'key' twice"),
        ({"window": {"type": "tumbling"}}, "window.size: is missing"),
        ({"window": {"type": "hopping", "size": "1s"}}, "window.type: is 'hopping'"),
        ({"window": {**TUMBLING, "gap": "1s"}}, "window.gap: is not a key"),
        (
            {"window": None, "allowed_lateness": timedelta(seconds=1)},
            "allowed_lateness: is given without a `window`",
        ),
        ({"window": {"type": "count", "size": 0}}, "window.size: is 0"),
        ({"ttl": "1s"}, "agg.ttl: is set of a tumbling window"),
        ({"window": None, "ttl": "soon"}, "agg.ttl: is 'soon', which is not a duration"),
        ({"window": None, "ttl": "0s"}, "agg.ttl: is '0s', which is not longer than 0"),
        ({"every": 0}, "agg.every: is 0"),
        ({"every": "0s"}, "agg.every: is '0s'"),
        ({"every": 5, "window": {"type": "count", "size": 3}}, "agg.every: is set of a count window"),
        (
            {"emit": "updates", "window": {"type": "session", "gap": "1s"}},
            "agg.emit: is 'updates' of a session window",
        ),
        ({"emit": "update"}, "emit"),
        ({"windw": TUMBLING}, "did you mean 'window'?"),
    ],
)
def test_a_key_that_is_wrong_is_named_before_the_run(keys, said):
    found = problems(**keys)
    assert any(said in each for each in found), found


def test_all_problems_are_said_at_once():
    found = problems(key="kay", aggregates={"n": "sum(text)", "m": "lst(text)"}, window={"type": "tumbling"})
    assert len(found) == 4


@pytest.mark.parametrize(
    "keys", [{}, {"window": {"type": "session", "gap": "1s"}}, {"window": None, "ttl": "1s"}]
)
def test_a_window_without_event_time_is_refused(keys):
    found = problems(Untimed, **keys)
    assert any("no event time, which 'aggregate' needs" in each for each in found), found


def test_a_structured_field_is_no_key():
    found = problems(Untimed, window=None, key="tags")
    assert any("is structured, which has no equality" in each for each in found), found


def run(rows: list[Row], on_error: str, **keys: Any) -> tuple[list[Any], list[Any]]:
    """The results, and the dead letters."""
    topology = Topology()
    made = topology.source(rows, name="rows").through(
        "aggregate", name="agg", on_error=on_error, **{"window": {"type": "tumbling", "size": 10}, **keys}
    )
    out, dead = made.collect(), made.dead.collect()
    topology.run()
    return [values(each) for each in out], list(dead)


def row(ts: int, number: int = 1) -> Row:
    return Row(ts, "a", 0, None, number, "")


WRONG = [
    {"window": {"type": "tumbling", "size": 10}},
    {"window": {"type": "sliding", "size": 10, "slide": 5}},
    {"window": {"type": "session", "gap": 3}},
]


@pytest.mark.parametrize("keys", WRONG)
@pytest.mark.parametrize("time", [-1, 2**62])
def test_a_row_before_the_epoch_is_told_to_on_error_and_the_others_count(keys, time):
    keys = {**keys, "aggregates": {"n": "count()"}}
    rows = [row(time), row(11), row(12)] if time < 0 else [row(11), row(12), row(time)]
    with pytest.raises(OperatorError, match=f"event time is {time}"):
        run(rows, "fail", **keys)
    found, dead = run(rows, "dead-letter", **keys)
    assert found[0][-1] == 2
    assert [each.operator for each in dead] == ["agg.local" if keys["window"]["type"] != "session" else "agg"]


def test_a_value_that_overflows_is_told_to_on_error():
    rows = [row(1), row(2, 2**62), row(3, 5)]
    keys = {"aggregates": {"n": "sum(number * 4)"}}
    with pytest.raises(OperatorError, match="overflow"):
        run(rows, "fail", **keys)
    assert run(rows, "skip", **keys)[0] == [(0, 10, 24)]


def test_a_row_with_an_overflow_is_in_none_of_the_aggregates_of_its_windows():
    rows = [row(1), row(2, 2**62), row(3, 5)]
    keys = {"aggregates": {"n": "sum(number * 4)", "rows": "count()", "most": "max(number)"}}
    assert run(rows, "skip", **keys)[0] == [(0, 10, 24, 2, 5)]


def test_a_sum_that_int64_cannot_hold_is_a_result_without_a_value():
    rows = [row(1, 2**63 - 1), row(2, 1), row(15, 3)]
    keys = {"aggregates": {"n": "sum(number)", "rows": "count()", "mean": "mean(number)"}}
    with pytest.raises(OperatorError, match="9223372036854775808, which does not fit int64"):
        run(rows, "fail", **keys)
    found, dead = run(rows, "dead-letter", **keys)
    assert found == [(10, 20, 3, 1, 3.0)]
    assert "window_start=0" in dead[0].event


@pytest.mark.parametrize(
    ("operator", "keys"),
    [
        ("aggregate", {"window": TUMBLING, "aggregates": {"n": "count()"}}),
        ("aggregate", {"window": {"type": "session", "gap": "1s"}, "aggregates": {"n": "count()"}}),
        ("aggregate", {"window": {"type": "count", "size": 5}, "aggregates": {"n": "count()"}}),
        ("aggregate", {"ttl": "1s", "aggregates": {"n": "count()"}}),
        ("top", {"window": TUMBLING, "by": "key", "n": 5}),
        ("join", {"window": TUMBLING, "on": "key"}),
        ("asof-join", {"by": "key"}),
    ],
)
def test_an_event_time_before_1970_is_an_error_of_its_row(operator: str, keys: dict[str, Any]):
    class Timed(Event, event_time="at"):
        at: int
        key: int

    def rows(on_error: str) -> list[Any]:
        topology = Topology()
        stream = topology.source([Timed(-5, 1), Timed(3, 1)])
        others = [topology.source([Timed(1, 1)])] if "join" in operator else []
        made = stream.through(operator, *others, on_error=on_error, **keys).collect()
        topology.run()
        return list(made)

    with pytest.raises(OperatorError, match=r"the event time (is )?-5"):
        rows("fail")
    assert len(rows("skip")) == 1
