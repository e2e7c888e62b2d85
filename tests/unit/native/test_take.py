"""take: items of an iterator, bounded in number and in bytes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from actorstream.native.take import take


class Item:
    def __init__(self, text: object, data: object = None) -> None:
        self.text, self.data = text, data


class Mark:
    pass


def taken(items: list[Any], most: int = 100, room: int = 1000, each: int = 1) -> list[Any]:
    return take(iter(items), most, room, each, ("text", "data"), len, Mark)


def test_as_many_are_taken_as_are_wanted_or_as_fit_the_last_one_whole() -> None:
    items = [Item("x" * size) for size in (400, 500, 600, 700)]
    assert taken(items) == items[:3]
    assert taken(items, most=2) == items[:2]
    assert taken(items, most=0) == taken([]) == []
    assert taken([items[3]], room=1) == [items[3]]


@pytest.mark.parametrize(
    ("item", "size"),
    [
        (Item("ä" * 10), 10),
        (Item("€" * 10), 20),
        (Item("𝄞" * 10), 40),
        (Item(None, b"x" * 30), 30),
        (Item([1, 2, 3], b"x"), 4),
        (object(), 0),
    ],
)
def test_texts_and_bytes_count_by_their_memory_and_others_by_what_measure_says(item: Any, size: int) -> None:
    for room in range(1, 3 * (size + 1)):
        assert len(taken([item] * 5, room=room)) == -(-room // (size + 1))


def test_behind_an_item_of_the_last_class_nothing_more_is_taken() -> None:
    items = [1, Mark(), 2, 3]
    assert taken(items) == items[:2]


def test_an_iterator_that_raises_and_one_that_is_none_are_errors() -> None:
    def raising() -> Iterator[Item]:
        yield Item("a")
        raise OSError("lost")

    with pytest.raises(OSError, match="lost"):
        take(raising(), 5, 100, 1, ("text",), len, Mark)
    with pytest.raises(TypeError, match="an iterator, not a list"):
        take([], 5, 100, 1, (), len, Mark)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        taken([Item(1.5)])  # measure raises
    item = Item("kept")
    before = sys.getrefcount(item)
    assert len(taken([item] * 50)) == 50
    assert sys.getrefcount(item) == before
