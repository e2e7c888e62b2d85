"""parquet-sink: rows as Parquet files. Encoding is Arrow's; how files appear is staged_file.py's business."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from actorstream.actors.contract import Contract
from actorstream.connectors.file_sink import FileSink
from actorstream.connectors.sink import END
from actorstream.connectors.staged_file import StagedFile, discard, find
from actorstream.connectors.structures import json_values
from actorstream.errors import RunError
from actorstream.events.arrow_arrays import arrow_scalar, arrow_texts
from actorstream.events.fields import Kind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

GROUP_ROWS = 1 << 17
"""Rows of a row group."""
GROUP_BYTES = 64 << 20
"""A row group is closed early when its rows pass so many bytes."""


class ParquetSink(FileSink):
    """Writes Parquet. Categories are dictionary-encoded strings, structured fields JSON text, times
    microseconds in UTC.

    Args:
        path: the file, or with `replicas` the folder of parts.
        compression: of the column chunks.

    A Parquet file cannot be appended to, so under a barrier before the end a segment is closed, and the
    segments become one file at the end.
    """

    contract: ClassVar[Contract] = Contract(one_stream=True, file_format="parquet", keeps_by_keys=True)
    extension = ".parquet"
    writes_pipes = False

    def __init__(
        self, path: Path, *, compression: Literal["snappy", "zstd", "gzip", "lz4", "none"] = "snappy"
    ) -> None:
        super().__init__(path)
        self.compression = compression
        self._writer: Any = None
        self._group: list[Any] = []
        self._group_rows = self._group_bytes = 0
        self._segments: list[dict[str, Any]] = []

    def rows(self, batch: Batch) -> bytes:
        own = batch.compact()  # a row group must not keep the memory of its jumbo tuples
        self._group.append(arrow_rows(own))
        self._group_rows += own.rows
        self._group_bytes += own.nbytes
        if self._group_rows >= GROUP_ROWS or self._group_bytes >= GROUP_BYTES:
            self._write_group()
        return b""

    def _write_group(self) -> None:
        import pyarrow as pa

        group, self._group = self._group, []
        self._group_rows = self._group_bytes = 0
        if group:
            table = pa.Table.from_batches(group)
            self._opened(table.schema).write_table(table, row_group_size=table.num_rows)

    def _opened(self, schema: Any) -> Any:
        import pyarrow.parquet as pq

        if self._writer is None:
            assert isinstance(self._staged, StagedFile)
            compression = None if self.compression == "none" else self.compression
            self._writer = pq.ParquetWriter(str(self._staged.path), schema, compression=compression)
        return self._writer

    def _close_writer(self) -> None:
        import pyarrow as pa

        self._write_group()
        if self._writer is None:
            schema = self.input_schema
            self._opened(pa.schema([]) if schema is None else file_schema(schema))
        self._writer.close()
        self._writer = None

    def prepare(self, barrier: int) -> dict[str, Any]:
        if barrier == END:
            return {**super().prepare(END), "segments": self._segments}
        self._take_gathered()
        if self._staged is None:
            self._start(self.input_schema)
        assert self._staged is not None
        self._close_writer()
        self._kept = True
        self._segments.append(self._staged.secure())
        self._staged.close()
        self._staged = None
        self._prepared = {**self._segments[-1], "end": False, "replicas": 1, "segments": list(self._segments)}
        return self._prepared

    def finish(self) -> None:
        self._close_writer()
        if not self._segments:
            return
        import pyarrow.parquet as pq

        assert isinstance(self._staged, StagedFile)
        last = self._staged
        self._staged = StagedFile(last.final)
        self._staged.open()
        for path in [*map(_segment, self._segments), last.path]:
            with pq.ParquetFile(path) as file:
                writer = self._opened(file.schema_arrow)
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group))
        self._writer.close()
        self._writer = None
        last.drop()

    def commit(self, token: dict[str, Any] | None) -> None:
        super().commit(token)
        if token is not None and token["end"]:
            for segment in token["segments"]:
                discard(segment)

    def abort(self, token: dict[str, Any] | None) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        super().abort(token)
        if token is not None and token["end"]:  # what it was put together from is still there
            discard(token)
        if token is None and not self._kept:
            for segment in self._segments:
                discard(segment)

    def restore(self, snapshot: dict[str, Any] | None) -> None:
        self._kept = True
        self._segments = [] if snapshot is None else list(snapshot["segments"])
        for segment in self._segments:
            staged = StagedFile(segment["final"])
            staged.reopen(segment)  # makes it this process's own
            staged.close()


def arrow_rows(batch: Batch) -> Any:
    """The rows as a RecordBatch of types that Parquet has."""
    import msgspec
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = []
    for values in batch.columns():
        array = values.arrow()
        if values.field.kind is Kind.BOOL:
            array = pc.not_equal(array.storage, arrow_scalar(np.int8(0)))
        elif values.field.kind is Kind.MSGPACK:
            texts = [None if value is None else msgspec.json.encode(value) for value in json_values(values)]
            array = arrow_texts(texts, pa.binary()).cast(pa.string())
        arrays.append(array)
    schema = file_schema(batch.schema)
    return pa.RecordBatch.from_arrays(
        [array.cast(field.type) for array, field in zip(arrays, schema)], schema=schema
    )


def file_schema(schema: Schema) -> Any:
    """The schema of the file."""
    import pyarrow as pa

    types = {Kind.BOOL: pa.bool_(), Kind.MSGPACK: pa.string()}
    fields = [
        pa.field(field.name, types.get(field.kind) or field.arrow(), field.nullable)
        for field in schema.user.fields
    ]
    return pa.schema(fields)


def _segment(token: dict[str, Any]) -> Path:
    found = find(Path(token["final"]), token["key"])
    if found is None:
        raise RunError(f"a part of {token['final']!r} that was safe is gone; run again")
    return found
