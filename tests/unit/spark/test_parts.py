from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from actorstream.errors import ConfigurationError
from actorstream.spark.parts import MOST_FILES, FileFormat, Part, PartError, write_part
from actorstream.spark.streams import StreamBlocks


def rows(*times: int | None) -> Any:
    names = [None if time is None else f'name "{time}"' for time in times]
    return pa.record_batch({"ts": pa.array(times, pa.int64()), "name": pa.array(names, pa.string())})


def read_csv(path: Path) -> Any:
    return gzip.decompress(path.read_bytes()).decode()


READ: dict[str, Callable[[Path], Any]] = {
    "csv": read_csv,
    "jsonl": lambda path: [json.loads(line) for line in read_csv(path).splitlines()],
    "parquet": lambda path: pq.read_table(path).to_pylist(),
}
PAIRS = [{"ts": 1, "name": 'name "1"'}, {"ts": 1, "name": 'name "1"'}, {"ts": 3, "name": 'name "3"'}]
EXPECTED = {
    "csv": 'ts,name\n1,"name ""1"""\n1,"name ""1"""\n3,"name ""3"""\n',
    "jsonl": PAIRS,
    "parquet": PAIRS,
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_part_has_the_rows_in_its_format_and_is_described(tmp_path: Path, name: str) -> None:
    how = FileFormat(name, compress=True)
    part = write_part(tmp_path / "s", 7, [rows(1, 1), rows(), rows(3)], how, "ts")
    path = tmp_path / "s" / f"part-00007{how.ending}"
    data = path.read_bytes()
    assert part == Part(f"s/{path.name}", 3, 1, 3, len(data), hashlib.sha256(data).hexdigest())
    assert READ[name](path) == EXPECTED[name]
    again = write_part(tmp_path / "again", 7, [rows(1, 1), rows(3)], how, "ts")
    assert again is not None
    assert (again.sha256 == part.sha256) or name == "parquet"


def test_text_and_csv_without_a_header_are_lines_only(tmp_path: Path) -> None:
    write_part(tmp_path, 0, [rows(1).select(["name"])], FileFormat("text"), None)
    write_part(tmp_path, 0, [rows(1)], FileFormat("csv", header=False), "ts")
    assert (tmp_path / "part-00000.txt").read_text() == 'name "1"\n'
    assert (tmp_path / "part-00000.dat").read_text() == '1,"name ""1"""\n'


@pytest.mark.parametrize(
    ("batches", "wrong"),
    [
        ([rows(1, 3, 2)], "'ts' descends behind row 0"),
        ([rows(1, 3), rows(2)], "'ts' descends behind row 2"),
        ([rows(1), rows(2, None)], "a row after row 1 has no 'ts'"),
    ],
)
def test_rows_out_of_order_or_without_a_time_leave_no_file(
    tmp_path: Path, batches: list[Any], wrong: str
) -> None:
    with pytest.raises(PartError, match=wrong):
        write_part(tmp_path, 0, batches, FileFormat("csv"), "ts")
    assert list(tmp_path.iterdir()) == []


def test_a_part_without_rows_is_no_file(tmp_path: Path) -> None:
    assert write_part(tmp_path, 0, [rows()], FileFormat("csv"), "ts") is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [-1, MOST_FILES])
def test_a_file_whose_name_would_not_be_in_the_order_of_its_number_is_refused(
    tmp_path: Path, number: int
) -> None:
    with pytest.raises(
        PartError, match=rf"{tmp_path.name}: a row lies in file {number}; allowed: 0 to 99999"
    ):
        write_part(tmp_path, number, [rows(1)], FileFormat("csv"), "ts")
    write_part(tmp_path, MOST_FILES - 1, [rows(1)], FileFormat("csv"), "ts")
    assert [path.name for path in tmp_path.iterdir()] == ["part-99999.csv"]


def test_a_stream_of_more_blocks_than_files_have_names_is_refused_before_it_is_written() -> None:
    with pytest.raises(ConfigurationError, match=r"blocks of 'many': are 100,001, .*; allowed: 0 to 100,000"):
        StreamBlocks("many", lambda block: [rows(block)], MOST_FILES + 1)
