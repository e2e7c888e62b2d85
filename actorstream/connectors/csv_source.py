"""csv-source: the rows of csv files. Finds the header and the columns; reading them is csv_format.py's
business."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from actorstream.connectors.csv_format import CsvFormat
from actorstream.connectors.csv_head import read_head, told_schema
from actorstream.connectors.file_source import FileSource
from actorstream.connectors.partition import BlockPartition, Partition
from actorstream.connectors.source_keys import SourceKeys
from actorstream.errors import Problem

if TYPE_CHECKING:
    from actorstream.events.schema import Schema


class CsvSource(FileSource):
    """Reads csv: UTF-8, a header (unless `header = false`), lines ended by LF or CRLF, fields quoted by
    `"` where needed. Columns are found by name; further ones are ignored. An empty field is null (in a
    text field that is not nullable, the empty string), `""` in a text field the empty string, booleans are true and false,
    `nan` and `inf` are floats, times are ISO 8601 (UTC unless they name a zone), fields of structured
    types are JSON. Empty lines are passed over.

    Args:
        path: a file, a directory, or a glob.
        event, schema: the fields to read. Without either, all columns, with types told from the first MiB
        of the first
            file; a column that has an empty field there is nullable.
        header: false: the file has none, and the fields of `event` or `schema` are its first columns, in
        order. delimiter: one character.
    """

    def __init__(
        self, path: Path, *, header: bool = True, delimiter: str = ",", **keys: Unpack[SourceKeys]
    ) -> None:
        super().__init__(path, **keys)
        self.header, self.delimiter = header, delimiter

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        delimiter = keys.get("delimiter", ",")
        if len(delimiter.encode()) != 1 or delimiter in '"\r\n':
            return [
                Problem(
                    "delimiter", f"is {delimiter!r}", "one ASCII character other than a quote or line end"
                )
            ]
        if keys.get("header") is False and keys.get("event") is None and keys.get("schema") is None:
            return [Problem("header", "is false, so nothing names the columns", "with `event` or `schema`")]
        return super().check(keys, inputs, base)

    @classmethod
    def file_schema(cls, path: str, keys: Mapping[str, Any]) -> Schema:
        return told_schema(path, keys.get("delimiter", ","))

    @classmethod
    def check_file(cls, path: str, schema: Schema, keys: Mapping[str, Any]) -> None:
        read_head(path, schema, keys.get("delimiter", ","), keys.get("header", True))[1].close()

    @classmethod
    def import_readers(cls) -> None:
        import pyarrow.csv  # noqa: F401

    def open_file(self, path: str) -> Partition:
        schema = self.row_schema()
        columns, blocks = read_head(path, schema, self.delimiter, self.header)
        told = self.event is None and self.schema is None
        return BlockPartition(blocks, CsvFormat(path, schema, columns, self.delimiter, told))

    def keys(self) -> dict[str, Any]:
        return {**super().keys(), "delimiter": self.delimiter, "header": self.header}
