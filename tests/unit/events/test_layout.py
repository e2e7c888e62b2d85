"""The layout that Python computes is the one that the C core writes and reads."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import numpy as np
import pytest

from actorstream.errors import BrokenError, SchemaError
from actorstream.events import (
    Batch,
    Event,
    Float32,
    Int8,
    Int16,
    Int32,
    Schema,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from actorstream.events.jumbo import HeapBlock, encode
from actorstream.events.layout import FixedLayout
from actorstream.native import pieces
from tests.native.unused_calls import prepared_size


class Wide(Event):
    a: Int8
    b: UInt64
    c: bool
    d: Float32
    e: float
    f: datetime
    g: Literal["x", "y"]
    h: Int16
    i: Int32
    j: UInt8
    k: UInt16
    m: UInt32
    n: int


class Keyword(Event, kw_only=True):
    a: int
    b: float


class Empty(Event):
    pass


EVENT = Wide(
    -1,
    2**63,
    True,
    0.5,
    1.5,
    datetime(2026, 1, 2, 3, tzinfo=UTC),
    "y",
    -300,
    1 << 30,
    200,
    60000,
    1 << 31,
    -5,
)


@pytest.mark.parametrize("rows", [0, 1, 2, 63, 64, 65, 4096])
def test_offsets_are_those_that_the_core_prepares(rows: int) -> None:
    schema = Schema.of(Wide)
    layout = FixedLayout(schema)
    places, total = layout.offsets(rows)
    assert prepared_size(schema.widths, rows) == total
    block = HeapBlock.allocate(total)
    pieces.prepare(block.address, total, schema.widths, rows, schema.fingerprint, 7)
    head = layout.head(rows, 7)
    assert block.view()[: len(head)].tobytes() == head
    _, columns = pieces.open_columns(block.address, total, schema.fingerprint, len(schema.fields))
    assert tuple(column[4] - block.address for column in columns) == places
    assert layout.check(block.view()) == rows


@pytest.mark.parametrize("event", [EVENT, Keyword(a=1, b=2.0), Empty()])
def test_one_event_is_written_as_the_core_writes_one_row(event: Event) -> None:
    schema = Schema.of(type(event))
    layout = FixedLayout(schema)
    block = HeapBlock.allocate(layout.one_bytes)
    layout.pack(block.address, event, 9)
    if schema.fields:
        batch = Batch.of_events(schema, [event])
        columns = Batch.of_columns(schema, {name: batch.column(name) for name in schema.names()})
        assert bytes(encode([columns], None, schema, 9).buffer()) == block.view().tobytes()
    assert layout.unpack(block.address) == event


def test_one_event_of_a_schema_with_system_columns_is_read() -> None:
    wire = Schema.of(Keyword).with_system(("_origin",))
    batch = Batch.of_events(Keyword, [Keyword(a=1, b=2.0)]).with_system(_origin=[5])
    assert FixedLayout(wire).unpack(encode([batch], None, wire).address) == Keyword(a=1, b=2.0)


def test_more_rows_or_another_schema_are_left_to_the_general_path() -> None:
    two = encode([Batch.of_events(Keyword, [Keyword(a=1, b=2.0)] * 2)], None)
    assert FixedLayout(Schema.of(Keyword)).unpack(two.address) is None
    other = FixedLayout(Schema.from_dict({"x": "int", "y": "int"}))
    assert other.unpack(two.address) is None
    with pytest.raises(SchemaError, match="both ends of a channel must run the same plan"):
        other.check(two.root())


@pytest.mark.parametrize("at, value", [(0, 1), (4, 9), (6, 9), (16, 30), (23, 255), (24, 64)])
def test_a_damaged_header_is_refused(at: int, value: int) -> None:
    block = HeapBlock.allocate(encode([Batch.of_events(Keyword, [Keyword(a=1, b=2.0)])], None).block.nbytes)
    layout = FixedLayout(Schema.of(Keyword))
    layout.pack(block.address, Keyword(a=1, b=2.0), 0)
    block.view()[at] = value
    with pytest.raises(BrokenError):
        layout.check(block.view())
    assert layout.unpack(block.address) is None


def test_wrong_values_are_left_to_the_general_path() -> None:
    layout = FixedLayout(Schema.of(Wide))
    block = HeapBlock.allocate(layout.one_bytes)
    for name, value in (("a", 200), ("c", 2), ("f", datetime(2026, 1, 1)), ("g", "z"), ("e", "1")):
        changed = Wide(**{**{n: getattr(EVENT, n) for n in EVENT.__struct_fields__}, name: value})
        with pytest.raises(Exception):  # noqa: B017 - any exception sends the event the long way
            layout.pack(block.address, changed, 0)
        with pytest.raises(SchemaError, match=f"field '{name}', Wide event 0"):
            encode([Batch.of_events(Wide, [changed])], None)


def test_the_dtype_of_every_column_is_kept() -> None:
    batch = Batch.of_events(Wide, [EVENT])
    found = {name: batch[name].dtype for name in Schema.of(Wide).names()}
    assert (
        found["a"] == np.int8 and found["g"] == np.int8 and found["f"] == np.int64 and found["m"] == np.uint32
    )
