"""csv-source: what a cell is where files differ: empty in quotes, integers above int64, and what ends a line."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any, Literal

import pytest

from actorstream import Topology
from actorstream.connectors import blocks
from actorstream.connectors.csv_source import CsvSource
from actorstream.errors import DataError
from actorstream.events.event import Event
from tests.unit.connectors.test_csv_source import file, read, rows


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ((2**63 - 1, -(2**63)), "int64"),
        ((2**63, 0), "uint64"),
        ((2**64 - 1, 2**63 + 1), "uint64"),
        ((2**63, 2.5), "float64"),
    ],
)
def test_integers_are_told_as_a_type_that_holds_them(
    tmp_path: Path, values: tuple[Any, Any], kind: str
) -> None:
    path = file(tmp_path, f"a,b\n{values[0]},x\n{values[1]},y\n")
    assert CsvSource(path).row_schema().field("a").kind.value == kind
    assert rows(path) == [(values[0], "x"), (values[1], "y")]


def test_integers_that_no_type_holds_have_to_be_declared(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"field 'a' has integers from -1 to 9223372036854775808.*declare"):
        CsvSource(file(tmp_path, f"a,b\n{2**63},x\n-1,y\n")).row_schema()


@pytest.mark.parametrize("text", ["n,i,b,t,c", "n,i,b,t,c,s"], ids=["numbers", "texts"])
def test_an_empty_field_in_quotes_is_null_where_no_text_can_be(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 50)

    class Cells(Event):
        n: float | None
        i: int | None
        b: bool | None
        t: datetime | None
        c: Literal["x", "y"] | None
        s: str | None = None

    class Short(Event):
        n: float | None
        i: int | None
        b: bool | None
        t: datetime | None
        c: Literal["x", "y"] | None

    full = ["1.5", "3", "true", "2020-01-01", "x", "é"]
    number = text.count(",") + 1
    lines = [full[:number], [""] * number, ["2.5", "", "false", "", "y", "z"][:number]] * 50
    path = file(
        tmp_path, text + "\n" + "".join(",".join(f'"{cell}"' for cell in line) + "\n" for line in lines)
    )
    day = datetime(2020, 1, 1, tzinfo=UTC)
    expected = [
        (1.5, 3, True, day, "x", "é"),
        (None, None, None, None, None, ""),
        (2.5, None, False, None, "y", "z"),
    ]
    assert rows(path, event=Cells if number == 6 else Short) == [row[:number] for row in expected] * 50
    kinds = {
        field.name: f"{field.kind.value}{'?' if field.nullable else ''}"
        for field in CsvSource(path).row_schema().fields
    }
    told = {"n": "float64?", "i": "int64?", "b": "bool?", "t": "datetime?", "c": "string", "s": "string"}
    assert kinds == {name: told[name] for name in text.split(",")}
    assert [row[:4] for row in rows(path)] == [row[:4] for row in expected] * 50


def test_an_empty_field_in_quotes_is_no_value_of_a_number_that_may_not_be_null(tmp_path: Path) -> None:
    source = CsvSource(file(tmp_path, 'i,s\n"1",""\n"",x\n'), schema={"i": "int", "s": "str"})
    source.on_bad_row = "skip"
    assert list(read(source)) == [(1, "")] and source.bad_rows == 1


@pytest.mark.parametrize("mark", ["\u2028", "\f", "\v", "\x1c", "\x85"])
def test_only_a_newline_ends_the_first_line(tmp_path: Path, mark: str) -> None:
    path = file(tmp_path, f"a{mark}b,1\nc,2\n")
    assert rows(path, header=False, schema={"x": "str", "i": "int"}) == [(f"a{mark}b", 1), ("c", 2)]
    headed = file(tmp_path, f"a{mark}b,i\nc,2\n")
    assert CsvSource(headed).row_schema().names() == (f"a{mark}b", "i")
    assert rows(headed) == [("c", 2)]


def test_a_carriage_return_alone_is_a_bad_row_and_ends_none(tmp_path: Path) -> None:
    path = file(tmp_path, b'a,b\r\n1,x\r\n2,y\rz\r\n3,"p\rq"\r\n4,\r')
    source = CsvSource(path, schema={"a": "int", "b": "str"})
    source.on_bad_row = "skip"
    assert list(read(source)) == [(1, "x"), (3, "p\rq")] and source.bad_rows == 2
    with pytest.raises(DataError, match="line 3: has a carriage return that no newline follows"):
        rows(path, schema={"a": "int", "b": "str"})
    with pytest.raises(DataError, match="line 1: has a carriage return that no newline follows"):
        CsvSource(file(tmp_path, b"a,b\r1,x\r2,y\r")).row_schema()


def test_rows_that_do_not_parse_at_the_end_of_the_input_are_dead_letters_too(tmp_path: Path) -> None:
    topology = Topology("test")
    path = file(tmp_path, "a\n1\nx\ny\n")
    source = topology.source("csv-source", path=str(path), schema={"a": "int"}, on_error="dead-letter")
    good, dead = source.collect(), source.dead.collect()
    topology.run()
    assert [row.a for row in good] == [1]
    assert [letter.event for letter in dead] == ["x", "y"]


class Suit(Enum):
    hearts = "h"
    spades = "s"


class Suits(Event):
    text: str
    literal: Literal["x", "y"] | None
    suit: Suit | None
    parts: list[int] | None


@pytest.mark.parametrize("bad", ["", "only one\n"], ids=["in bulk", "record by record"])
@pytest.mark.parametrize("empty", ["", '""'])
def test_an_empty_field_is_null_in_a_category_and_in_a_structure_beside_a_text(
    tmp_path: Path, empty: str, bad: str
) -> None:
    lines = f"text,literal,suit,parts\n{empty},{empty},{empty},{empty}\nx,y,s,[1]\n{bad}"
    source = CsvSource(file(tmp_path, lines), event=Suits)
    source.on_bad_row = "skip"
    assert list(read(source)) == [("", None, None, None), ("x", "y", Suit.spades, [1])]
