"""The kinds of file sources that the conformance suite runs on, and how it reads them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from actorstream.connectors.csv_source import CsvSource
from actorstream.connectors.csv_text import csv_text, header_line
from actorstream.connectors.file_source import FileSource
from actorstream.connectors.json_text import json_lines
from actorstream.connectors.jsonl_source import JsonlSource
from actorstream.connectors.parquet_source import ParquetSource
from actorstream.connectors.text import TextSource
from actorstream.events.batch import Batch
from actorstream.events.schema import Schema

SCHEMA = {"ts": "int", "word": "str", "price": "float?"}
Rows = list[tuple[Any, ...]]


def sample(count: int, start: int = 0) -> Rows:
    words = ["plain", "", "naïve ☃ 𝄞", 'a "quoted", one', "two\nlines", "tab\there", " padded "]
    return [
        (number, f"{words[number % len(words)]}{number}", None if number % 5 == 0 else number / 4)
        for number in range(start, start + count)
    ]


class Kind:
    """How one kind of source is made, and how files for it are."""

    suffix = ""
    keys: ClassVar[dict[str, Any]] = {"schema": SCHEMA}
    cls: type[FileSource]

    def rows(self, count: int, start: int = 0) -> Rows:
        return sample(count, start)

    def data(self, rows: Rows) -> bytes:
        raise NotImplementedError

    def write(self, path: Path, rows: Rows) -> None:
        path.write_bytes(self.data(rows))

    def source(self, path: Path | str, **keys: Any) -> FileSource:
        return self.cls(Path(path), **{**self.keys, **keys})


def as_batch(rows: Rows) -> Batch:
    columns = {name: [row[number] for row in rows] for number, name in enumerate(SCHEMA)}
    return Batch.of_columns(Schema.from_dict(SCHEMA), columns)


class Text(Kind):
    suffix, cls, keys = ".txt", TextSource, {}

    def rows(self, count: int, start: int = 0) -> Rows:
        return [(str(row[1]).replace("\n", " "),) for row in sample(count, start)]

    def data(self, rows: Rows) -> bytes:
        return "".join(f"{row[0]}\n" for row in rows).encode()


class Csv(Kind):
    suffix, cls = ".csv", CsvSource

    def data(self, rows: Rows) -> bytes:
        return header_line(list(SCHEMA)) + bytes(csv_text(as_batch(rows)))


class Jsonl(Kind):
    suffix, cls = ".jsonl", JsonlSource

    def data(self, rows: Rows) -> bytes:
        return json_lines(as_batch(rows))


class Parquet(Kind):
    suffix, cls = ".parquet", ParquetSource

    def write(self, path: Path, rows: Rows) -> None:
        types = pa.schema({"ts": pa.int64(), "word": pa.string(), "price": pa.float64()})
        table = pa.Table.from_pylist([dict(zip(SCHEMA, row)) for row in rows], schema=types)
        pq.write_table(table, path, row_group_size=7)


def values(batch: Batch) -> Rows:
    return list(zip(*(each.tolist() for each in batch.columns())))


def read_all(source: FileSource, max_rows: int = 1000, partitions: Sequence[str] | None = None) -> Rows:
    source.open(list(source.partitions() if partitions is None else partitions))
    return rest(source, max_rows)


def rest(source: FileSource, max_rows: int = 1000) -> Rows:
    found: Rows = []
    while (batch := source.read(max_rows)) is not None:
        assert 1 <= batch.rows <= max_rows
        found += values(batch)
    return found
