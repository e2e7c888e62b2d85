"""Rows from and to lists: classes told from items, partitions, positions, and what a sink hands over."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from actorstream.connectors.memory import MemorySink, MemorySource
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema


class Item(Event):
    number: int
    color: Literal["red", "green"]
    parts: list[int]


ITEMS = [Item(number, "red" if number % 2 else "green", [number]) for number in range(10)]


def rows(source: MemorySource, max_rows: int = 4) -> list[Any]:
    source.open(source.partitions())
    return rest(source, max_rows)


def rest(source: MemorySource, max_rows: int = 4) -> list[Any]:
    found: list[Any] = []
    while (batch := source.read(max_rows)) is not None:
        found += batch.events()
    return found


def test_events_come_as_they_are() -> None:
    assert rows(MemorySource(ITEMS)) == ITEMS
    assert MemorySource.output_types({"items": ITEMS}, []) == {"default": Schema.of(Item)}


def test_batches_come_one_after_the_other() -> None:
    batches = [Batch.of_events(Item, ITEMS[:3]), Batch.of_events(Item, ITEMS[3:])]
    assert rows(MemorySource(batches)) == ITEMS


def test_the_class_of_dicts_is_told_or_declared() -> None:
    source = MemorySource([{"a": 1, "b": "x"}, {"a": 2, "b": None}])
    found = rows(source)
    assert [(each.a, each.b) for each in found] == [(1, "x"), (2, None)]
    declared = MemorySource([{"a": 1}], schema={"a": "int8", "c": "str?"})
    assert [(each.a, each.c) for each in rows(declared)] == [(1, None)]


def test_partitions_are_read_one_after_the_other_and_shared_out() -> None:
    source = MemorySource({"x": ITEMS[:4], "y": ITEMS[4:]})
    assert source.partitions() == ["x", "y"]
    assert rows(source) == ITEMS
    source.open(["y"])
    assert rest(source) == ITEMS[4:]
    assert source.origin == 1


@pytest.mark.parametrize("position", range(0, 31, 5))
def test_goes_on_at_any_position_over_all_passes(position: int) -> None:
    source = MemorySource(ITEMS, repeat=3)
    source.open(source.partitions())
    source.seek({"0": position})
    assert rest(source) == (ITEMS * 3)[position:]
    assert source.position() == {"0": 30}


def test_count_and_repeat_without_end() -> None:
    assert rows(MemorySource(ITEMS, repeat=0, count=25)) == (ITEMS * 3)[:25]
    assert rows(MemorySource([], event=Item, repeat=0)) == []


@pytest.mark.parametrize("repeat", [0, 1, 2])
def test_count_counts_the_rows_of_all_partitions_in_their_order(repeat: int) -> None:
    for count in range(12):
        items = {"x": ITEMS[:3], "y": [Batch.of_events(Item, ITEMS[3:])]}
        expected = ITEMS[:3] * (repeat or 4) + ITEMS[3:] * repeat
        assert rows(MemorySource(items, repeat=repeat, count=count)) == expected[:count]
        found = []
        for name in items:  # a replica each
            source = MemorySource(items, repeat=repeat, count=count)
            source.open([name])
            found += rest(source)
        assert found == expected[:count]


def test_keys_that_only_later_dicts_have_are_fields() -> None:
    found = rows(MemorySource({"x": [{"a": 1}], "y": [{"b": "x", "a": 2}]}))
    assert [(each.a, each.b) for each in found] == [(1, None), (2, "x")]


def test_items_without_a_class_are_a_problem() -> None:
    for items in ([], [1, 2], {"x": []}):
        assert [each.where for each in MemorySource.check({"items": items}, [], Path())] == ["items"]
    assert MemorySource.check({"items": [], "event": Item}, [], Path()) == []


def test_a_sink_hands_over_the_events_it_received() -> None:
    sink = MemorySink()
    for first in range(0, 10, 3):
        sink.on_batch(Batch.of_events(Item, ITEMS[first : first + 3]))
    assert MemorySink.decode_collected(Schema.of(Item), sink.collected()) == ITEMS
    assert len(sink.collected()) == 1
    assert MemorySink().collected() == []


def test_a_sink_that_aborts_has_nothing() -> None:
    sink = MemorySink()
    sink.on_batch(Batch.of_events(Item, ITEMS))
    sink.abort(None)
    assert sink.collected() == []
