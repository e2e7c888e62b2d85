"""csv-sink: rows as csv files. How rows look is csv_text.py's business, how files appear staged_file.py's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.contract import Contract
from actorstream.connectors.blocks import BOM
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

    contract: ClassVar[Contract] = Contract(one_stream=True, file_format="csv", keeps_by_keys=True)
    extension = ".csv"

    def __init__(self, path: Path, *, header: bool = True, delimiter: str = ",") -> None:
        super().__init__(path)
        self.header, self.delimiter = header, delimiter
        self._first = False
        """Whether what is written next is the beginning of the file."""

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = super().check(keys, inputs, base)
        delimiter = keys.get("delimiter", ",")
        if len(delimiter) != 1 or delimiter not in DELIMITERS:
            problems.append(
                Problem("delimiter", f"is {delimiter!r}", " ".join(DELIMITERS.strip()) + ", tab or space")
            )
        return problems

    def begin(self, schema: Schema | None) -> bytes | memoryview:
        header = header_line(schema.names(), self.delimiter) if self.header and schema is not None else b""
        self._first = not header
        return _first_text(header)

    def rows(self, batch: Batch) -> bytes | memoryview:
        text = csv_text(batch, self.delimiter)
        if self._first:
            self._first, text = False, _first_text(text)
        return text


def _first_text(text: bytes | memoryview) -> bytes | memoryview:
    """Returns what a file begins with. A reader drops a byte order mark there, so if the first field begins with one, the file
    gets another before it."""
    return BOM + bytes(text) if bytes(text[: len(BOM)]) == BOM else text
