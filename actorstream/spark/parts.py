"""Parts: files of a stream, written by the tasks that have the rows. Checks the order of time, counts, and hashes the bytes.

A part has its name only when it is whole, so a task that is tried again, or runs twice, leaves the same file."""

from __future__ import annotations

import gzip
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from actorstream.events.batch import Batch

FORMATS = ("csv", "jsonl", "text", "parquet")
MOST_FILES = 100_000
"""Of a stream: as many names of five digits are in the order of their numbers."""


class PartError(Exception):
    """Rows that cannot be written as a part: out of order, without a time, or of a file whose number has no name."""


@dataclass(frozen=True)
class FileFormat:
    """How rows lie in files.

    Attributes:
        name: one of `FORMATS`.
        header: of csv, whether a file begins with the names of the columns.
        compress: whether files are packed with gzip.
    """

    name: str
    header: bool = True
    compress: bool = False

    @property
    def ending(self) -> str:
        base = {"csv": ".csv" if self.header else ".dat", "text": ".txt"}.get(self.name, f".{self.name}")
        return f"{base}.gz" if self.compress and self.name != "parquet" else base


@dataclass(frozen=True)
class Part:
    """A file that was written; times are in the unit of the stream's event time, None without one."""

    path: str
    rows: int
    least: int | None
    greatest: int | None
    size: int
    sha256: str


def write_part(
    folder: Path, number: int, batches: Iterable[Any], how: FileFormat, event_time: str | None
) -> Part | None:
    """Writes the record batches as the file of this number, and returns what it holds; None if they have no row.
    PartError: times descend, or one is missing, or the number is too large."""
    if not 0 <= number < MOST_FILES:
        raise PartError(
            f"{folder.name}: a row lies in file {number}; allowed: 0 to {MOST_FILES - 1}, since sources read files in the order "
            "of their names: let each file have more rows"
        )
    name = f"part-{number:05d}{how.ending}"
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f".{name}.{os.getpid()}.tmp"
    times = _Times(event_time, f"{folder.name}/{name}")
    try:
        with partial.open("wb") as file:
            hashed = _Hashed(file)
            _write(hashed, times.checked(batches), how)
        if not times.rows:
            partial.unlink()
            return None
        partial.replace(folder / name)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return Part(
        f"{folder.name}/{name}",
        times.rows,
        times.least,
        times.greatest,
        hashed.size,
        hashed.digest.hexdigest(),
    )


class _Times:
    """Counts rows, and sees that their times do not descend."""

    def __init__(self, field: str | None, where: str) -> None:
        self.field, self.where = field, where
        self.rows = 0
        self.least: int | None = None
        self.greatest: int | None = None

    def checked(self, batches: Iterable[Any]) -> Iterator[Any]:
        import numpy as np
        import pyarrow as pa

        for batch in batches:
            if not batch.num_rows:
                continue
            if self.field is not None:
                column = batch.column(self.field)
                if column.null_count:
                    raise PartError(f"{self.where}: a row after row {self.rows} has no {self.field!r}")
                times = column.cast(pa.int64()).to_numpy(zero_copy_only=False)
                first = int(times[0])
                if (self.greatest is not None and first < self.greatest) or np.any(times[1:] < times[:-1]):
                    raise PartError(
                        f"{self.where}: {self.field!r} descends behind row {self.rows}; rows of a block must come by time: "
                        "sort them, or give a DataFrame as StreamRows, which Spark sorts"
                    )
                self.least = first if self.least is None else self.least
                self.greatest = int(times[-1])
            self.rows += batch.num_rows
            yield batch


class _Hashed:
    """A file that is written through a hash."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.file, self.digest, self.size = file, hashlib.sha256(), 0

    def write(self, data: Any) -> int:
        view = memoryview(data)
        self.digest.update(view)
        self.size += view.nbytes
        self.file.write(view)
        return view.nbytes

    def flush(self) -> None:
        self.file.flush()

    def close(self) -> None:
        """The file is closed by whoever opened it."""

    def tell(self) -> int:
        return self.size

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _write(file: _Hashed, batches: Iterator[Any], how: FileFormat) -> None:
    if how.name == "parquet":
        import pyarrow.parquet as pq

        writer = None
        for batch in batches:
            writer = writer or pq.ParquetWriter(file, batch.schema)
            writer.write_batch(batch)
        if writer is not None:
            writer.close()
        return
    from actorstream.connectors.csv_text import csv_text, header_line
    from actorstream.connectors.json_text import json_lines

    encode: Any = {"csv": csv_text, "jsonl": json_lines, "text": _text}[how.name]
    target: Any = gzip.GzipFile("", "wb", 6, file, mtime=0) if how.compress else file  # type: ignore[arg-type]
    for number, batch in enumerate(batches):
        if how.name == "csv" and how.header and not number:
            target.write(header_line(batch.schema.names))
        target.write(encode(_batch(batch)))
    if how.compress:
        target.close()


def _batch(rows: Any) -> Batch:
    """The rows as what the sinks of the same formats write, so that files look as theirs."""
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

    return Batch.from_arrow(Schema.from_arrow(rows.schema), rows)


def _text(batch: Batch) -> bytes:
    return "".join(f"{line}\n" for (column,) in [batch.columns()] for line in column.tolist()).encode()
