"""Reads what sinks have written, one row after the other. Knows the sinks' formats, compares nothing."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from actorstream.verify.comparison import ReadLines, records
from actorstream.verify.sinks import SinkOutput

CHUNK = 1 << 20


def parts_of(path: Path) -> list[Path]:
    """The files of a sink: one, or its parts by name; none where nothing was written. What is there says which, as the plan of a
    run may have given the sink another number of replicas than its graph had."""
    if path.is_dir():
        return sorted(each for each in path.glob("*") if each.is_file())
    return [path] if path.exists() else []


def rows_of(paths: Iterable[Path], output: SinkOutput) -> ReadLines:
    """The rows of some files, one file after the other."""
    return partial(_rows, tuple(paths), output)


def _rows(paths: tuple[Path, ...], output: SinkOutput) -> Iterator[bytes]:
    for path in paths:
        yield from _parquet(path) if output.format == "parquet" else _lines(path, output)


def _lines(path: Path, output: SinkOutput) -> Iterator[bytes]:
    with opened(path) as file:
        rows = records(file) if output.format == "csv" else (line.rstrip(b"\r\n") for line in file)
        if output.header:
            next(rows, None)
        yield from rows


def _parquet(path: Path) -> Iterator[bytes]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(4096):
            for row in zip(*(column.to_pylist() for column in batch.columns)):
                yield ", ".join(map(repr, row)).encode()


def opened(path: Path) -> IO[bytes]:
    """A file for reading, decompressed by the ending of its name."""
    reader: Any = {".gz": gzip.open, ".bz2": bz2.open}.get(path.suffix.lower())
    return path.open("rb") if reader is None else reader(path, "rb")  # type: ignore[no-any-return]


def same_bytes(one: Path, other: Path) -> bool:
    """Whether two files are the same byte for byte: then so are their rows, and nobody need read them one by one."""
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as left, other.open("rb") as right:
        while data := left.read(CHUNK):
            if data != right.read(CHUNK):
                return False
    return True
