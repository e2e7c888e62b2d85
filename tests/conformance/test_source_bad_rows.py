"""What every source of files must do with rows that do not parse."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorstream.connectors import blocks
from actorstream.connectors.parquet_source import ParquetSource
from actorstream.errors import DataError
from tests.conformance.source_kinds import Csv, Jsonl, Kind, Parquet, Text, read_all, rest, sample, values


@pytest.fixture(params=[Text, Csv, Jsonl], ids=lambda each: each.__name__.lower())
def text_kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Kind:
    """A kind of source whose files are text."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    made: Kind = request.param()
    return made


BAD = {
    Text: (b"good\nb\xffd\nfine\n", [("good",), ("fine",)], 2, "line"),
    Csv: (b"ts,word,price\n1,good,1\nx,bad,1\n3,fine,\n", [(1, "good", 1.0), (3, "fine", None)], 3, "ts"),
    Jsonl: (
        b'{"ts":1,"word":"good","price":1}\n{"ts":"x","word":"bad"}\n{"ts":"3","word":"fine","price":null}\n',
        [(1, "good", 1.0), (3, "fine", None)],
        2,
        "ts",
    ),
}


def test_a_row_that_does_not_parse_fails_with_file_line_and_column(text_kind: Kind, tmp_path: Path) -> None:
    data, good, line, column = BAD[type(text_kind)]
    (tmp_path / "a").write_bytes(data)
    source = text_kind.source(tmp_path / "a")
    source.open(source.partitions())
    first = source.read(10)
    assert first is not None and values(first) == good[:1]
    with pytest.raises(DataError) as caught:
        source.read(10)
    assert (caught.value.file, caught.value.line, caught.value.column) == (str(tmp_path / "a"), line, column)


@pytest.mark.parametrize("mode", ["skip", "dead-letter"])
def test_rows_that_do_not_parse_are_dropped_where_that_is_asked_for(
    text_kind: Kind, tmp_path: Path, mode: str
) -> None:
    data, good, line, _ = BAD[type(text_kind)]
    (tmp_path / "a").write_bytes(data)
    source = text_kind.source(tmp_path / "a")
    source.on_bad_row = mode
    assert read_all(source) == good
    assert source.bad_rows == 1
    assert source.position() == {str(tmp_path / "a"): 3}
    dead = source.take_dead()
    if mode == "skip":
        assert dead is None
    else:
        assert dead is not None and dead.rows == 1
        event, error, _ = values(dead)[0]
        assert event == data.split(b"\n")[line - 1].decode(errors="replace")
        assert f"line {line}" in error
        assert source.take_dead() is None


def test_positions_count_rows_that_do_not_parse_so_a_resumed_source_goes_on_alike(
    text_kind: Kind, tmp_path: Path
) -> None:
    data, good, _, _ = BAD[type(text_kind)]
    (tmp_path / "a").write_bytes(data)
    for position, expected in ((0, good), (1, good[1:]), (2, good[1:]), (3, [])):
        source = text_kind.source(tmp_path / "a")
        source.on_bad_row = "skip"
        source.open(source.partitions())
        source.seek({str(tmp_path / "a"): position})
        assert rest(source) == expected


def test_a_null_where_none_is_allowed_is_a_row_that_does_not_parse(tmp_path: Path) -> None:
    Parquet().write(tmp_path / "a", sample(3))
    source = ParquetSource(tmp_path / "a", schema={"price": "float"})
    source.on_bad_row = "dead-letter"
    assert read_all(source) == [(0.25,), (0.5,)]
    dead = source.take_dead()
    assert dead is not None and values(dead)[0][0] == "{'price': None}"


def test_many_rows_that_do_not_parse_are_handed_on_though_no_other_comes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"ts,word,price\n" + b"x,bad,1\n" * 5_000 + b"1,good,1\n")
    source = Csv().source(tmp_path / "a")
    source.on_bad_row = "dead-letter"
    source.open(source.partitions())
    counts, rows = [], []
    while (batch := source.read(100)) is not None:
        dead = source.take_dead()
        counts.append(0 if dead is None else dead.rows)
        rows += values(batch)
        assert sum(source.position().values()) == sum(counts) + len(rows)
    assert rows == [(1, "good", 1.0)]
    assert sum(counts) == 5_000 and max(counts) == 4096
