"""A single event as a few bytes: what comes back is what the columns would have given."""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pytest

from actorstream.events.batch import Batch
from actorstream.events.event import Event, Float32, Int8, UInt64
from actorstream.events.row_format import UNFIT, RowFormat
from actorstream.events.schema import Schema

ROW_BYTES = 72


class Reading(Event):
    small: Int8
    count: int
    large: UInt64
    narrow: Float32
    value: float
    ok: bool
    name: str
    raw: bytes


class One(Event):
    value: int


class Keyword(Event, kw_only=True):
    name: str
    value: int


def there_and_back(schema: Schema, event: Any) -> Any:
    rows = RowFormat.of(schema, ROW_BYTES)
    assert rows is not None and struct.calcsize(f"<{rows.layout}") <= ROW_BYTES
    form = struct.Struct(f"<{rows.layout}")
    return rows.event(form.unpack(form.pack(*rows.values(event))))


@pytest.mark.parametrize(
    "event",
    [
        Reading(-128, -(2**63), 2**64 - 1, 0.1, 0.1, True, "häuser", b"\0\xff"),
        Reading(0, 0, 0, float("inf"), -0.0, False, "", b""),
        Reading(1, 2**63 - 1, 1, 3, 4, np.True_.item(), "a\0b", b"x" * 16),
        One(7),
        Keyword(name="key", value=3),
    ],
)
def test_an_event_comes_back_as_columns_would_have_given_it(event: Event) -> None:
    schema = Schema.of(type(event))
    batch = Batch.of_events(schema, [event])
    by_columns = Batch.of_columns(
        schema, {name: batch.column(name).tolist() for name in schema.names()}
    ).events()
    found = there_and_back(schema, event)
    assert found == by_columns[0]
    assert [type(getattr(found, name)) for name in schema.names()] == [
        type(getattr(by_columns[0], name)) for name in schema.names()
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"small": 128},
        {"count": 2**63},
        {"count": 1.0},
        {"large": -1},
        {"narrow": 1e300},
        {"ok": 2},
        {"ok": np.True_},
        {"name": "x" * 60},
        {"name": b"bytes"},
        {"name": "\ud800"},
        {"name": None},
        {"raw": "text"},
        {"raw": bytearray(b"x")},
        {"count": None},
    ],
    ids=str,
)
def test_what_does_not_fit_is_left_to_the_columns(changed: dict[str, Any]) -> None:
    given: dict[str, Any] = {
        "small": 1,
        "count": 1,
        "large": 1,
        "narrow": 1.0,
        "value": 1.0,
        "ok": True,
        "name": "a",
        "raw": b"b",
    }
    with pytest.raises(UNFIT):
        there_and_back(Schema.of(Reading), Reading(**{**given, **changed}))


def test_an_event_of_another_class_is_left_to_the_columns() -> None:
    with pytest.raises(UNFIT):
        there_and_back(Schema.of(Reading), One(1))


class Nullable(Event):
    value: int | None


class Timed(Event):
    at: datetime


class Chosen(Event):
    side: Literal["buy", "sell"]


class Nested(Event):
    items: list[int]


class Nothing(Event):
    pass


def test_kinds_of_fields_without_a_plain_form_have_none() -> None:
    for event_class in (Nullable, Timed, Chosen, Nested, Nothing):
        assert RowFormat.of(Schema.of(event_class), ROW_BYTES) is None
    assert Timed(datetime(2026, 1, 1, tzinfo=UTC))


def test_rows_that_are_too_wide_or_carry_system_columns_have_none() -> None:
    assert RowFormat.of(Schema.from_dict({f"field{n}": "int" for n in range(9)}), ROW_BYTES) is not None
    assert RowFormat.of(Schema.from_dict({f"field{n}": "int" for n in range(10)}), ROW_BYTES) is None
    assert RowFormat.of(Schema.from_dict({f"field{n}": "str" for n in range(5)}), ROW_BYTES) is None
    assert RowFormat.of(Schema.of(One).with_system(("_time",)), ROW_BYTES) is None
