"""Files as blocks: every byte once, cut only at record ends, whatever the sizes."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream.connectors import blocks
from actorstream.connectors.blocks import BlockReader, RecordBlock, count_lines, occurrences
from actorstream.errors import DataError


def all_blocks(path: Path, block_bytes: int) -> list[RecordBlock]:
    reader = BlockReader(str(path), block_bytes=block_bytes)
    found = []
    while (block := reader.next()) is not None:
        found.append(block)
    assert reader.next() is None
    reader.close()
    return found


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.binary(max_size=60).map(lambda data: data.replace(b"\x01", b"\n")), st.integers(1, 20), st.booleans()
)
def test_blocks_are_the_file_cut_at_line_ends(tmp_path: Path, data: bytes, size: int, zipped: bool) -> None:
    path = tmp_path / ("a.gz" if zipped else "a")
    path.write_bytes(gzip.compress(data) if zipped else data)
    found = all_blocks(path, size)
    assert b"".join(block.data for block in found) == data.removeprefix(blocks.BOM)
    assert all(block.data.endswith(b"\n") for block in found[:-1])
    assert all(block.data for block in found)
    assert [block.final for block in found] == [False] * (len(found) - 1) + [True] * bool(found)
    lines = 0
    for block in found:
        assert block.lines == lines
        lines += block.data.count(b"\n")
    if found:
        assert found[-1].done == path.stat().st_size
        assert [block.done for block in found] == sorted(block.done for block in found)


@pytest.mark.parametrize("data", [b"\xef\xbb\xbf", b"\xef\xbb\xbfa", b"\xef\xbb", b"\xef", b"a\xef\xbb\xbf"])
@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_byte_order_mark_is_dropped_however_it_arrives(tmp_path: Path, data: bytes, size: int) -> None:
    (tmp_path / "a").write_bytes(data)
    found = b"".join(block.data for block in all_blocks(tmp_path / "a", size))
    assert found == (data[3:] if data.startswith(b"\xef\xbb\xbf") else data)


def test_a_long_record_is_read_in_few_steps(tmp_path: Path) -> None:
    steps = []

    def boundary(data: bytearray, start: int, stop: int) -> int:
        steps.append(stop)
        return blocks.last_newline(data, start, stop)

    (tmp_path / "a").write_bytes(b"x" * 1_000_000 + b"\n" + b"y\n")
    reader = BlockReader(str(tmp_path / "a"), boundary, 100)
    first = reader.next()
    assert first is not None and first.data.startswith(b"x" * 1_000_000 + b"\n")
    assert len(steps) < 20
    reader.close()


def test_a_record_past_the_limit_is_an_error_that_says_where_it_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "MAX_RECORD_BYTES", 1000)
    (tmp_path / "a").write_bytes(b"fine\n" * 3 + b"x" * 5000)
    with pytest.raises(DataError, match=r"a, line 4: a record is longer than 0 MiB"):
        all_blocks(tmp_path / "a", 15)


def test_a_file_that_cannot_be_opened_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing: cannot be opened: No such file"):
        BlockReader(str(tmp_path / "nothing"))


@given(st.lists(st.sampled_from([b"", b"x", b"yy"])).map(b"\n".join))
def test_lines_that_are_not_empty_are_counted(data: bytes) -> None:
    assert count_lines(data) == sum(bool(line) for line in data.split(b"\n"))
    assert occurrences(data, b"y") == data.count(b"y")
