"""Cursors: rows of columns as objects, against the values that the columns say they have."""

from __future__ import annotations

import gc
import random
import sys
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pytest

from actorstream import Batch, Event, Float32, Int8, Int16, Int32, UInt8, UInt16, UInt32, UInt64
from actorstream.native.address import address_of
from actorstream.native.cursor import Cursor


class Everything(Event):
    a: Int8
    b: Int16
    c: Int32
    d: int
    e: UInt8
    f: UInt16
    g: UInt32
    h: UInt64
    i: Float32
    j: float
    k: bool
    text: str
    raw: bytes
    level: Literal["low", "high"]
    when: datetime
    rest: list[int]
    maybe_a: Int16 | None
    maybe_text: str | None
    maybe_level: Literal["low", "high"] | None


TEXTS = ["", "a", "é", "plain", "longer than eight", "longer then eight", "ünïcödé 🦉", "page0", "page1"]


def of(chance: random.Random) -> Everything:
    ends = [(-(2**7), 2**7), (-(2**15), 2**15), (-(2**31), 2**31), (-(2**63), 2**63)]
    signed = [chance.choice([least, most - 1, 0, chance.randrange(least, most)]) for least, most in ends]
    unsigned = [chance.choice([0, 2**bits - 1, chance.randrange(2**bits)]) for bits in (8, 16, 32, 64)]
    short = float(np.float32(chance.choice([0.1, -0.0, np.inf, 3e38])))
    text = chance.choice([*TEXTS, f"row {chance.random()}"])
    level: Any = chance.choice(["low", "high"])
    return Everything(
        *signed,
        *unsigned,
        short,
        chance.random(),
        chance.random() < 0.5,
        text,
        text.encode(),
        level,
        datetime.fromtimestamp(chance.randrange(2**31), UTC),
        [1] * chance.randrange(3),
        chance.choice([None, 5]),
        chance.choice([None, text]),
        chance.choice([None, level]),
    )


def cursor(batch: Batch, first: int = 0, rows: int | None = None) -> Any:
    columns = tuple(column.described() for column in batch.columns())
    return Cursor(batch.schema.event_class(), columns, first, batch.rows if rows is None else rows)


@pytest.mark.parametrize("rows", [0, 1, 9, 40, 2000])
def test_the_events_are_those_that_the_columns_were_made_of(rows: int) -> None:
    chance = random.Random(rows)
    events = [of(chance) for _ in range(rows)]
    columns = Batch.of_columns(
        Everything,
        {name: Batch.of_events(Everything, events).column(name) for name in Everything.__struct_fields__},
    )
    assert list(cursor(columns)) == events
    for _ in range(20):
        first = chance.randrange(rows + 1)
        some = chance.randrange(rows - first + 1)
        assert list(cursor(columns, first, some)) == events[first : first + some]
        assert list(cursor(columns.slice(first, some))) == events[first : first + some]


def test_a_cursor_says_how_many_were_taken_and_how_many_are_left() -> None:
    made = cursor(Batch.of_events(Everything, [of(random.Random(row)) for row in range(10)]), 3, 5)
    assert (made.taken(), made.__length_hint__()) == (0, 5)
    assert [made.taken() for _ in made] == [1, 2, 3, 4, 5]
    assert next(made, None) is None
    assert (made.taken(), made.__length_hint__()) == (5, 0)


def test_large_offsets_are_read() -> None:
    class Named(Event):
        name: str

    names = pa.array(["one", "two", "three"], pa.large_string())
    assert list(cursor(Batch.of_columns(Named, {"name": names}).slice(1, 2))) == [
        Named("two"),
        Named("three"),
    ]


def test_equal_texts_are_one_object_also_where_others_lie_between() -> None:
    texts = [f"page number {row % 3}" for row in range(600)]
    made = list(Cursor(lambda text: text, (column_of(texts),), 0, len(texts)))
    assert made == texts
    assert len({id(text) for text in made}) == 3


def test_without_a_class_the_values_of_the_one_column_come() -> None:
    texts = ["one", "", "drei", "größer"] * 5
    assert list(Cursor(None, (column_of(texts),), 0, len(texts))) == texts
    with pytest.raises(TypeError, match="not callable"):
        list(Cursor(None, (column_of(texts), column_of(texts)), 0, 1))


def test_texts_that_all_differ_are_not_kept() -> None:
    texts = [f"row {row}" for row in range(3000)]
    rows = Cursor(lambda text: text, (column_of(texts),), 0, len(texts))
    made = [next(rows) for _ in range(2000)]
    assert made == texts[:2000]
    gc.collect()
    ours = 3  # the list, the loop, the call
    assert {sys.getrefcount(text) for text in made} == {ours}


def column_of(texts: list[str]) -> Any:
    class Texts(Event):
        text: str

    return Batch.of_columns(Texts, {"text": pa.array(texts)}).column("text").described()


def test_what_is_no_utf8_raises_and_the_cursor_goes_on_behind_it() -> None:
    class Named(Event):
        name: str

    raw = pa.array([b"good", b"\xff\xfe", b"fine"], pa.binary()).cast(pa.string(), safe=False)
    made = cursor(Batch.of_columns(Named, {"name": raw}))
    assert next(made) == Named("good")
    with pytest.raises(UnicodeDecodeError):
        next(made)
    assert made.taken() == 2
    assert list(made) == [Named("fine")]


def test_what_the_maker_raises_comes_out_and_the_cursor_goes_on_behind_it() -> None:
    made = Cursor(lambda value: 1 // value, ([1, 0, 1],), 0, 3)
    assert next(made) == 1
    with pytest.raises(ZeroDivisionError):
        next(made)
    assert list(made) == [1]


def test_it_is_over_once_it_was_asked_for_more_than_there_is() -> None:
    made = Cursor(lambda value: value, ([1, 2],), 0, 2)
    assert [next(made), next(made)] == [1, 2]
    assert not made.is_over()
    assert next(made, None) is None
    assert made.is_over()


def test_a_maker_cannot_ask_for_the_next_row() -> None:
    rows: list[Any] = []
    rows.append(Cursor(lambda value: next(rows[0]), ([1, 2],), 0, 2))
    with pytest.raises(RuntimeError, match="by what makes"):
        next(rows[0])


def test_a_list_that_became_shorter_raises() -> None:
    values = [1, 2, 3]
    made = Cursor(lambda value: value, (values,), 0, 3)
    assert next(made) == 1
    values.clear()
    with pytest.raises(RuntimeError, match="shorter"):
        next(made)


def test_without_columns_there_is_an_object_a_row() -> None:
    assert list(Cursor(lambda: 7, (), 0, 3)) == [7, 7, 7]


@pytest.mark.parametrize(
    "arguments",
    [
        (int, ([1],), 0, 2),
        (int, ([1],), -1, 1),
        (int, ([1],), 0, -1),
        (int, [[1]], 0, 1),
        (int, ("1",), 0, 1),
        (int, (("q", (8, 0, 0, 0, 0), None, ()),), 0, 1),
        (int, (("w", (8, 0, 0, 0, 0, 0), None, ()),), 0, 1),
        (int, (("t", (0, 0, 0, 0, 0, 0), None, ()),), 0, 1),
        (int, (("k", (1, 0, 0, 0, 0, 0), None, None),), 0, 1),
    ],
)
def test_columns_that_cannot_be_are_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Cursor(*arguments)


def test_a_code_of_no_category_raises() -> None:
    codes = np.array([0, 2], np.int8)
    described = ("k", (1, 0, 0, 0, address_of(codes), 0), codes, ("low", "high"))
    made = Cursor(str, (described,), 0, 2)
    assert next(made) == "low"
    with pytest.raises(IndexError, match="code 2"):
        next(made)


def test_the_memory_of_the_columns_lives_as_long_as_the_cursor() -> None:
    values = np.arange(100_000)

    class Number(Event):
        value: int

    made = cursor(Batch.of_columns(Number, {"value": values.copy()}))
    gc.collect()
    np.full(100_000, 7)  # what would take the place of memory that was given back
    assert [event.value for event in made] == values.tolist()
