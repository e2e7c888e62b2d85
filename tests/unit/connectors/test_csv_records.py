"""Where csv records end, against Python's csv module and Arrow's reader."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actorstream.connectors.csv_records import CsvRecords

RECORDS = CsvRecords(",")
cells = st.text(st.sampled_from('ab," \n;'), max_size=6)


def boundary_of(data: bytes) -> int:
    """The boundary of `data`, with more behind it that does not count."""
    return RECORDS.boundary(data + b'"\n', 0, len(data))


def arrow_rows(data: bytes) -> list[list[str]]:
    options = pacsv.ReadOptions(use_threads=False, block_size=2**30, column_names=["a", "b"])
    convert = pacsv.ConvertOptions(column_types={"a": pa.string(), "b": pa.string()})
    table = pacsv.read_csv(pa.BufferReader(data), options, pacsv.ParseOptions(), convert)
    return [list(row.values()) for row in table.to_pylist()]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_records_are_those_that_python_wrote(rows: list[tuple[str, str]], end: str) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows(rows)
    data = text.getvalue().encode()
    found = RECORDS.scan(data)
    assert len(found) == len(rows)
    assert all(record.fields == 2 and record.closed for record in found)
    again = [next(csv.reader([data[each.start : each.end].decode()], strict=True), None) for each in found]
    assert again == [list(row) for row in rows] or any(
        "\n" in cell or "\r" in cell for row in rows for cell in row
    )
    boundary = boundary_of(data)
    assert boundary == len(data)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=12), st.integers(0, 200))
def test_a_block_is_cut_only_between_records(rows: list[tuple[str, str]], cut: int) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    data = text.getvalue().encode()
    ends = {0} | {each.end + 1 for each in RECORDS.scan(data)}
    boundary = boundary_of(data[:cut])
    assert boundary in ends
    assert boundary == max(end for end in ends if end <= cut)


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('ab," \n'), max_size=30))
def test_any_text_has_the_records_that_arrow_sees(text: str) -> None:
    data = text.encode() + b"\n"
    found = RECORDS.scan(data)
    if any(each.fields != 2 or not each.closed for each in found) or not found:
        return
    assert len(arrow_rows(data)) == len(found)


@pytest.mark.parametrize(
    ("data", "boundary"),
    [
        (b"", 0),
        (b"a,b", 0),
        (b"a,b\n", 4),
        (b"a,b\nc", 4),
        (b'a,"b\nc', 0),
        (b'a,b\n"c\nd', 4),
        (b'a,b\n"c\nd"\ne', 10),
        (b'5" disk,b\nc,d\ne', 14),
        (b'a,"b""\nc', 0),
    ],
)
def test_the_boundary_is_the_last_line_end_outside_quotes(data: bytes, boundary: int) -> None:
    assert boundary_of(data) == boundary


def test_a_record_says_its_line_its_fields_and_whether_its_quotes_are_closed() -> None:
    data = b'a,b\n\n"c\nd",e,f\r\nlast,"open\n'
    found = RECORDS.scan(data)
    assert [(each.line, each.fields, each.closed) for each in found] == [
        (0, 2, True),
        (2, 3, True),
        (4, 2, False),
    ]
    assert [data[each.start : each.end] for each in found] == [b"a,b", b'"c\nd",e,f', b'last,"open\n']


def test_empty_lines_are_records_where_they_are_asked_for() -> None:
    assert [each.line for each in RECORDS.scan(b"1\n\n2\n", blank=True)] == [0, 1, 2]
    assert len(RECORDS.scan(b"\n\n", blank=True)) == 2
    assert RECORDS.scan(b"\n\n") == []


def test_the_first_record_is_that_after_empty_lines() -> None:
    first = RECORDS.first(b"\n\r\na,b\r\nc")
    assert first is not None and (first.start, first.end, first.line) == (3, 6, 2)
    assert RECORDS.first(b"\n\n") is None


def test_a_carriage_return_ends_a_record_only_before_a_newline() -> None:
    data = b'a,b\r\nc\rd,e\n"f\rg",h\n"i"\r,j\nk,\r\r\nl,m\r'
    found = RECORDS.scan(data)
    assert [(each.line, each.fields, each.stray) for each in found] == [
        (0, 2, False),
        (1, 2, True),
        (2, 2, False),
        (3, 2, True),
        (4, 2, True),
        (5, 2, True),
    ]
