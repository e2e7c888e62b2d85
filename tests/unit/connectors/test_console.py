"""Rows on standard output: what the formats look like, and that a batch is written whole."""

from __future__ import annotations

import os
import sys
import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from actorstream.connectors.console import ConsoleSink, text_lines
from actorstream.connectors.null import NullSink
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema

SCHEMA = Schema.from_dict({"a": "int", "b": "str?", "c": "bool", "d": "datetime", "e": "float"})
BATCH = Batch.of_columns(
    SCHEMA,
    {
        "a": [1, 2],
        "b": ["x, y", None],
        "c": [True, False],
        "d": [datetime(2020, 1, 1, tzinfo=UTC)] * 2,
        "e": [1.0, 2.5],
    },
)
TEXT = "1\tx, y\ttrue\t2020-01-01T00:00:00Z\t1.0\n2\t\tfalse\t2020-01-01T00:00:00Z\t2.5\n"
CSV = 'a,b,c,d,e\n1,"x, y",true,2020-01-01T00:00:00Z,1.0\n2,,false,2020-01-01T00:00:00Z,2.5\n'
JSON = (
    '{"a":1,"b":"x, y","c":true,"d":"2020-01-01T00:00:00Z","e":1.0}\n'
    '{"a":2,"b":null,"c":false,"d":"2020-01-01T00:00:00Z","e":2.5}\n'
)


@pytest.mark.parametrize(("form", "text"), [("text", TEXT), ("csv", CSV), ("jsonl", JSON)])
def test_each_format_prints_its_lines(form: Any, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    ConsoleSink(format=form).on_batch(BATCH)
    assert capfd.readouterr().out == text


def test_the_header_is_printed_once(capfd: pytest.CaptureFixture[str]) -> None:
    sink = ConsoleSink(format="csv")
    sink.on_batch(BATCH)
    sink.on_batch(BATCH)
    assert capfd.readouterr().out.count("a,b,c") == 1


def test_prints_where_standard_output_is_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    ConsoleSink().on_batch(BATCH)
    assert capsys.readouterr().out == TEXT


def test_a_standard_output_that_does_not_block_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Batch.of_columns(Schema.from_dict({"a": "int"}), {"a": list(range(500_000))})
    reads, writes = os.pipe()
    os.set_blocking(writes, False)
    printed: list[bytes] = []

    def read() -> None:
        with os.fdopen(reads, "rb") as pipe:
            printed.append(pipe.read())

    reader = threading.Thread(target=read)
    full = os.write(writes, b"\n" * (1 << 20))
    reader.start()
    with os.fdopen(writes, "w") as stream, monkeypatch.context() as patched:
        patched.setattr(sys, "stdout", stream)
        stream.write("before\n")
        ConsoleSink().on_batch(rows)
    reader.join()
    assert printed[0][full:] == b"before\n" + text_lines(rows)


def test_one_field_is_printed_as_it_is() -> None:
    assert text_lines(BATCH.select(["b"])) == b"x, y\n\n"


def test_a_null_sink_counts_and_converts_nothing() -> None:
    sink = NullSink()
    batch = Batch.of_events(SCHEMA, [])
    for _ in range(3):
        sink.on_batch(BATCH)
    sink.on_batch(batch)
    assert sink.received == 6
    assert batch._columns == [None] * 5
