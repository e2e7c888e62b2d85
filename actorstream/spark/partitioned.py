"""PartitionedFiles: rows as Parquet files in a folder for each value of the partition fields, as Spark lays them out. What is
visible when is its user's business."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from actorstream.connectors.staged_file import make_folder
from actorstream.errors import RunError

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The folder name of a null, and of an empty text, which Spark does not tell from it."""
MOST_OPEN = 64
"""Files that are open at the same time; if there are more partitions, the one that was written longest ago is ended."""
_ESCAPED = frozenset("\"#%'*/:=?\\{}[]^" + "".join(map(chr, [*range(1, 32), 127])))


class StagedPart(NamedTuple):
    """A file that is whole: its name in the staging folder, its folder below the table's, and its size."""

    name: str
    folder: str
    bytes: int


class PartitionedFiles:
    """Writes files into a staging folder.

    Args:
        staging: where the files lie until they are visible.
        prefix: of their names; nobody else's begin so.
        schema: of the rows, as Arrow's.
        fields: those whose values name the folders.
        compression: of the column chunks; None: none.
        number: of the next file.
        keep: the files have the partition fields, too.
    """

    def __init__(
        self,
        staging: Path,
        prefix: str,
        schema: Any,
        fields: Sequence[str],
        compression: str | None,
        number: int = 0,
        *,
        keep: bool = False,
    ) -> None:
        import pyarrow as pa

        self.staging, self.prefix, self.fields = staging, prefix, tuple(fields)
        self._left_out = () if keep else self.fields
        self.schema = pa.schema([each for each in schema if each.name not in self._left_out])
        self._compression = compression
        self._open: dict[str, tuple[Path, Any]] = {}
        """Folder -> the file that is being written and its writer; the one that was used last is the last."""
        self._ended: list[StagedPart] = []
        self.number = number
        make_folder(staging)

    def write(self, rows: Any) -> None:
        """Adds the rows of a table, a row group for each partition among them. RunError: the disk refuses them."""
        try:
            for folder, part in self._split(rows):
                self._writer(folder).write_table(part, row_group_size=max(part.num_rows, 1))
        except OSError as error:
            raise RunError(f"rows cannot be written to {str(self.staging)!r}: {error}") from error

    def write_empty(self) -> None:
        """Makes a file without rows, from which the fields can be told."""
        self._writer("").write_table(self.schema.empty_table())

    def end(self) -> list[StagedPart]:
        """Ends all files and forces them onto the disk. Returns those that were ended since the last call."""
        for folder in list(self._open):
            self._end(folder)
        ended, self._ended = self._ended, []
        if ended:
            force(self.staging)
        return ended

    def drop(self) -> None:
        """Removes what was not returned by `end`."""
        for path, writer in self._open.values():
            writer.close()
            path.unlink(missing_ok=True)
        for part in self._ended:
            (self.staging / part.name).unlink(missing_ok=True)
        self._open, self._ended = {}, []

    def _split(self, rows: Any) -> list[tuple[str, Any]]:
        """The rows by folder; in each as they came."""
        if not self.fields:
            return [("", rows)]
        import pyarrow as pa
        import pyarrow.compute as pc

        codes = np.zeros(rows.num_rows, np.int64)
        values = []
        for name in self.fields:
            column = rows.column(name).combine_chunks()
            if pa.types.is_dictionary(column.type):
                column = column.dictionary_decode()
            column = pc.dictionary_encode(column, null_encoding="encode")
            values.append(column.dictionary.to_pylist())
            codes = codes * len(column.dictionary) + column.indices.to_numpy(zero_copy_only=False)
        found, places = np.unique(codes, return_inverse=True)
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(found)))
        files = rows.drop_columns(list(self._left_out)).take(order)
        split, first = [], 0
        for code, end in zip(found.tolist(), ends.tolist()):
            names = []
            for name, each in zip(reversed(self.fields), reversed(values)):
                code, at = divmod(code, len(each))
                names.append(f"{escaped(name)}={folder_name(each[at])}")
            split.append(("/".join(reversed(names)), files.slice(first, end - first)))
            first = end
        return split

    def _writer(self, folder: str) -> Any:
        import pyarrow.parquet as pq

        found = self._open.pop(folder, None)
        if found is None:
            if len(self._open) >= MOST_OPEN:
                self._end(next(iter(self._open)))
            path = self.staging / f"{self.prefix}{self.number:06d}.parquet"
            self.number += 1
            found = path, pq.ParquetWriter(str(path), self.schema, compression=self._compression)
        self._open[folder] = found
        return found[1]

    def _end(self, folder: str) -> None:
        path, writer = self._open.pop(folder)
        writer.close()
        force(path)
        self._ended.append(StagedPart(path.name, folder, path.stat().st_size))


def folder_name(value: Any) -> str:
    """The value of a partition field as Spark writes it into the name of a folder."""
    if value is None or value == "":
        return NULL
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        aware = value if value.tzinfo is None else value.astimezone(UTC)
        return escaped(
            aware.strftime("%Y-%m-%d %H:%M:%S") + f".{aware.microsecond:06d}".rstrip("0").rstrip(".")
        )
    return escaped(str(value))


def escaped(text: str) -> str:
    """A text as a part of a path: what Spark escapes is `%` and two hexadecimal digits."""
    return "".join(f"%{ord(each):02X}" if each in _ESCAPED else each for each in text)


def force(path: Path) -> None:
    """Makes what is in a file or folder safe on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
