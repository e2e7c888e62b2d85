"""Row groups of real files: which follow one another in time, and how a task reads those that it was dealt."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import date
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from actorstream.errors import DataError
from actorstream.spark.ahead import Ahead
from actorstream.spark.frames import encode_batch
from actorstream.spark.group_reader import group_batches, with_zeros
from actorstream.spark.row_groups import RowGroups, dealt, groups_in_order

COLUMNS = ["t", "name"]


def write(path: Path, times: list[int | None], group: int = 4, kind: Any = None, **more: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    names = [None if time is None or time % 3 == 0 else f"n{time}" for time in times]
    columns = {"t": pa.array(times, kind or pa.int64()), "name": names, "other": [0.5] * len(times), **more}
    pq.write_table(pa.table(columns), path, row_group_size=group)
    return path


def found_in(path: Path, columns: list[str] | None = None) -> RowGroups:
    found = groups_in_order(path, columns or COLUMNS, "t")
    assert found is not None
    return found


def rows_of(found: RowGroups, batch_rows: int = 3) -> list[Any]:
    batches = list(group_batches(found.groups, found.fields, "t", batch_rows))
    assert all(batch.schema == found.fields and batch.num_rows <= batch_rows for batch in batches)
    return [row["t"] for batch in batches for row in batch.to_pylist()]


def test_files_and_groups_come_by_time_whatever_they_are_called(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", [0, 1, 1, 2, 2, 5])
    write(tmp_path / "a.parquet", [5, 7, 8, 9])
    (tmp_path / "_SUCCESS").touch()
    found = found_in(tmp_path)
    assert [(Path(group.path).name, *group[1:]) for group in found.groups] == [
        ("b.parquet", 0, 4, 0, 2),
        ("b.parquet", 1, 2, 2, 5),
        ("a.parquet", 0, 4, 5, 9),
    ]
    assert rows_of(found) == [0, 1, 1, 2, 2, 5, 5, 7, 8, 9]
    assert found_in(tmp_path / "*.parquet").groups == found.groups


def test_a_group_that_is_not_by_time_is_sorted_and_equal_times_stay_as_they_were(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [3, 0, 3, 1, 9, 4], more=list(range(6)))
    found = found_in(path, ["t", "more"])
    rows = [
        tuple(row.values())
        for batch in group_batches(found.groups, found.fields, "t", 3)
        for row in batch.to_pylist()
    ]
    assert rows == [(0, 1), (1, 3), (3, 0), (3, 2), (4, 5), (9, 4)]


def test_groups_of_dates_begin_and_end_in_microseconds(tmp_path: Path) -> None:
    day = 86_400_000_000
    found = found_in(write(tmp_path / "a.parquet", [0, 2, 1, 2, 2, 5], kind=pa.date32()))
    assert [group[2:] for group in found.groups] == [(4, 0, 2 * day), (2, 2 * day, 5 * day)]
    assert rows_of(found) == [date(1970, 1, 1 + number) for number in (0, 1, 2, 2, 2, 5)]


@pytest.mark.parametrize(
    ("times", "kind"),
    [
        ([0, 5, 6, 7, 6, 9], None),  # the second group begins before the first one ends
        ([0, 1, None, 3], None),
        ([0, 1, 2], pa.uint32()),
        ([0, 1, 2], pa.timestamp("ms")),
        ([], None),
    ],
)
def test_spark_sorts_what_is_not_known_to_be_in_order(tmp_path: Path, times: list[Any], kind: Any) -> None:
    assert groups_in_order(write(tmp_path / "a.parquet", times, kind=kind), COLUMNS, "t") is None


def test_spark_reads_what_arrow_alone_cannot_be_sure_of(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", [0, 1])
    assert groups_in_order(tmp_path, [*COLUMNS, "missing"], "t") is None
    assert groups_in_order(tmp_path / "none.parquet", COLUMNS, "t") is None
    write(tmp_path / "day=1" / "b.parquet", [2, 3])
    assert groups_in_order(tmp_path, COLUMNS, "t") is None
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.txt").write_text("t\n1\n")
    assert groups_in_order(tmp_path / "text", COLUMNS, "t") is None


def test_files_that_are_written_anew_have_another_digest(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [0, 1, 2])
    digests = {found_in(path).digest, found_in(path).digest}
    write(path, [0, 1, 2], other=pa.array([1.0] * 3))
    assert len(digests | {found_in(path).digest}) == 2


def test_a_file_that_changes_between_footer_and_rows_is_an_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [0, 1, 2])
    found = found_in(path)
    write(path, [0, 1, 3])
    with pytest.raises(DataError, match="from 0 to 3, and the footer says 3 from 0 to 2"):
        rows_of(found)


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.int8(), pa.timestamp("us", "UTC")])
def test_equal_rows_give_equal_bytes_whatever_lay_below_their_nulls(kind: Any) -> None:
    width = kind.bit_width // 8
    valid = pa.py_buffer(bytes([0b101]))
    columns = [
        with_zeros(pa.Array.from_buffers(kind, 3, [valid, pa.py_buffer(bytes([below]) * 3 * width)]))
        for below in (7, 7, 9)
    ]
    assert all(column.is_null().to_pylist() == [False, True, False] for column in columns)
    assert {bytes(column.buffers()[1])[width : 2 * width] for column in columns} == {bytes(width)}
    payloads = {bytes(encode_batch(pa.record_batch({"a": column}))) for column in columns}
    assert len(payloads) == 2  # the values that are not null differ in one of the three


def test_ranges_begin_at_groups_and_tasks_take_turns(tmp_path: Path) -> None:
    found = found_in(write(tmp_path / "a.parquet", list(range(20))))
    assert found.bounds(7) == [2, 4]
    ranges = dealt(found.groups, found.bounds(7), 2)
    assert [[[group.number for group in task] for task in tasks] for tasks in ranges] == [
        [[0], [1]],
        [[2], [3]],
        [[4], []],
    ]


def test_reading_ahead_stops_at_so_many_bytes_and_ends_with_its_block() -> None:
    made = []
    full = threading.Event()

    def items() -> Iterator[tuple[bytes, int]]:
        for number in count():
            made.append(number)
            if number == 3:
                full.set()
            yield bytes(10), number

    with Ahead(items(), 40) as found:
        assert full.wait(60)
        assert [next(found)[1] for _ in range(3)] == [0, 1, 2]
    assert len(made) <= 3 + 5
    assert not [each for each in threading.enumerate() if each.name == "spark-ahead"]


def test_an_error_while_reading_ahead_comes_behind_what_was_read() -> None:
    def items() -> Iterator[tuple[bytes, int]]:
        yield b"", 1
        raise DataError("damaged")

    with Ahead(items(), 40) as found:
        assert next(found)[1] == 1
        with pytest.raises(DataError, match="damaged"):
            next(found)
