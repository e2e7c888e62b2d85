"""csv_text against Python's csv module, and the rules of docs/connectors.md."""

from __future__ import annotations

import csv
import io
import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.connectors.csv_text import csv_text, header_line
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema

texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["", ",", '"', '""', "\n", "\r\n", "\r", "a,b", "\x1c", "\x1d,\x1f", " a ", "nan", "1"]
)


def written(columns: dict[str, list[object]], types: dict[str, str], delimiter: str = ",") -> str:
    return bytes(csv_text(Batch.of_columns(Schema.from_dict(types), columns), delimiter)).decode()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(texts, st.none() | texts, st.integers(-(2**63), 2**63 - 1)), max_size=20))
def test_python_reads_the_same_texts(rows: list[tuple[str, str | None, int]]) -> None:
    columns = {name: [row[number] for row in rows] for number, name in enumerate("abc")}
    text = written(columns, {"a": "str", "b": "str?", "c": "int"})
    found = list(csv.reader(io.StringIO(text, newline="")))
    assert found == [[a, b or "", str(c)] for a, b, c in rows]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(*[texts.filter(lambda text: not set("\r\0") & set(text))] * 2), min_size=1, max_size=20
    )
)
def test_quotes_are_only_where_python_puts_them_and_around_empty_texts(rows: list[tuple[str, str]]) -> None:
    columns = {name: [row[number] for row in rows] for number, name in enumerate("ab")}
    expected = io.StringIO(newline="")
    csv.writer(expected, lineterminator="\n").writerows(
        [("\0" if cell == "" else cell) for cell in row] for row in rows
    )
    assert written(columns, {"a": "str", "b": "str"}) == expected.getvalue().replace("\0", '""')


@settings(max_examples=200, deadline=None)
@given(st.lists(st.none() | st.floats(), max_size=20))
def test_floats_keep_their_value_and_whole_ones_look_like_floats(values: list[float | None]) -> None:
    lines = written({"a": values, "b": [1] * len(values)}, {"a": "float?", "b": "int"}).splitlines()
    for value, line in zip(values, lines, strict=True):
        text = line.removesuffix(",1")
        if value is None:
            assert text == ""
            continue
        again = float(text)
        assert again == value or (math.isnan(again) and math.isnan(value))
        assert math.copysign(1, again) == math.copysign(1, value) or math.isnan(value)
        if math.isfinite(value):
            assert "." in text or "e" in text
            if value == math.floor(value) and abs(value) < 1e16:
                assert text == repr(value)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.none() | st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)), max_size=20))
def test_times_are_what_isoformat_says_with_a_z(values: list[datetime | None]) -> None:
    aware = [None if value is None else value.replace(tzinfo=UTC) for value in values]
    lines = written({"a": aware, "b": [1] * len(values)}, {"a": "datetime?", "b": "int"}).splitlines()
    assert lines == [f"{'' if value is None else value.isoformat() + 'Z'},1" for value in values]


@pytest.mark.parametrize(
    ("types", "columns", "text"),
    [
        ({"a": "bool"}, {"a": [True, False]}, "true\nfalse\n"),
        ({"a": "bool?", "b": "int8?"}, {"a": [None, True], "b": [-1, None]}, ",-1\ntrue,\n"),
        ({"a": "float32"}, {"a": np.array([0.1, 2.0], np.float32)}, "0.1\n2.0\n"),
        ({"a": "bytes", "b": "int"}, {"a": [b"x,y", b""], "b": [1, 2]}, '"x,y",1\n"",2\n'),
        ({"a": "uint64"}, {"a": [2**64 - 1]}, "18446744073709551615\n"),
        (
            {"a": "float"},
            {"a": [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e300]},
            "nan\ninf\n-inf\n-0.0\n0.0\n1e+300\n",
        ),
        ({"a": "str"}, {"a": []}, ""),
    ],
)
def test_values_look_as_documented(
    types: dict[str, str], columns: dict[str, list[object]], text: str
) -> None:
    assert written(columns, types) == text


def test_another_delimiter_is_quoted_and_a_comma_is_not() -> None:
    assert written({"a": ["x;y", "x,y"], "b": [1, 2]}, {"a": "str", "b": "int"}, ";") == '"x;y";1\nx,y;2\n'


def test_a_header_is_quoted_where_needed() -> None:
    assert header_line(["a", "b,c", "d e"]) == b'a,"b,c",d e\n'


def test_a_slice_of_a_batch_is_written_from_its_own_rows() -> None:
    schema = Schema.from_dict({"a": "str", "b": "float?", "c": "bool", "d": "datetime?"})
    when = [datetime(2020, 1, 1, tzinfo=UTC), None] * 50
    columns = {"a": [f"{n},x" for n in range(100)], "b": [None, 1.0] * 50, "c": [True, False] * 50, "d": when}
    batch = Batch.of_columns(schema, columns)
    whole = bytes(csv_text(batch))
    parts = b"".join(
        bytes(csv_text(batch.slice(first, 7 if first < 98 else 2))) for first in range(0, 100, 7)
    )
    assert parts == whole
