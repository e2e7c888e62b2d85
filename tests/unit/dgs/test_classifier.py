"""Classifier: each row to the implementation tag that its event has, whole columns at a time."""

from __future__ import annotations

from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorstream import Event, EventTime, UInt64
from actorstream.dgs.classifier import Classifier
from actorstream.dgs.tagging import Tagging, by, keyed, tagging_of
from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.topology.dependency import PlannedStream


class Row(Event):
    ts: EventTime
    op: str
    page: str
    key: int
    stream: int
    kind: Literal["x", "y"] = "x"


ROW = Row(1, "i", "a", 1, 0)


def streams(count: int, field: str = "") -> list[tuple[int, PlannedStream]]:
    return [
        (
            number,
            PlannedStream(
                name=f"rows/{number}",
                input="rows",
                partition=-1 if field else number,
                field=field,
                value=str(number) if field else "",
            ),
        )
        for number in range(count)
    ]


def classifier(tagging: Tagging, count: int = 1, field: str = "", found: tuple = ()) -> Classifier:
    tags = tagging.tags(found)
    numbers = {
        (stream, tag): stream * len(tags) + place for stream in range(count) for place, tag in enumerate(tags)
    }
    return Classifier(tagging, streams(count, field), numbers, "program.rows")


def batch(*rows: Row) -> Batch:
    return Batch.of_events(Row, list(rows))


def changed(**values: object) -> Row:
    return Row(**{**{name: getattr(ROW, name) for name in Row.__struct_fields__}, **values})  # type: ignore[arg-type]


def test_a_batch_of_one_tag_goes_on_as_it_is() -> None:
    rows = batch(ROW, ROW)
    assert classifier(tagging_of("value")).split(rows) == [(0, rows)]
    assert classifier(by("op", ["i", "r"])).split(rows) == [(0, rows)]


def test_the_partition_tells_the_stream_where_no_field_does() -> None:
    rows = batch(ROW)
    assert classifier(tagging_of("value"), count=3).split(rows, partition=2) == [(2, rows)]


def test_rows_keep_their_order_within_a_tag() -> None:
    rows = batch(*(changed(ts=ts, op="ir"[ts % 3 == 0]) for ts in range(7)))
    parts = classifier(by("op", ["i", "r"])).split(rows)
    assert [(number, [each.ts for each in part.events()]) for number, part in parts] == [
        (0, [1, 2, 4, 5]),
        (1, [0, 3, 6]),
    ]


@given(
    st.lists(
        st.builds(
            Row,
            st.just(0),
            st.sampled_from(["i", "r"]),
            st.sampled_from(["a", "b", "c", "ü"]),
            st.sampled_from([-5, 0, 3, 2**40]),
            st.integers(0, 2),
            st.sampled_from(["x", "y"]),
        ),
        max_size=30,
    ),
    st.sampled_from(
        [
            by("op", ["i", "r"], key="key", keys=[-5, 0, 3, 2**40]),
            by("op", ["i", "r"], key="key", keys=[-5, 0, 3, 2**40, 7]),
            by("op", {"i": "x", "r": "x"}, key="page", keys=["a", "b", "c", "ü"]),
            keyed("view", "page", classes=3),
            keyed("view", "key", classes=3),
            keyed("view", "key", classes=3, modulo=True),
            keyed("view", "key"),
            by("kind", {"y": "why", "x": "ex"}, key="page", classes=2),
        ]
    ),
)
def test_columns_and_single_events_give_the_same_tags(events: list[Row], tagging: Tagging) -> None:
    found = (-5, 0, 3, 2**40)
    tags = tagging.tags(found)
    split = classifier(tagging, 3, "stream", found).split(batch(*events))
    got = {number: [each.ts for each in part.events()] for number, part in split}
    expected: dict[int, list[int]] = {}
    for event in events:
        number = event.stream * len(tags) + tags.index(tagging.tag_of(event))
        expected.setdefault(number, []).append(event.ts)
    assert got == expected


@pytest.mark.parametrize(
    ("tagging", "bad", "message"),
    [
        (by("op", ["i", "r"]), {"op": "x"}, r"program\.rows, row 1 of a batch: op is 'x'; allowed: 'i', 'r'"),
        (keyed("view", "key", keys=[1, 2]), {"key": 9}, "row 1 of a batch: key is 9; allowed: 1, 2"),
        (keyed("view", "key", keys=[1, 2**60]), {"key": 9}, "row 1 of a batch: key is 9; allowed: 1, "),
        (keyed("view", "page", keys=["a"]), {"page": "z"}, "row 1 of a batch: page is 'z'; allowed: 'a'"),
        (by("kind", ["x"]), {"kind": "y"}, "row 1 of a batch: kind is 'y'; allowed: 'x'"),
        (tagging_of("value"), {"stream": 5}, "row 1 of a batch: stream is 5; allowed: '0', '1'"),
    ],
)
def test_a_row_that_has_no_tag_is_named(tagging: Tagging, bad: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        classifier(tagging, 2, "stream").split(batch(ROW, changed(**bad)))


def test_a_tag_that_was_not_planned_for_its_stream_is_named() -> None:
    tagging = by("op", ["i", "r"])
    numbers = {(0, tagging.tag("i")): 0, (1, tagging.tag("r")): 1}
    made = Classifier(tagging, streams(2, "stream"), numbers, "program.rows")
    assert [number for number, _ in made.split(batch(ROW, changed(op="r", stream=1)))] == [0, 1]
    for rows in (batch(changed(op="r")), batch(ROW, changed(op="r"))):
        with pytest.raises(DataError, match="r on stream 'rows/0' is not in the plan"):
            made.split(rows)


def test_a_partition_whose_rows_have_one_tag_is_known_by_it_and_others_by_their_columns() -> None:
    assert classifier(tagging_of("x"), 2).only(1) == 1
    assert classifier(tagging_of("x"), 2).only(2) is None
    assert classifier(tagging_of("x"), 2, field="stream").only(0) is None
    assert classifier(by("op", {"i": "increment", "r": "read"})).only(0) is None


class Wide(Event):
    ts: EventTime
    key: UInt64


WIDE = st.sampled_from([0, 1, 5, 2**62 + 1, 2**62 + 2, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1])


@given(st.lists(WIDE, min_size=1, unique=True), st.lists(WIDE, min_size=1))
def test_keys_of_64_unsigned_bits_are_told_apart(known: list[int], keys: list[int]) -> None:
    rows = Batch.of_events(Wide, [Wide(ts, key) for ts, key in enumerate(keys)])
    tagging = keyed("view", "key", keys=known)
    split = classifier(tagging).split
    if not set(keys) <= set(known):
        with pytest.raises(DataError):
            split(rows)
        return
    planned = [tag.key for tag in tagging.tags()]
    assert {planned[number]: [each.ts for each in part.events()] for number, part in split(rows)} == {
        key: [ts for ts, each in enumerate(keys) if each == key] for key in keys
    }


def test_a_planned_key_that_the_column_cannot_hold_is_in_no_row() -> None:
    rows = Batch.of_events(Wide, [Wide(1, 7), Wide(2, 7)])
    assert classifier(keyed("view", "key", keys=[-1, 7, 2**64])).split(rows) == [(1, rows)]
