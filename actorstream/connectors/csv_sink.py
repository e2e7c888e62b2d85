"""csv-sink: rows as csv files. How rows look is csv_text.py's business, how files appear staged_file.py's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.connectors.csv_text import csv_text, header_line
from actorstream.connectors.file_sink import FileSink
from actorstream.errors import Problem

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

DELIMITERS = ",;\t|^~!#%&*/<=>?@ "


class CsvSink(FileSink):
    """Writes csv: UTF-8, LF, quotes only where needed, null as an empty field and the empty string as
    `""`, whole floats as `0.0`, booleans as true and false, times in ISO 8601 (UTC), structured fields as
    JSON.

    Args:
        path: the file, or with `replicas` the folder of parts.
        header: whether the first line names the columns.
        delimiter: one character.
    """

    extension = ".csv"

    def __init__(self, path: Path, *, header: bool = True, delimiter: str = ",") -> None:
        super().__init__(path)
        self.header, self.delimiter = header, delimiter

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = super().check(keys, inputs, base)
        delimiter = keys.get("delimiter", ",")
        if len(delimiter) != 1 or delimiter not in DELIMITERS:
            problems.append(
                Problem("delimiter", f"is {delimiter!r}", " ".join(DELIMITERS.strip()) + ", tab or space")
            )
        return problems

    def begin(self, schema: Schema | None) -> bytes:
        return header_line(schema.names(), self.delimiter) if self.header and schema is not None else b""

    def rows(self, batch: Batch) -> bytes | memoryview:
        return csv_text(batch, self.delimiter)
