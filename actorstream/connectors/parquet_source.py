"""parquet-source: the rows of Parquet files. Decoding is Arrow's; which rows are read when is decided
here."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from actorstream.connectors.dead_rows import BadRow
from actorstream.connectors.file_source import FileSource
from actorstream.connectors.partition import FilePiece, Partition
from actorstream.connectors.read_ahead import ReadAhead
from actorstream.connectors.rows import batch_of, column
from actorstream.errors import DataError, SchemaError
from actorstream.events.fields import nearest_text

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

PIECE_ROWS = 1 << 16
"""Rows decoded at once."""
PIECE_BYTES = 8 << 20
"""Fewer rows are decoded at once where they have more bytes than this."""
PROBED_ROWS = 64
"""So many rows show how large rows of a row group are whose texts are stored once each, however often they occur."""
READ_BYTES = 1 << 20
"""Bytes read at once of each column."""


class ParquetSource(FileSource):
    """Reads Parquet. Columns are found by name, further ones are not decoded; their types are converted
    where no value changes by it (an int64 that does not fit an int32 field is a row that does not parse).

    Args:
        path: a file, a directory, or a glob.
        event, schema: the fields to read. Without either, all columns of the first file; one that has
        nulls there, or
            no statistics, is nullable.
    """

    reads_pipes = "no"

    @classmethod
    def file_schema(cls, path: str, keys: Mapping[str, Any]) -> Schema:
        import pyarrow as pa

        from actorstream.events.schema import Schema

        with _open(path) as file:
            nulls = _columns_with_nulls(file)
            fields = [pa.field(each.name, each.type, each.name in nulls) for each in file.schema_arrow]
        return Schema.from_arrow(pa.schema(fields))

    @classmethod
    def check_file(cls, path: str, schema: Schema, keys: Mapping[str, Any]) -> None:
        with _open(path) as file:
            _check_columns(path, file.schema_arrow, schema)

    @classmethod
    def import_readers(cls) -> None:
        import pyarrow.parquet  # noqa: F401

    def open_file(self, path: str) -> Partition:
        return ParquetPartition(path, self.row_schema())


class _Rows(NamedTuple):
    data: Any
    before: int
    """Rows of the file before these."""


class ParquetPartition(Partition):
    """One Parquet file, decoded ahead. Raises DataError if it is none, or lacks a field of `schema`."""

    def __init__(self, path: str, schema: Schema) -> None:
        self._path, self._schema = path, schema
        self._file = _open(path)
        self._size = Path(path).stat().st_size
        self._total = self._file.metadata.num_rows
        self._names = list(schema.names())
        self._leaves = _top_level_names(self._file)
        self._given = self._drop = 0
        self._batches: Any = None
        self._ahead: ReadAhead[FilePiece] | None = ReadAhead(self._take, self._piece, self._file.close)
        try:
            _check_columns(path, self._file.schema_arrow, schema)
        except DataError:
            self._file.close()
            raise

    def skip(self, records: int) -> int:
        self._drop = min(records, self._total)
        return self._drop

    def next(self) -> FilePiece | None:
        return self._ahead.next() if self._ahead is not None else None

    def close(self) -> None:
        if self._ahead is not None:
            self._ahead.close()
        self._ahead = self._batches = None  # the two know each other, and the file's buffers must go now

    def _take(self) -> _Rows | None:
        if self._batches is None:
            self._batches = self._rest()
        while (data := self._next()) is not None:
            if data.num_rows <= self._drop:
                self._drop -= data.num_rows
                self._given += data.num_rows
                continue
            before = self._given + self._drop
            data, self._drop = data.slice(self._drop), 0
            self._given = before + data.num_rows
            return _Rows(data, before)
        return None

    def _next(self) -> Any:
        """The next batch; None: there is none. DataError: the file is damaged behind its metadata."""
        import pyarrow as pa

        try:
            return next(self._batches, None)
        except (pa.ArrowException, OSError) as error:
            row = self._given + 1
            raise DataError(
                f"cannot be read, in one of the rows from {row} on: {error}", file=self._path
            ) from error

    def _rest(self) -> Any:
        """The batches of the row groups that are not passed over whole."""
        metadata = self._file.metadata
        first = 0
        while first < metadata.num_row_groups and metadata.row_group(first).num_rows <= self._drop:
            self._drop -= metadata.row_group(first).num_rows
            self._given += metadata.row_group(first).num_rows
            first += 1
        groups = list(range(first, metadata.num_row_groups))
        for group in groups:
            yield from self._file.iter_batches(
                self._rows_at_once(group), row_groups=[group], columns=self._names
            )

    def _rows_at_once(self, group: int) -> int:
        """How many rows of a row group are decoded at once."""
        found = self._file.metadata.row_group(group)
        columns = [found.column(number) for number, name in enumerate(self._leaves) if name in self._names]
        each_row = sum(column.total_uncompressed_size for column in columns) / max(found.num_rows, 1)
        if any(column.physical_type == "BYTE_ARRAY" and column.has_dictionary_page for column in columns):
            probed = self._file.iter_batches(PROBED_ROWS, row_groups=[group], columns=self._names)
            each_row = max([each_row, *(part.nbytes / part.num_rows for part in islice(probed, 1))])
        return max(1, min(PIECE_ROWS, int(PIECE_BYTES / max(each_row, 1))))

    def _piece(self, rows: _Rows) -> FilePiece:
        batch, misfits = batch_of(
            self._schema, {name: rows.data.column(name) for name in self._schema.names()}
        )
        bad = [
            BadRow(row, rows.before + row + 1, name, _text(rows.data, row), why)
            for row, (name, why) in sorted(misfits.items())
        ]
        done = self._size * (rows.before + rows.data.num_rows) // self._total
        return FilePiece(batch, rows.data.num_rows, done, bad)


def _text(data: Any, row: int) -> str:
    """A row as the text of a dead letter."""
    return str({name: _value(data.column(name)[row]) for name in data.schema.names})


def _value(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except (OverflowError, ValueError):  # a time that no datetime can hold, or that has nanoseconds
        return scalar.value


def _open(path: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # with pre_buffer, what was read of the file stays in memory until it is closed; no faster here
        return pq.ParquetFile(path, pre_buffer=False, buffer_size=READ_BYTES)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"is not a Parquet file: {error}", file=path) from error


def _check_columns(path: str, found: Any, schema: Schema) -> None:
    """DataError if a field has no column, or one of another family of types."""
    import pyarrow as pa

    for field in schema.fields:
        if field.name not in found.names:
            near = nearest_text(field.name, found.names)
            raise DataError(f"there is no such column{near}", file=path, column=field.name)
        try:
            column(field, pa.nulls(0, found.field(field.name).type))
        except SchemaError as error:
            raise DataError(str(error), file=path, column=field.name) from error


def _columns_with_nulls(file: Any) -> set[str]:
    """Top-level columns that have a null somewhere, or of which that is not known."""
    found, metadata = set(), file.metadata
    for group in range(metadata.num_row_groups):
        for number, name in enumerate(_top_level_names(file)):
            part = metadata.row_group(group).column(number)
            if not part.is_stats_set or not part.statistics.has_null_count or part.statistics.null_count:
                found.add(name)
    return found


def _top_level_names(file: Any) -> list[str]:
    """The top-level column of each column that the file stores. Their paths do not tell it, as names may have dots."""
    return [each.name for each in file.schema_arrow for _ in range(_leaves(each.type))]


def _leaves(kind: Any) -> int:
    """How many columns a file stores of a column of this type."""
    kind = getattr(kind, "storage_type", kind)
    return sum(_leaves(kind.field(number).type) for number in range(kind.num_fields)) or 1
