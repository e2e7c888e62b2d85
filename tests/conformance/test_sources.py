"""What every source of files must do, run on each of them: text, csv, jsonl, parquet."""

from __future__ import annotations

import bz2
import gzip
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from actorstream.connectors import blocks, jsonl_source, parquet_source
from actorstream.connectors.text import TextSource
from actorstream.errors import ConfigurationError, DataError
from actorstream.operators.joining.table_file import file_problems
from tests.conformance.source_kinds import Csv, Jsonl, Kind, Parquet, Rows, Text, read_all, rest, values
from tests.covering import sampled


@pytest.fixture(params=[Text, Csv, Jsonl, Parquet], ids=lambda each: each.__name__.lower())
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """A kind of source, with pieces so small that a file of some rows has several."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    monkeypatch.setattr(parquet_source, "PIECE_ROWS", 3)
    made: Kind = request.param()
    return made


@pytest.fixture(params=[Text, Csv, Jsonl], ids=lambda each: each.__name__.lower())
def text_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """A kind of source whose files are text."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    made: Kind = request.param()
    return made


def test_reads_every_row_once_and_in_order(kind: Kind, tmp_path: Path) -> None:
    rows = kind.rows(50)
    kind.write(tmp_path / "a", rows)
    assert read_all(kind.source(tmp_path / "a")) == rows


@pytest.mark.parametrize("max_rows", [1, 2, 7, 50, 4096])
def test_the_rows_do_not_depend_on_the_batch_size(kind: Kind, tmp_path: Path, max_rows: int) -> None:
    rows = kind.rows(50)
    kind.write(tmp_path / "a", rows)
    assert read_all(kind.source(tmp_path / "a"), max_rows) == rows


@pytest.mark.parametrize("block_bytes", [1, 16, 100, 1 << 20])
def test_the_rows_do_not_depend_on_the_block_size(
    text_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    rows = text_kind.rows(40)
    text_kind.write(tmp_path / "a", rows)
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    assert read_all(text_kind.source(tmp_path / "a")) == rows


def test_resumes_after_every_row(kind: Kind, tmp_path: Path) -> None:
    rows = kind.rows(40)
    kind.write(tmp_path / "a", rows)
    for position in range(41):
        before = kind.source(tmp_path / "a")
        before.open(before.partitions())
        found: Rows = []
        while len(found) < position:
            batch = before.read(min(3, position - len(found)))
            assert batch is not None
            found += values(batch)
        kept = before.position()
        before.on_stop()
        assert kept == {str(tmp_path / "a"): position}
        after = kind.source(tmp_path / "a")
        after.open(after.partitions())
        after.seek(kept)
        assert found + rest(after) == rows
        assert after.position() == {str(tmp_path / "a"): 40}


def test_resumes_in_the_middle_of_the_second_pass_over_the_second_file(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "1", kind.rows(10))
    kind.write(tmp_path / "2", kind.rows(12, 10))
    whole = read_all(kind.source(tmp_path, repeat=3), 5)
    assert whole == kind.rows(10) * 3 + kind.rows(12, 10) * 3
    for position in (0, 11, 12, 17, 24, 35, 36):
        source = kind.source(tmp_path, repeat=3)
        source.open(source.partitions())
        source.seek({str(tmp_path / "1"): 30, str(tmp_path / "2"): position})
        assert rest(source) == whole[30 + position :]


@pytest.mark.parametrize(("suffix", "compress"), [(".gz", gzip.compress), (".bz2", bz2.compress)])
def test_a_compressed_file_gives_the_same_rows_and_resumes_alike(
    text_kind: Kind, tmp_path: Path, suffix: str, compress: Callable[[bytes], bytes]
) -> None:
    rows = text_kind.rows(60)
    path = tmp_path / f"a{text_kind.suffix}{suffix}"
    half = len(text_kind.data(rows)) // 2
    # a stream may consist of several compressed one after the other
    path.write_bytes(compress(text_kind.data(rows)[:half]) + compress(text_kind.data(rows)[half:]))
    assert read_all(text_kind.source(path), 7) == rows
    for position in (1, 30, 59):
        source = text_kind.source(path)
        source.open(source.partitions())
        source.seek({str(path): position})
        assert rest(source) == rows[position:]


def test_zstandard_is_decompressed_too(text_kind: Kind, tmp_path: Path) -> None:
    rows = text_kind.rows(60)
    path = tmp_path / "a.zst"
    with pa.CompressedOutputStream(pa.OSFile(str(path), "wb"), "zstd") as out:
        out.write(text_kind.data(rows))
    assert read_all(text_kind.source(path)) == rows


def test_a_broken_gz_file_is_an_error_that_names_the_file(text_kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(text_kind.data(text_kind.rows(500)))[:-40])
    with pytest.raises(DataError, match=r"a\.gz.*cannot be read"):
        read_all(text_kind.source(path))


@pytest.mark.parametrize("suffix", ["", ".gz"])
@sampled("left", [0.0, 1.0, 0.5], quick=2)
def test_a_file_that_becomes_shorter_while_it_is_read_is_an_error(
    text_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, left: float
) -> None:
    monkeypatch.setattr(jsonl_source, "BLOCK_BYTES", 64)
    path = tmp_path / f"a{suffix}"
    data = text_kind.data(text_kind.rows(5_000 if suffix else 2_500))  # a compressed file is read ahead
    parts = [data[at : at + 512] for at in range(0, len(data), 512)]
    if suffix:  # of members, so that a part of the file is a whole stream
        parts = [gzip.compress(part, 0) for part in parts]
    path.write_bytes(b"".join(parts))
    source = text_kind.source(path)
    source.open(source.partitions())
    assert source.read(5) is not None
    with path.open("r+b") as file:
        file.truncate(sum(map(len, parts[: int(left * (len(parts) - 1))])))
    shorter = r"has become shorter while it was read: \d+ bytes, \d+ when it was opened"
    with pytest.raises(
        DataError, match=rf"line \d+: ({shorter}|cannot be read: Truncated compressed stream)"
    ):
        while source.read(1000) is not None:
            pass


def test_a_file_that_has_lost_rows_since_they_were_read_is_an_error_after_a_restart(
    kind: Kind, tmp_path: Path
) -> None:
    kind.write(tmp_path / "a", kind.rows(10))
    for keys, position in ((dict[str, Any](), 11), ({"repeat": 2}, 21), ({"count": 30}, 11)):
        source = kind.source(tmp_path / "a", **keys)
        source.open(source.partitions())
        source.seek({str(tmp_path / "a"): position})
        with pytest.raises(
            DataError, match=f"a: has fewer rows than .* restart: {position - 1}, not {position}"
        ):
            source.read(5)


def test_a_file_that_is_gone_when_it_has_been_read_is_no_error(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "a", kind.rows(10))
    source = kind.source(tmp_path / "a")
    source.open(source.partitions())
    found = values(source.read(3))  # type: ignore[arg-type]
    (tmp_path / "a").unlink()
    assert found + rest(source) == kind.rows(10)


def test_a_directory_is_read_in_name_order_and_hidden_files_are_passed_over(
    kind: Kind, tmp_path: Path
) -> None:
    for name, start in (("b", 10), ("a", 0), ("c", 20)):
        kind.write(tmp_path / name, kind.rows(10, start))
    for name in (".a.tmp", "_SUCCESS"):
        (tmp_path / name).write_bytes(b"not a row")
    source = kind.source(tmp_path)
    assert source.partitions() == [str(tmp_path / name) for name in "abc"]
    assert read_all(source) == kind.rows(30)


def test_a_glob_is_read_in_name_order(kind: Kind, tmp_path: Path) -> None:
    for name, start in (("x2", 10), ("x1", 0), ("y1", 99)):
        kind.write(tmp_path / name, kind.rows(10, start))
    assert read_all(kind.source(tmp_path / "x*")) == kind.rows(20)


def test_replicas_that_share_the_files_read_each_row_once_with_the_same_origin(
    kind: Kind, tmp_path: Path
) -> None:
    for number in range(5):
        kind.write(tmp_path / str(number), kind.rows(10, 10 * number))
    names = kind.source(tmp_path).partitions()
    seen: dict[tuple[int, int], Any] = {}
    for replica in range(2):
        source = kind.source(tmp_path)
        source.open(names[replica::2])
        while (batch := source.read(4)) is not None:
            seen |= {(source.origin, source.row + number): row for number, row in enumerate(values(batch))}
    assert [seen[key] for key in sorted(seen)] == kind.rows(50)
    assert sorted(seen) == [(origin, row) for origin in range(5) for row in range(10)]


def test_a_replica_without_partitions_ends_at_once(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "a", kind.rows(3))
    assert read_all(kind.source(tmp_path / "a"), partitions=[]) == []


@pytest.mark.parametrize("replicas", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 25, 99])
def test_count_takes_the_first_rows_of_the_input_whatever_the_replicas(
    kind: Kind, tmp_path: Path, count: int, replicas: int
) -> None:
    for number in range(3):
        kind.write(tmp_path / str(number), kind.rows(10, 10 * number))
    found: Rows = []
    for replica in range(replicas):
        source = kind.source(tmp_path, count=count)
        found += read_all(source, 4, source.partitions()[replica::replicas])
    assert sorted(found, key=repr) == sorted(kind.rows(30)[:count], key=repr)


def test_repeat_without_end_stops_at_count(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "a", kind.rows(4))
    assert read_all(kind.source(tmp_path / "a", repeat=0, count=10), 3) == (kind.rows(4) * 3)[:10]


def test_a_file_of_no_bytes_has_no_rows(text_kind: Kind, tmp_path: Path) -> None:
    for name in ("a", "a.gz"):
        (tmp_path / name).write_bytes(b"")
        assert read_all(text_kind.source(tmp_path / name)) == []
    (tmp_path / "b").write_bytes(text_kind.data(text_kind.rows(2)))
    assert read_all(text_kind.source(tmp_path, repeat=0, count=5)) == (text_kind.rows(2) * 3)[:5]


def test_a_file_of_no_rows_has_no_rows(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "a", [])
    assert read_all(kind.source(tmp_path / "a")) == []


def test_the_last_line_needs_no_end(text_kind: Kind, tmp_path: Path) -> None:
    rows = text_kind.rows(9)
    (tmp_path / "a").write_bytes(text_kind.data(rows).removesuffix(b"\n"))
    assert read_all(text_kind.source(tmp_path / "a")) == rows


@pytest.mark.parametrize("block_bytes", [1, 5, 64])
def test_both_line_ends_are_read(
    text_kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_bytes: int
) -> None:
    monkeypatch.setattr(blocks, "BLOCK_BYTES", block_bytes)
    rows = [row for row in text_kind.rows(20) if "\n" not in str(row[min(1, len(row) - 1)])]
    (tmp_path / "a").write_bytes(text_kind.data(rows).replace(b"\n", b"\r\n"))
    assert read_all(text_kind.source(tmp_path / "a"), 3) == rows


def test_a_byte_order_mark_is_dropped(text_kind: Kind, tmp_path: Path) -> None:
    rows = text_kind.rows(5)
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf" + text_kind.data(rows))
    assert read_all(text_kind.source(tmp_path / "a")) == rows


def test_blank_lines_are_rows_of_text_and_nothing_elsewhere(text_kind: Kind, tmp_path: Path) -> None:
    rows = text_kind.rows(3)
    head, *lines = text_kind.data(rows).split(b"\n", 1)
    (tmp_path / "a").write_bytes(head + b"\n\n\n" + lines[0] + b"\n")
    expected = [rows[0], ("",), ("",), *rows[1:], ("",)] if isinstance(text_kind, Text) else rows
    assert read_all(text_kind.source(tmp_path / "a")) == expected
    source = text_kind.source(tmp_path / "a")
    source.open(source.partitions())
    source.seek({str(tmp_path / "a"): 2})
    assert rest(source) == expected[2:]


def test_progress_counts_the_bytes_of_the_input_as_it_is_stored(kind: Kind, tmp_path: Path) -> None:
    for name in "ab":
        kind.write(tmp_path / name, kind.rows(50))
    total = sum((tmp_path / name).stat().st_size for name in "ab")
    source = kind.source(tmp_path)
    source.open(source.partitions())
    steps = [source.progress()]
    while source.read(1000) is not None:
        steps.append(source.progress())
    steps.append(source.progress())
    assert steps[0] == (0, total)
    assert steps[-1] == (total, total)
    assert steps == sorted(steps)


def test_a_path_that_leads_nowhere_is_a_problem_with_the_nearest_name(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "prices", kind.rows(1))
    for wrong in ("price", "prices*x", "nothere/prices"):
        problems = kind.cls.check({**kind.keys, "path": tmp_path / wrong}, [], tmp_path)
        assert [each.where for each in problems] == ["path"]
    assert "prices" in kind.cls.check({**kind.keys, "path": tmp_path / "price"}, [], tmp_path)[0].hint
    with pytest.raises(ConfigurationError, match="does not exist"):
        kind.source(tmp_path / "price").partitions()


def test_an_empty_directory_is_a_problem(kind: Kind, tmp_path: Path) -> None:
    problems = kind.cls.check({**kind.keys, "path": tmp_path}, [], tmp_path)
    assert "has no files" in str(problems[0])


def test_a_relative_path_starts_at_the_folder_of_the_topology(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "a", kind.rows(1))
    assert kind.cls.check({**kind.keys, "path": "a"}, [], tmp_path) == []


def test_reading_again_after_seek_to_the_start_gives_the_same(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "a", kind.rows(20))
    source = kind.source(tmp_path / "a")
    source.open(source.partitions())
    first = source.read(5)
    assert first is not None
    source.seek({})
    assert rest(source) == kind.rows(20)


def test_stopping_in_the_middle_closes_the_files(kind: Kind, tmp_path: Path) -> None:
    kind.write(tmp_path / "a", kind.rows(500))
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(20):
        source = kind.source(tmp_path / "a")
        source.open(source.partitions())
        assert source.read(5) is not None
        source.on_stop()
    assert len(list(Path("/proc/self/fd").iterdir())) <= before + 1


# -- pipes and devices


def feed(pipe: Path, data: bytes) -> Future[None]:
    """Writes into a pipe as soon as it is read."""
    pool = ThreadPoolExecutor(1)
    written = pool.submit(pipe.write_bytes, data)
    pool.shutdown(wait=False)
    return written  # type: ignore[return-value]


def test_a_pipe_is_read_where_its_fields_are_declared_and_never_opened_before(
    text_kind: Kind, tmp_path: Path
) -> None:
    rows = text_kind.rows(500)
    for name, data in (("a", text_kind.data(rows)), ("a.gz", gzip.compress(text_kind.data(rows)))):
        os.mkfifo(tmp_path / name)
        assert text_kind.cls.check({**text_kind.keys, "path": tmp_path / name}, [], tmp_path) == []
        source = text_kind.source(tmp_path / name)
        written = feed(tmp_path / name, data)
        assert read_all(source) == rows
        written.result()


def test_a_pipe_whose_fields_nobody_declares_is_a_problem_and_not_opened(kind: Kind, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")
    problems = kind.cls.check({"path": tmp_path / "a"}, [], tmp_path)
    assert [each.where for each in problems] == ["path"] * (kind.cls is not TextSource)
    assert all("is a pipe or a device" in each.message for each in problems)


def test_a_table_that_is_a_pipe_is_a_problem_and_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "table.csv")
    (problem,) = file_problems(tmp_path / "table.csv", {})
    assert problem.where == "table" and "is a pipe or a device" in problem.message


def test_a_device_without_an_end_is_a_problem_and_an_empty_one_is_not(
    text_kind: Kind, tmp_path: Path
) -> None:
    (problem,) = text_kind.cls.check({**text_kind.keys, "path": "/dev/zero"}, [], tmp_path)
    assert problem.message == "'/dev/zero' is a device without an end"
    assert text_kind.cls.check({**text_kind.keys, "path": "/dev/null"}, [], tmp_path) == []
    assert read_all(text_kind.source(Path("/dev/null"))) == []
