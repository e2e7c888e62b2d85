"""What the pipelines of apps have written: the lines and rows of files, and the rows of the sources that make the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from actorstream.spark import StreamBlocks, StreamRows
from actorstream.spark.write import MANIFEST, check_files, prepare_folder, write_streams

Streams = list[StreamBlocks | StreamRows]


def write(spark: Any, streams: Streams, out: Path) -> dict[str, Any]:
    prepare_folder(out)
    manifest = write_streams(spark, streams, out, {})
    assert json.loads((out / MANIFEST).read_text()) == manifest
    assert check_files(out) == []
    return manifest


def lines(folder: Path) -> list[str]:
    """The lines of all files, by name."""
    return [line for path in sorted(folder.iterdir()) for line in path.read_text().splitlines()]


def table(folder: Path) -> list[list[str]]:
    """The rows of csv files with a header."""
    return [row for path in sorted(folder.iterdir()) for row in list(csv.reader(path.open()))[1:]]


def texts(rows: Iterable[Iterable[Any]]) -> list[list[str]]:
    """Rows as csv files have them."""
    return [["" if each is None else str(each) for each in row] for row in rows]


def rows_of(source: Any, partition: str) -> list[tuple[Any, ...]]:
    source.open([partition])
    found: list[tuple[Any, ...]] = []
    while (batch := source.read(10_000)) is not None:
        found += batch.arrow().to_struct_array().to_pylist()
    return [tuple(row.values()) for row in found]
