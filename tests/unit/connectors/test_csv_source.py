"""csv-source against Python's csv module, and the rules of docs/connectors.md."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream.connectors import blocks
from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.csv_text import csv_text, header_line
from actorstream.errors import DataError
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.schema import Schema

TYPES = {"i": "int", "f": "float?", "s": "str", "n": "str?", "b": "bool", "t": "datetime?"}
texts = st.text(st.characters(codec="utf-8"), max_size=6) | st.sampled_from(
    ["", ",", '"', "\n", "\r\n", "nan", "7", "\ufeff"]
)
rows_of_types = st.tuples(
    st.integers(-(2**63), 2**63 - 1),
    st.none() | st.floats(),
    texts,
    st.none() | texts,
    st.booleans(),
    st.none() | st.datetimes(datetime(1700, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)),
)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 50)
    yield


def rows(path: Path, **keys: Any) -> list[tuple[Any, ...]]:
    return list(read(CsvSource(path, **keys)))


def read(source: CsvSource) -> Iterator[tuple[Any, ...]]:
    source.open(source.partitions())
    while (batch := source.read(7)) is not None:
        yield from zip(*(each.tolist() for each in batch.columns()))


def file(folder: Path, text: str | bytes) -> Path:
    path = folder / "a.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def same(left: Any, right: Any) -> bool:
    return left == right or (isinstance(left, float) and isinstance(right, float) and math.isnan(left))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(rows_of_types, max_size=30))
def test_what_csv_text_writes_is_read_back(
    tmp_path: Path, small_blocks: None, values: list[tuple[Any, ...]]
) -> None:
    columns = {name: [row[number] for row in values] for number, name in enumerate(TYPES)}
    batch = Batch.of_columns(Schema.from_dict(TYPES), columns)
    path = file(tmp_path, header_line(list(TYPES)) + bytes(csv_text(batch)))
    found = rows(path, schema=TYPES)
    assert len(found) == len(values)
    assert all(same(*pair) for pairs in zip(found, values) for pair in zip(*pairs))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(texts, st.integers(-99, 99)), max_size=30),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_what_python_writes_is_read(
    tmp_path: Path, small_blocks: None, values: list[tuple[str, int]], quoting: Literal[0, 1]
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=quoting)
    writer.writerow(["s", "i"])
    writer.writerows(values)
    assert rows(file(tmp_path, text.getvalue()), schema={"s": "str", "i": "int"}) == values


@pytest.mark.parametrize("head", ["", "\ufeff"])
def test_a_byte_order_mark_is_a_part_of_a_field_but_at_the_beginning_of_a_file(
    tmp_path: Path, small_blocks: None, head: str
) -> None:
    names = ["\ufeff7", '\ufeff"x"', "\ufeff", "\ufeffbad"]
    cells = [*names[:3], '"\ufeff,"', names[3]]
    text = "".join(
        f"{cell},{number if cell != names[3] else 'no number'}\n" for number, cell in enumerate(cells * 20)
    )
    path = file(tmp_path, f"{head}s,n\n{text}")
    expected = [
        (["\ufeff7", '\ufeff"x"', "\ufeff", "\ufeff,"][each % 5], each) for each in range(100) if each % 5 < 4
    ]
    source = CsvSource(path, schema={"s": "str", "n": "int"})
    source.on_bad_row = "skip"
    assert list(read(source)) == expected
    assert rows(file(tmp_path, f"{head}s,n\n\ufeff7,1\n"))[0] == ("\ufeff7", 1)  # types are told from it, too
    assert rows(file(tmp_path, f"\ufeff{text[:5]}"), header=False, schema={"s": "str", "n": "int"})[0] == (
        "\ufeff7",
        0,
    )


def test_columns_are_found_by_name_and_further_ones_are_ignored(tmp_path: Path) -> None:
    path = file(tmp_path, 'x,b,a,x\n1,two,3,"y\nz"\n')
    assert rows(path, schema={"a": "int", "b": "str"}) == [(3, "two")]


def test_types_are_told_from_the_first_rows(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        "i,f,b,s,t,d,e,h,g\n1,1.5,true,x,2020-01-01T00:00:00Z,2020-01-01,,12:30:00,\n2,2,false,,,,,,1\n",
    )
    schema = CsvSource(path).row_schema()
    kinds = {field.name: f"{field.kind.value}{'?' if field.nullable else ''}" for field in schema.fields}
    assert kinds == {
        "i": "int64",
        "f": "float64",
        "b": "bool",
        "s": "string?",
        "t": "datetime?",
        "d": "datetime?",
        "e": "string?",
        "h": "string?",
        "g": "int64?",
    }
    day = datetime(2020, 1, 1, tzinfo=UTC)
    assert rows(path) == [
        (1, 1.5, True, "x", day, day, None, "12:30:00", None),
        (2, 2.0, False, None, None, None, None, None, 1),
    ]


def test_a_value_of_another_type_than_was_told_says_to_declare_it(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"line 22002, column 'a': '1.5' is not int64.*declare it with `schema`"
    ):
        rows(
            file(tmp_path, "a,b\n" + f"1,{'x' * 50}\n" * 22_000 + "1.5,x\n")
        )  # types are told by the first MiB


def test_what_is_wrong_is_said_in_the_types_of_schemas_with_what_can_be_done(tmp_path: Path) -> None:
    path = file(tmp_path, "a,b\n1.5,x\nno,y\n")
    with pytest.raises(DataError, match=r"line 3, column 'a': 'no' is not float64 \(.*on_error = \"skip\""):
        rows(path, schema={"a": "float", "b": "str"})


def test_a_file_without_a_header_has_the_fields_in_order(tmp_path: Path) -> None:
    path = file(tmp_path, "1,x,more\n2,y,more\n")
    assert rows(path, header=False, schema={"a": "int", "b": "str"}) == [(1, "x"), (2, "y")]
    with pytest.raises(DataError, match=r"line 1: has 3 columns, Row has 4 fields"):
        rows(path, header=False, schema={"a": "int", "b": "str", "c": "str", "d": "str"})


def test_null_is_empty_and_the_empty_text_is_in_quotes(tmp_path: Path) -> None:
    path = file(tmp_path, 'a,b,c\n,,\n"","",""\nNA,null,NaN\n')
    found = rows(path, schema={"a": "str?", "b": "str", "c": "str?"})
    assert found == [(None, "", None), ("", "", ""), ("NA", "null", "NaN")]


def test_an_empty_line_is_a_null_where_there_is_one_column_that_may_be_null(tmp_path: Path) -> None:
    path = file(tmp_path, "a\n1\n\n2\n\n")
    assert rows(path, schema={"a": "int?"}) == [(1,), (None,), (2,), (None,)]
    assert rows(path, schema={"a": "int"}) == [(1,), (2,)]


def test_numbers_in_quotes_and_special_floats_are_read(tmp_path: Path) -> None:
    path = file(tmp_path, 'i,f\n"12",nan\n-3,inf\n0,-inf\n7,1e-3\n')
    found = rows(path, schema={"i": "int16", "f": "float"})
    assert [row[0] for row in found] == [12, -3, 0, 7]
    assert math.isnan(found[0][1]) and [row[1] for row in found[1:]] == [math.inf, -math.inf, 0.001]


def test_booleans_are_true_and_false_and_nothing_else(tmp_path: Path) -> None:
    source = CsvSource(file(tmp_path, "a\ntrue\nTrue\n1\nfalse\n"), schema={"a": "bool"})
    source.on_bad_row = "skip"
    assert list(read(source)) == [(True,), (False,)]
    assert source.bad_rows == 2


def test_times_with_and_without_zones_may_be_mixed(tmp_path: Path) -> None:
    lines = ["2020-01-01T00:00:00Z", "2020-01-01T02:00:00+02:00", "2020-01-01 00:00:00", "2020-01-01"]
    path = file(tmp_path, "t\n" + "\n".join(lines * 100) + "\nyesterday\n")
    source = CsvSource(path, schema={"t": "datetime"})
    source.on_bad_row = "dead-letter"
    assert list(read(source)) == [(datetime(2020, 1, 1, tzinfo=UTC),)] * 400
    dead = source.take_dead()
    assert dead is not None and "'yesterday' is not datetime" in dead.column("error").tolist()[0]


@pytest.mark.usefixtures("small_blocks")
def test_times_of_both_forms_are_read_wherever_blocks_end(tmp_path: Path) -> None:
    """Two threads parse blocks of one file, and each may find that times of a block are of the other form."""
    lines = [f"{number},2020-01-01{'T00:00:00Z' if number % 3 else ''}" for number in range(500)]
    path = file(tmp_path, "n,t\n" + "\n".join(lines))
    midnight = datetime(2020, 1, 1, tzinfo=UTC)
    assert rows(path, schema={"n": "int", "t": "datetime"}) == [(number, midnight) for number in range(500)]


class Shaped(Event):
    color: Literal["red", "green"]
    level: Literal[1, 2] | None
    parts: list[int]
    raw: bytes


class Node(msgspec.Struct):
    below: list[Node] = []


class Tree(Event):
    root: Node


@pytest.mark.parametrize(("depth", "good"), [(99, 2), (5000, 1)])
def test_json_that_is_nested_too_deeply_is_a_bad_row(tmp_path: Path, depth: int, good: int) -> None:
    deep = '{""below"":[' * depth + "]}" * depth
    source = CsvSource(file(tmp_path, f'root\n{{}}\n"{deep}"\n'), event=Tree)
    source.on_bad_row = "skip"
    assert len(list(read(source))) == good


def test_categories_structures_and_bytes_are_read_into_an_event_class(tmp_path: Path) -> None:
    path = file(tmp_path, b'color,level,parts,raw\nred,2,"[1, 2]",\xff\ngreen,,[],\n')
    assert rows(path, event=Shaped) == [("red", 2, [1, 2], b"\xff"), ("green", None, [], b"")]


def test_a_value_that_is_no_category_or_no_json_is_a_bad_row(tmp_path: Path) -> None:
    lines = "red,1,[1],x\nblue,1,[1],x\nred,3,[1],x\nred,1,[x],x\ngreen,1,[],x\n"
    source = CsvSource(file(tmp_path, "color,level,parts,raw\n" + lines), event=Shaped)
    source.on_bad_row = "dead-letter"
    assert [row[0] for row in read(source)] == ["red", "green"]
    dead = source.take_dead()
    assert dead is not None
    errors = dead.column("error").tolist()
    assert [error.partition(", ")[2][:25] for error in errors] == [
        "line 3, column 'color': '",
        "line 4, column 'level': 3",
        "line 5, column 'parts': i",
    ]


@pytest.mark.parametrize("block_bytes", [1, 30, 1 << 19])
def test_every_kind_of_bad_row_is_found_at_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    text = b'a,b\n1,"x\ny"\n\n2\n3,z,z\nq,x\n300,x\n,x\n4,\xff\n5,five\n6,"open\n7,x\n'
    source = CsvSource(file(tmp_path, text), schema={"a": "int8", "b": "str"})
    source.on_bad_row = "dead-letter"
    assert list(read(source)) == [(1, "x\ny"), (5, "five")]
    dead = source.take_dead()
    assert dead is not None
    places = [error.partition("line ")[2].partition(": ")[0] for error in dead.column("error").tolist()]
    assert places == ["5", "6", "7, column 'a'", "8, column 'a'", "9, column 'a'", "10, column 'b'", "12"]
    assert source.position() == {str(tmp_path / "a.csv"): 9}


def test_a_file_whose_rows_are_all_bad_is_read_to_its_end(tmp_path: Path) -> None:
    source = CsvSource(file(tmp_path, "a,b\n" + "x,1\n" * 1000), schema={"a": "int", "b": "int"})
    source.on_bad_row = "skip"
    assert list(read(source)) == []
    assert source.bad_rows == 1000


def test_a_missing_column_is_said_with_the_file_and_the_nearest_name(tmp_path: Path) -> None:
    path = file(tmp_path, "price,word\n1,x\n")
    problems = CsvSource.check({"path": path, "schema": {"prize": "int"}}, [], tmp_path)
    assert len(problems) == 1
    assert "a.csv, line 1, column 'prize'" in str(problems[0]) and "did you mean 'price'?" in str(problems[0])
    with pytest.raises(DataError, match="no such column"):
        rows(path, schema={"prize": "int"})


@pytest.mark.parametrize(
    ("keys", "where"),
    [
        ({"schema": {"a": "itn", "b": "strr"}}, ["schema.a", "schema.b"]),
        ({"schema": {}}, ["schema"]),
        ({"schema": {"a": "int"}, "event": Shaped}, ["schema"]),
        ({"event": "tests.nothing:Here"}, ["event"]),
        ({"event": "collections:OrderedDic"}, ["event"]),
        ({"event": "collections:OrderedDict"}, ["event"]),
        ({"event_time": "c"}, ["event_time"]),
        ({"event_time": "b"}, ["event_time"]),
        ({"event_time": "a", "time_unit": "m"}, ["time_unit"]),
        ({"stream": "c"}, ["stream"]),
        ({"streams": ["x"]}, ["streams"]),
        ({"count": -1, "repeat": -1, "rate": 0.0}, ["repeat", "count", "rate"]),
        ({"delimiter": ",,"}, ["delimiter"]),
        ({"header": False}, ["header"]),
        ({}, []),
        ({"event_time": "a", "time_unit": "s", "stream": "b", "streams": ["x"]}, []),
    ],
)
def test_wrong_keys_are_problems(tmp_path: Path, keys: dict[str, Any], where: list[str]) -> None:
    path = file(tmp_path, "a,b\n1,x\n")
    assert [each.where for each in CsvSource.check({"path": path, **keys}, [], tmp_path)] == where


@pytest.mark.parametrize("text", ["", "a,a\n1,2\n", "a,,b\n1,2,3\n"])
def test_a_header_that_names_no_fields_is_a_problem(tmp_path: Path, text: str) -> None:
    problems = CsvSource.check({"path": file(tmp_path, text)}, [], tmp_path)
    assert [each.where for each in problems] == ["path"]


def test_another_delimiter_is_read(tmp_path: Path) -> None:
    assert rows(file(tmp_path, 'a\tb\n1\tx,y\n2\t"p\tq"\n'), delimiter="\t") == [(1, "x,y"), (2, "p\tq")]


def test_the_event_time_is_that_of_the_key(tmp_path: Path) -> None:
    path = file(tmp_path, "ts,x\n5,1\n3,2\n9,3\n")
    source = CsvSource(path, event_time="ts", time_unit="s")
    assert source.row_schema().event_time == "ts" and source.row_schema().time_unit == "s"
    source.open(source.partitions())
    assert source.lower_bound(0) is None
    assert source.read(2) is not None
    assert source.lower_bound(0) == 5
    assert source.read(2) is not None
    assert source.lower_bound(0) == 9
    assert source.read(2) is None
    assert source.lower_bound(0) == 2**63 - 1


def test_a_slack_that_is_no_whole_unit_of_the_event_time_is_promised_rounded_up(tmp_path: Path) -> None:
    path = file(tmp_path, "ts,x\n5,1\n")
    slack = timedelta(milliseconds=1400)
    source = CsvSource(path, event_time="ts", time_unit="s", max_out_of_orderness=slack)
    source.open(source.partitions())
    assert source.read(1) is not None
    assert source.lower_bound(0) == 3


def test_a_field_of_many_lines_is_read_whatever_the_block_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [(number, "line\n" * (number % 50)) for number in range(200)]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([("a", "b"), *values])
    path = file(tmp_path, text.getvalue())
    for block_bytes in (1, 100, 1000, 10_000, 1 << 20):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
        assert rows(path, schema={"a": "int", "b": "str"}) == values


def test_a_cut_that_stray_quotes_misled_is_an_error_and_never_wrong_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 19)
    path = file(tmp_path, 'a,b\n1,5" disk\n2,"d\ne"\n3,x\n')
    source = CsvSource(path, schema={"a": "int", "b": "str"})
    with pytest.raises(DataError, match=r"line 3: quotes inside fields that are not in quotes"):
        list(read(source))
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1000)
    assert rows(path, schema={"a": "int", "b": "str"}) == [(1, '5" disk'), (2, "d\ne"), (3, "x")]
