"""text-source against Python's own splitting, and lines as long as they come."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actorstream.connectors import blocks
from actorstream.connectors.text import Line, TextSource
from actorstream.events.schema import Schema


def lines(path: Path, max_rows: int = 1000) -> list[str]:
    source = TextSource(path)
    source.open(source.partitions())
    found: list[str] = []
    while (batch := source.read(max_rows)) is not None:
        found += batch.column("line").tolist()
    return found


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8") | st.sampled_from("\n\r"), max_size=60), st.integers(1, 30))
def test_the_lines_are_those_between_the_newlines(tmp_path: Path, text: str, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        path = tmp_path / "a"
        path.write_bytes(text.encode())
        plain = text.removeprefix("\ufeff")
        expected = plain.removesuffix("\n").split("\n") if plain else []
        ended = [*([True] * (len(expected) - 1)), plain.endswith("\n")]
        assert lines(path) == [line.removesuffix("\r") if end else line for line, end in zip(expected, ended)]


def test_the_rows_are_lines(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x\n")
    source = TextSource(tmp_path / "a")
    assert source.row_schema() == Schema.of(Line)
    assert TextSource.output_types({"path": tmp_path / "a"}, []) == {"default": Schema.of(Line)}


def test_a_line_of_64_megabytes_passes(tmp_path: Path) -> None:
    size = 64 << 20
    with (tmp_path / "a").open("wb") as file:
        file.write(b"before\n" + b"x" * size + b"\nafter\n")
    source = TextSource(tmp_path / "a")
    source.open(source.partitions())
    lengths = []
    while (batch := source.read(10)) is not None:
        lengths += [len(line) for line in batch.column("line").tolist()]
    assert lengths == [6, size, 5]


def test_bad_bytes_say_which_byte_of_the_line(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"ok\n\xc3\xa9\xe9\nok\n")
    source = TextSource(tmp_path / "a")
    source.on_bad_row = "dead-letter"
    source.open(source.partitions())
    while source.read(10) is not None:
        pass
    dead = source.take_dead()
    assert dead is not None
    assert "line 2, column 'line': byte 2 of the line, 0xe9, is not UTF-8" in dead.column("error").tolist()[0]
    assert dead.column("event").tolist() == ["é\ufffd"]
