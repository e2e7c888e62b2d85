"""Rows of files as sinks write them: compressed, in parts, as Parquet."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from actorstream.verify.rows import parts_of, rows_of, same_bytes
from actorstream.verify.sinks import SinkOutput

CSV = SinkOutput("out", "file", "sequence", "a.csv", header=True, format="csv")


@pytest.mark.parametrize("ending", ["", ".gz", ".GZ", ".bz2"])
def test_csv_rows_are_records_behind_the_header(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a.csv{ending}"
    data = b'word,n\na,1\n"b\nc",2\n'
    path.write_bytes({"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}[ending.lower()](data))
    rows = rows_of([path], CSV)
    assert list(rows()) == [b"a,1", b'"b\nc",2']
    assert list(rows()) == list(rows())


def test_every_part_has_its_own_header_and_parts_come_by_name(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for number in (1, 0):
        (folder / f"part-0000{number}.csv").write_text(f"n\n{number}\n")
    output = SinkOutput("out", "file", "multiset", "parts", header=True, format="csv")
    parts = parts_of(folder)
    assert [part.name for part in parts] == ["part-00000.csv", "part-00001.csv"]
    assert list(rows_of(parts, output)()) == [b"0", b"1"]
    assert parts_of(tmp_path / "none") == []


def test_lines_are_rows_and_a_missing_file_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    output = SinkOutput("out", "file", "sequence", "a.jsonl")
    assert list(rows_of(parts_of(path), output)()) == []
    path.write_text('{"a":"\\""}\n{"b":1}\n')
    assert list(rows_of(parts_of(path), output)()) == [b'{"a":"\\""}', b'{"b":1}']


def test_parquet_rows_are_values_however_they_are_grouped(tmp_path: Path) -> None:
    table = pa.table({"n": [1, None, 3], "t": ["a", "b", None]})
    output = SinkOutput("out", "file", "sequence", "a.parquet", format="parquet")
    found = []
    for size in (1, 3):
        pq.write_table(table, tmp_path / f"{size}.parquet", row_group_size=size)
        found.append(list(rows_of([tmp_path / f"{size}.parquet"], output)()))
    assert found == [[b"1, 'a'", b"None, 'b'", b"3, None"]] * 2


def test_files_are_the_same_byte_for_byte_or_not(tmp_path: Path) -> None:
    for name, data in (
        ("a", b"x" * 3_000_000),
        ("b", b"x" * 3_000_000),
        ("c", b"x" * 2_999_999 + b"y"),
        ("d", b""),
    ):
        (tmp_path / name).write_bytes(data)
    assert same_bytes(tmp_path / "a", tmp_path / "b")
    assert not same_bytes(tmp_path / "a", tmp_path / "c")
    assert not same_bytes(tmp_path / "a", tmp_path / "d")
