"""Jumbo tuples: rows of every field type go through bytes and come back, memory lives as long as its views."""

from __future__ import annotations

import enum
import gc
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.errors import BrokenError, SchemaError
from actorstream.events import (
    Batch,
    Event,
    Float32,
    Int8,
    Int16,
    Int32,
    JumboTuple,
    Schema,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    decode,
    encode,
    from_bytes,
    to_bytes,
)
from actorstream.events.sending import shared_jumbo
from actorstream.native.arena import Arena


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Point(msgspec.Struct, frozen=True):
    x: int
    y: float


class Everything(Event, event_time="a"):
    a: int
    b: Int8
    c: Int16
    d: Int32
    e: UInt8
    f: UInt16
    g: UInt32
    h: UInt64
    i: float
    j: Float32
    k: bool
    m: datetime
    n: str
    o: bytes
    p: Literal["view", "click"]
    q: Color
    r: list[Point]
    s: int | None
    t: bool | None
    u: str | None
    v: datetime | None
    w: Color | None
    x: dict[str, int] | None
    y: bytes | None
    z: Float32 | None


class Numbers(Event, event_time="a"):
    a: int
    b: float


class Text(Event):
    a: int
    b: str


def bits(width: int, signed: bool) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (width - 1)) if signed else 0, 2 ** (width - signed) - 1)


TIMES = st.datetimes(timezones=st.just(UTC))
FLOAT32 = st.floats(width=32, allow_nan=False)
ROWS = st.builds(
    Everything,
    a=bits(64, True), b=bits(8, True), c=bits(16, True), d=bits(32, True),
    e=bits(8, False), f=bits(16, False), g=bits(32, False), h=bits(64, False),
    i=st.floats(allow_nan=False), j=FLOAT32, k=st.booleans(), m=TIMES, n=st.text(max_size=8), o=st.binary(max_size=8),
    p=st.sampled_from(["view", "click"]), q=st.sampled_from(Color),
    r=st.lists(st.builds(Point, x=bits(64, True), y=st.floats(allow_nan=False)), max_size=2),
    s=st.none() | bits(64, True), t=st.none() | st.booleans(), u=st.none() | st.text(max_size=4), v=st.none() | TIMES,
    w=st.none() | st.sampled_from(Color),
    x=st.none() | st.dictionaries(st.text(max_size=2), bits(32, True), max_size=2),
    y=st.none() | st.binary(max_size=4), z=st.none() | FLOAT32,
)  # fmt: skip


@pytest.fixture
def arena() -> Arena:
    return Arena.create(1 << 24, 1)


@given(st.lists(ROWS, max_size=20), st.data())
def test_rows_of_every_type_come_back_from_bytes(events: list[Everything], data: st.DataObject) -> None:
    schema = Schema.of(Everything)
    raw = to_bytes(Batch.of_events(schema, events), plan=3)
    found = decode(schema, from_bytes(raw))
    assert found.rows == len(events)
    first = data.draw(st.integers(0, len(events)))
    index = data.draw(st.lists(st.integers(0, len(events) - 1), max_size=5)) if events else []
    assert found.take(index).events() == [events[row] for row in index]
    assert found.slice(first, len(events) - first).events() == events[first:]
    assert found.events() == events
    columns = {name: found.column(name) for name in schema.names()}
    assert to_bytes(Batch.of_columns(schema, columns), plan=3) == raw
    parts = [found.slice(0, first), found.slice(first, len(events) - first), found.take(index)]
    joined = decode(schema, from_bytes(to_bytes(parts)))
    assert joined.events() == events + [events[row] for row in index]
    joined.arrow().validate(full=True)


@pytest.mark.parametrize("rows", [1, 2, 1000])
def test_rows_go_through_an_arena_and_through_the_heap_alike(arena: Arena, rows: int) -> None:
    events = [Text(i, f"text {i}") for i in range(rows)]
    inside = encode([Batch.of_events(Text, events)], arena, Schema.of(Text).fingerprint, 5)
    outside = encode([Batch.of_events(Text, events)], None, Schema.of(Text), 5)
    assert bytes(inside.buffer()) == bytes(outside.buffer())
    assert decode(Schema.of(Text), inside).events() == events
    assert (inside.rows, inside.nbytes, inside.fingerprint) == (
        rows,
        outside.nbytes,
        Schema.of(Text).fingerprint,
    )


@pytest.mark.parametrize("longest", [10, 100, 5000], ids="texts of up to {} characters".format)
def test_large_columns_have_the_same_bytes_in_an_arena_as_on_the_heap(arena: Arena, longest: int) -> None:
    rows = 40_000 // longest + 500
    events = [Text(i, "é" * (i * i % longest)) for i in range(rows)]
    batch = Batch.of_events(Text, events)
    parts = [batch.slice(1, rows - 2), batch.take(range(0, rows, 3)), batch.take([5]), batch.slice(7, 1)]
    inside, outside = encode(parts, arena), encode(parts, None)
    assert bytes(inside.buffer()) == bytes(outside.buffer())
    assert inside.nbytes > 64 << 10


def test_receiving_reads_nothing() -> None:
    batch = Batch.from_jumbo(Schema.of(Text), JumboTuple(None), 0, 5)  # type: ignore[arg-type]
    assert batch.rows == 5 and batch.slice(1, 2).rows == 2


def test_columns_are_views_of_the_block(arena: Arena) -> None:
    jumbo = encode([Batch.of_events(Numbers, [Numbers(i, i / 2) for i in range(100)])], arena)
    batch = decode(Schema.of(Numbers), jumbo)
    column = batch["b"]
    assert np.shares_memory(column, jumbo.block.view()) and not column.flags.writeable
    assert batch["b"] is column
    assert np.shares_memory(batch.slice(10, 5)["b"], column)
    assert batch.slice(10, 5)["b"].tolist() == [5.0, 5.5, 6.0, 6.5, 7.0]
    text = decode(Schema.of(Text), encode([Batch.of_events(Text, [Text(1, "abc")] * 50)], arena))
    base = text._jumbo.address  # type: ignore[union-attr]
    assert base < text["b"].buffers()[2].address < base + text._jumbo.block.nbytes  # type: ignore[union-attr]


KEEPS: dict[str, Callable[[Batch], Any]] = {
    "numpy": lambda batch: batch["a"],
    "slice": lambda batch: batch["a"][5:7],
    "arrow": lambda batch: batch.column("a").arrow(),
    "string": lambda batch: batch["b"],
    "batch": lambda batch: batch.take([1]),
}
FREES: dict[str, Callable[[Batch], Any]] = {
    "events": lambda batch: batch.events(),
    "compact": lambda batch: batch.take([1, 2]).compact(),
    "nothing": lambda batch: None,
    "encode again": lambda batch: encode([batch.slice(1, 3)], None),
}
TEXTS = [Text(i, f"text {i}") for i in range(100)]


@pytest.mark.parametrize("keep", KEEPS)
def test_a_block_is_in_use_for_as_long_as_a_view_of_it_lives(arena: Arena, keep: str) -> None:
    batch = decode(Schema.of(Text), encode([Batch.of_events(Text, TEXTS)], arena))
    batch.events()
    kept = [KEEPS[keep](batch)]
    del batch
    gc.collect()
    assert arena.statistics().blocks == 1
    kept.clear()
    gc.collect()
    assert arena.statistics().blocks == 0


@pytest.mark.parametrize("use", FREES)
def test_a_block_is_free_when_nothing_of_it_is_kept(arena: Arena, use: str) -> None:
    batch = decode(Schema.of(Text), encode([Batch.of_events(Text, TEXTS)], arena))
    kept = [FREES[use](batch)]
    del batch
    gc.collect()
    assert arena.statistics().blocks == 0 and len(kept) == 1


def test_a_run_of_a_jumbo_tuple_is_sent_by_reference_if_it_is_worth_its_memory(arena: Arena) -> None:
    batch = decode(
        Schema.of(Numbers), encode([Batch.of_events(Numbers, [Numbers(i, 0.5) for i in range(100)])], arena)
    )
    assert shared_jumbo(batch, arena) == (batch._jumbo, 0)
    assert shared_jumbo(batch.slice(10, 50), arena) == (batch._jumbo, 10)
    assert shared_jumbo(batch.slice(10, 5), arena) is None
    assert shared_jumbo(batch.take([1]), arena) is None
    assert shared_jumbo(batch.with_columns(b=batch["b"]), arena) is None
    assert shared_jumbo(batch, arena, Schema.of(Numbers).with_system(("_time",))) is None
    assert shared_jumbo(batch, None) is None
    other = Arena.create(1 << 20, 2)
    assert shared_jumbo(batch, other, borrowed=False) is None
    on_heap = decode(Schema.of(Numbers), encode([batch], None))
    assert shared_jumbo(on_heap, arena) is None


def test_jumbo_tuples_of_another_schema_are_refused() -> None:
    for trusted in (True, False):
        jumbo = from_bytes(to_bytes(Batch.of_events(Numbers, [Numbers(1, 2.0)] * 2)), trusted=trusted)
        for other in (Text, Schema.from_dict({"x": "int", "y": "float"})):
            with pytest.raises(SchemaError, match="same plan"):
                decode(Schema.of(other), jumbo).events()


@settings(max_examples=300)
@given(st.data())
def test_damaged_bytes_raise_and_never_read_outside(data: st.DataObject) -> None:
    events = [Everything(1, 2, 3, 4, 5, 6, 7, 8, 9.0, 10.0, True, datetime(2026, 1, 1, tzinfo=UTC), "n", b"o", "view",
              Color.RED, [], None, None, "u", None, None, {"a": 1}, None, None)] * 3  # fmt: skip
    raw = bytearray(to_bytes(Batch.of_events(Everything, events)))
    head = 64 + 32 * len(Schema.of(Everything).fields)
    end = data.draw(st.sampled_from([head, len(raw)]))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, end - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.sampled_from([len(raw), len(raw), len(raw), len(raw) - 64, head, 64, 63, 0]))
    try:
        batch = decode(Schema.of(Everything), from_bytes(bytes(raw[:cut])))
        found = batch.events()
    except (BrokenError, SchemaError):
        return
    assert len(found) == batch.rows <= 3


@pytest.mark.parametrize("field, value", [("n", 0xFF), ("p", 2), ("k", 7)])
def test_values_from_outside_that_are_none_of_their_type_are_refused(field: str, value: int) -> None:
    schema = Schema.of(Everything).select([field])
    text = "view" if field == "p" else True if field == "k" else "abc"
    raw = bytearray(to_bytes(Batch.of_columns(schema, {field: [text]})))
    raw[-64] = value
    with pytest.raises(BrokenError, match=f"field '{field}' has bytes that are no"):
        decode(schema, from_bytes(bytes(raw)))[field]


def test_a_time_from_outside_that_no_datetime_can_hold_is_refused() -> None:
    schema = Schema.of(Everything).select(["m"])
    raw = bytearray(to_bytes(Batch.of_columns(schema, {"m": [datetime(2026, 1, 1, tzinfo=UTC)]})))
    raw[-64:-56] = (2**62).to_bytes(8, "little")
    with pytest.raises(BrokenError, match="field 'm' has bytes that are no datetime"):
        decode(schema, from_bytes(bytes(raw)))["m"]


def test_more_rows_than_there_are_is_refused() -> None:
    for cls, events in ((Numbers, [Numbers(1, 2.0)] * 3), (Text, [Text(1, "a")] * 3)):
        jumbo = encode([Batch.of_events(cls, events)], None)
        with pytest.raises(BrokenError, match="rows 1 to 5 of a jumbo tuple of 3 rows"):
            decode(Schema.of(cls), jumbo, 1, 4)["a"]


def test_bytes_at_an_odd_address_are_copied() -> None:
    raw = to_bytes(Batch.of_events(Numbers, [Numbers(1, 2.0)] * 3))
    shifted = memoryview(b"x" + raw)[1:]
    assert decode(Schema.of(Numbers), from_bytes(shifted)).events() == [Numbers(1, 2.0)] * 3


def test_one_event_is_the_same_whichever_way_it_is_written(arena: Arena) -> None:
    batch = Batch.of_events(Numbers, [Numbers(3, 1.5)])
    short = encode([batch], arena)
    long = encode([batch, batch.slice(0, 0)], arena)
    assert bytes(short.buffer()) == bytes(long.buffer())
    assert (
        decode(Schema.of(Numbers), short).events()
        == decode(Schema.of(Numbers), long).events()
        == batch.events()
    )
    assert decode(Schema.of(Numbers), short)["b"].tolist() == [1.5]
    of_two = encode([batch, batch], arena)
    assert decode(Schema.of(Numbers), of_two).slice(1, 1).events() == batch.events()


def test_an_event_that_does_not_fit_is_named_and_leaves_no_block_behind(arena: Arena) -> None:
    with pytest.raises(SchemaError, match="field 'a', Numbers event 0: 'x' is a str; allowed: int"):
        encode([Batch.of_events(Numbers, [Numbers("x", 1.0)])], arena)  # type: ignore[arg-type]
    assert arena.statistics().blocks == 0


def test_encode_of_nothing_is_refused_and_of_no_rows_is_not() -> None:
    with pytest.raises(SchemaError, match="encode of no batches"):
        encode([], None)
    empty = Batch.of_events(Text, [])
    assert decode(Schema.of(Text), encode([empty, empty], None)).rows == 0


def test_more_than_two_gigabytes_are_not_needed_to_read_large_offsets() -> None:
    import pyarrow as pa

    batch = Batch.of_columns(Text, {"a": [1, 2], "b": pa.array(["x", "yz"], pa.large_string())})
    assert batch.events() == [Text(1, "x"), Text(2, "yz")]
    assert batch.arrow().schema.field("b").type == pa.large_string()
    assert decode(Schema.of(Text), encode([batch], None)).events() == batch.events()


class Named(Event):
    number: int
    name: str


def named(count: int) -> bytearray:
    return bytearray(
        to_bytes(Batch.of_events(Schema.of(Named), [Named(n, f"name {n}") for n in range(count)]))
    )


@pytest.mark.parametrize(("first", "rows"), [(-1000, 500), (10, -5), (-1, None), (2001, None)])
def test_rows_that_lie_before_the_first_or_end_before_they_begin_are_refused(
    first: int, rows: int | None
) -> None:
    with pytest.raises(BrokenError, match=f"rows {first} to"):
        decode(Schema.of(Named), from_bytes(named(2000)), first, rows)


@pytest.mark.parametrize("read", [lambda batch: batch["name"], lambda batch: batch.events()])
def test_texts_from_outside_that_are_no_utf_8_are_refused_however_they_are_read(
    read: Callable[[Batch], Any],
) -> None:
    data = named(10)
    data[data.index(b"name 3")] = 0xFF
    jumbo = from_bytes(data)
    for _ in range(2):
        with pytest.raises(BrokenError, match="bytes that are no str"):
            read(decode(Schema.of(Named), jumbo))


def test_texts_from_outside_stay_what_was_checked_whatever_is_written_to_their_block_afterwards() -> None:
    schema, arena = Schema.of(Named), Arena.create(1 << 20, 1)
    events = [Named(n, f"name {n}") for n in range(100)]
    written = encode([Batch.of_events(schema, events)], arena)
    got = decode(schema, JumboTuple(written.block, trusted=False))
    assert got["name"].to_pylist() == [event.name for event in events]
    written.block.view()[:] = 0x7F
    assert got["name"].to_pylist() == [event.name for event in events]
    assert got.events() == events
