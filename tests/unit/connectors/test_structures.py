"""Structured fields through files: floats that JSON has not come back, and nothing else changes by it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from math import inf, nan
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.csv_text import csv_text
from actorstream.connectors.file_source import FileSource
from actorstream.connectors.json_text import json_lines
from actorstream.connectors.jsonl_source import JsonlSource
from actorstream.connectors.parquet_sink import arrow_rows
from actorstream.connectors.parquet_source import ParquetSource
from actorstream.connectors.structures import json_values
from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.event import Event
from actorstream.events.schema import Schema


class Point(msgspec.Struct, frozen=True):
    x: float
    y: float | None
    name: str
    id: int | str
    at: datetime
    digits: Decimal
    sizes: dict[float, tuple[float, ...]]


class Row(Event):
    points: list[Point]
    pair: tuple[float, float] | None
    words: list[str]


def point(x: float, y: float | None) -> Point:
    at = datetime(2024, 1, 2, tzinfo=UTC)
    return Point(x, y, "nan", "5", at, Decimal("0.12345678901234567890"), {inf: (x,), 1.5: ()})


ROWS = [
    Row([point(1.5, None)], (1e300, -1e308), ["nan", "inf"]),
    Row([point(nan, inf), point(-inf, None)], (nan, 1.0), ["null"]),
    Row([], None, []),
    Row([point(0.0, -inf)], (inf, -inf), []),
]


def csv(batch: Batch, path: Path) -> FileSource:
    path.write_bytes(b"points,pair,words\n" + bytes(csv_text(batch)))
    return CsvSource(path, event=Row)


def jsonl(batch: Batch, path: Path) -> FileSource:
    path.write_bytes(json_lines(batch))
    return JsonlSource(path, event=Row)


def parquet(batch: Batch, path: Path) -> FileSource:
    pq.write_table(pa.Table.from_batches([arrow_rows(batch)]), path)
    return ParquetSource(path, event=Row)


@pytest.mark.parametrize("written", [csv, jsonl, parquet])
@pytest.mark.parametrize("first", range(4))
def test_floats_that_are_not_finite_are_read_back_in_structured_fields(
    tmp_path: Path, written: Callable[[Batch, Path], FileSource], first: int
) -> None:
    source = written(Batch.of_events(Row, ROWS).slice(first, 4 - first), tmp_path / "a")
    source.open(source.partitions())
    found: list[Any] = []
    while (batch := source.read(100)) is not None:
        assert isinstance(batch, Batch)
        found += batch.events()
    assert repr(found) == repr(ROWS[first:])


def test_values_without_such_floats_are_given_to_the_encoder_as_they_are() -> None:
    field = Schema.of(Row).field("points")
    values = [[], [msgspec.structs.replace(point(1.0, 1e300), sizes={})]]
    assert json_values(Column.from_values(field, values)) == values
    assert isinstance(json_values(Column.from_values(field, [[point(nan, None)]]))[0][0], dict)


@pytest.mark.parametrize("text", ['{"a": ["x"]}', '{"a": ["nan", "x"]}'])
def test_other_texts_are_no_floats(tmp_path: Path, text: str) -> None:
    class Floats(Event):
        a: list[float]

    (tmp_path / "a").write_text(text + '\n{"a": [1, "nan"]}\n')
    source = JsonlSource(tmp_path / "a", event=Floats)
    source.on_bad_row = "skip"
    source.open(source.partitions())
    batch = source.read(10)
    assert isinstance(batch, Batch) and repr(batch.column("a").tolist()) == "[[1.0, nan]]"
