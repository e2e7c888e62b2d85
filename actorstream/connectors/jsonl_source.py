"""jsonl-source: the objects of JSON lines files. Reading their blocks is jsonl_format.py's business."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorstream.connectors.blocks import BlockReader
from actorstream.connectors.file_source import FileSource
from actorstream.connectors.json_inference import told_fields
from actorstream.connectors.json_values import NotARowError, defaults_of, first_objects
from actorstream.connectors.jsonl_format import JsonlFormat
from actorstream.connectors.partition import BlockPartition, Partition
from actorstream.errors import DataError
from actorstream.events.fields import nearest_text

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

BLOCK_BYTES = 1 << 20
"""Parsing takes so much longer than reading that a block need not lie in the L2 cache: with 512 KiB 10% more CPU time a
byte, with 2 MiB 5% less, but the first row comes 7 ms later (benchmark `connectors`, jsonl-read)."""
SAMPLE_BYTES = 1 << 20
"""The types of fields that nobody declared are told from so much of the first file."""
SAMPLE_LINES = 100
"""A declared field has to be in one of so many lines."""


class JsonlSource(FileSource):
    """Reads JSON lines: UTF-8, one object a line. Fields are found by name; further ones are ignored, a
    missing one has the default of the event class, else is null. A string of digits converts to a number,
    times are ISO 8601 strings (UTC unless they name a zone), bytes are base64, fields of structured types
    are what msgspec makes of them. Blank lines are passed over.

    Args:
        path: a file, a directory, or a glob.
        event, schema: the fields to read. Without either, all fields of the first MiB of the first file, none of which may
            be an object or a list; one that is null or missing there is nullable.
    """

    @classmethod
    def file_schema(cls, path: str, keys: Mapping[str, Any]) -> Schema:
        import pyarrow as pa

        from actorstream.events.schema import Schema

        first = _first_block(path)
        if not first.strip():
            raise DataError("is empty; allowed: objects (or declare the fields with `schema`)", file=path)
        try:
            fields = told_fields(first)
            if not fields:
                raise ValueError("its first MiB has no object with a field of one value")
        except ValueError as error:  # pa.ArrowInvalid is one
            hint = "declare the fields with `schema`"
            raise DataError(f"its fields cannot be told: {error}; {hint}", file=path) from error
        return Schema.from_arrow(pa.schema(fields))

    @classmethod
    def check_file(cls, path: str, schema: Schema, keys: Mapping[str, Any]) -> None:
        try:
            objects = first_objects(_first_block(path), SAMPLE_LINES)
        except NotARowError:
            return  # such rows are for `on_error`
        seen = {name for found in objects for name in found} | defaults_of(schema).keys()
        for field in schema.fields:
            if objects and not field.nullable and field.name not in seen:
                near = nearest_text(field.name, sorted(seen))
                raise DataError(
                    f"none of the first objects has it{near}", file=path, line=1, column=field.name
                )

    @classmethod
    def import_readers(cls) -> None:
        import pyarrow.json  # noqa: F401

    def open_file(self, path: str) -> Partition:
        return BlockPartition(BlockReader(path, block_bytes=BLOCK_BYTES), JsonlFormat(self.row_schema()))


def _first_block(path: str) -> bytes:
    blocks = BlockReader(path, block_bytes=SAMPLE_BYTES)
    try:
        first = blocks.next()
    finally:
        blocks.close()
    return b"" if first is None else first.data
