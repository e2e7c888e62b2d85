"""The state of an aggregate: checkpoints go on where they were taken, and it grows with keys and not with time."""

from __future__ import annotations

from typing import Any

import pytest

from actorstream import Batch
from tests.unit.operators import natives
from tests.unit.operators.test_aggregate_updates import Fed, listed

ALL = {
    "n": "count()",
    "sum": "sum(number)",
    "apart": "sum(number * if(number % 3 == 0, 1e34, if(number % 3 == 1, 1.0, 1e-30)))",
    "least": "min(number)",
    "first": "first(text)",
    "last": "last(number)",
    "distinct": "count_distinct(number)",
    "texts": "count_distinct(text)",
    "middle": "quantile(number, 0.5)",
    "merged": {
        "native": natives.cffi_total,
        "merge": natives.cffi_total,
        "columns": ["number"],
        "returns": "int",
    },
    "whole": {"native": natives.cffi_total, "columns": ["number", "other"], "returns": "int"},
}
KINDS: list[dict[str, Any]] = [
    {"window": {"type": "tumbling", "size": 10}, "allowed_lateness": 7},
    {"window": {"type": "sliding", "size": 12, "slide": 4}},
    {"window": {"type": "sliding", "size": 12, "slide": 4}, "allowed_lateness": 9, "emit": "updates"},
    {"window": {"type": "tumbling", "size": 10}, "every": 7},
    {"window": {"type": "session", "gap": 2}, "allowed_lateness": 3},
    {"window": {"type": "count", "size": 7}},
    {"window": {"type": "count", "size": 7}, "ttl": "3ms"},
    {"ttl": "3ms"},
    {},
]


def feed(fed: Fed, part: range) -> list[tuple[Any, ...]]:
    found = []
    for at in part:
        found += fed.rows((at + at % 5, at % 3, at * 7 % 11), (at, at % 4, -at))
        if at > 5:
            found += fed.rows((at - 3, at % 3, 1), mark=at - 2)
        if at % 3 == 0:
            found += fed.watermark(at - 1)
    return found


@pytest.mark.parametrize("key", ["other", None, ["other", "text"]])
@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_aggregate_goes_on_where_the_snapshot_was_taken(kind, key):
    keys = {**kind, "aggregates": ALL, "key": key}
    whole = Fed(**keys)
    expected = feed(whole, range(60))
    before = Fed(**keys)
    found = feed(before, range(31))
    after = Fed(before.actor.snapshot(), **keys)
    found += feed(after, range(31, 60))
    assert found + after.end() == expected + whole.end()
    assert before.late + after.late == whole.late
    assert len(found) > 10 or key is None or not kind


@pytest.mark.parametrize("kind", KINDS[:-1])
def test_keys_that_come_and_go_leave_no_state_behind(kind):
    fed = Fed(**kind, aggregates=ALL, key="other")
    sizes = []
    for turn in range(24):
        rows = [(turn * 40 + at % 20, turn * 100 + at, at) for at in range(100)]
        fed.rows(*(rows if kind.get("window", {}).get("type") != "count" or "ttl" in kind else rows * 7))
        fed.watermark(turn * 40 + 20)
        sizes.append(fed.actor.state_bytes)
    assert max(sizes[12:]) <= 1.1 * max(sizes[:12])


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"ttl": "3ms"},
        {"window": {"type": "session", "gap": 3}},
        {"window": {"type": "tumbling", "size": 1000}},
    ],
)
def test_texts_that_are_neither_first_nor_last_any_more_leave_no_state_behind(kind):
    fed = Fed(**kind, aggregates={"first": "first(text)", "last": "last(text)"}, key="other")
    schema = fed.inputs["rows"]
    sizes = []
    for turn in range(40):
        numbers = list(range(1000))
        columns: dict[str, Any] = {"ts": [turn] * 1000, "other": [number % 20 for number in numbers]}
        columns |= {"key": [None] * 1000, "price": [None] * 1000, "number": numbers}
        columns["text"] = [f"text {turn} {number}".ljust(200) for number in numbers]
        assert listed(fed.actor.on_batch(Batch.of_columns(schema, columns))) == []
        assert fed.watermark(turn) == []
        sizes.append(fed.actor.state_bytes)
    assert max(sizes[20:]) <= max(sizes[:20])
    found = [(key, first.rstrip(), last.rstrip()) for *_, key, first, last in fed.end()]
    assert found == [(key, f"text 0 {key}", f"text 39 {980 + key}") for key in range(20)]


def test_a_window_that_a_late_row_did_not_change_says_nothing_again_behind_a_snapshot():
    keys = {"window": {"type": "sliding", "size": 10, "slide": 5}, "allowed_lateness": 10, "emit": "updates"}
    fed = Fed(**keys)
    fed.rows((7, 0, 1))
    assert fed.watermark(15) == [(0, 10, 0, 1), (5, 15, 0, 1)]
    fed.rows((7, 0, 5), mark=21)  # the first window does not take it any more
    restored = Fed(fed.actor.snapshot(), **keys)
    assert fed.watermark(18) == restored.watermark(18) == [(5, 15, 0, 6)]


def test_a_snapshot_is_of_plain_values_that_msgpack_can_carry():
    import msgspec

    for kind in KINDS:
        fed = Fed(**kind, aggregates=ALL, key="other")
        feed(fed, range(10))
        packed = msgspec.msgpack.encode(fed.actor.snapshot())
        again = Fed(msgspec.msgpack.decode(packed), **kind, aggregates=ALL, key="other")
        assert again.end() == fed.end()
