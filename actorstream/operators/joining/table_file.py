"""Tables in files: which reader fits a file's name, what its rows look like, and all of them as one batch."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.connectors.files import is_stream, list_files
from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.events.batch import Batch
from actorstream.events.fields import FLOATS, INTEGERS, Kind
from actorstream.topology.modules import load_object
from actorstream.topology.suggestions import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from actorstream.connectors.file_source import FileSource
    from actorstream.events.fields import Field
    from actorstream.events.schema import Schema

READERS = {
    ".csv": "actorstream.connectors.csv_source:CsvSource",
    ".jsonl": "actorstream.connectors.jsonl_source:JsonlSource",
    ".ndjson": "actorstream.connectors.jsonl_source:JsonlSource",
    ".parquet": "actorstream.connectors.parquet_source:ParquetSource",
}
COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
_READ_ROWS = 1 << 16
_TEXTS = (Kind.STRING, Kind.DICTIONARY)
_TOLD = INTEGERS | FLOATS | {Kind.BOOL, Kind.DATETIME}
"""Types that a csv column gets from what its values look like."""


class TableFile:
    """A table in a file, a directory of files of one kind, or a glob.

    keys: fields by which rows will be looked up, by the table's names. A csv column of digits that is looked up by text
    is read as text: csv says nothing about types.

    ConfigurationError: no such file, or its name says no format."""

    def __init__(self, path: Path, keys: Mapping[str, Field] | None = None) -> None:
        self.path = path
        first = Path(list_files(path, "table")[0])
        if is_stream(first):
            what = f"{str(first)!r} is a pipe or a device, and a table is read before the run too"
            raise ConfigurationError(Problem("table", what, "a file, or the name of a source actor"))
        self.reader, suffix = _reader(first)
        self._declared: dict[str, str] | None = None
        asked = {name: field for name, field in (keys or {}).items() if field.kind in _TEXTS}
        if suffix == ".csv" and asked:
            found: Schema = self.reader.file_schema(str(first), {"path": path})
            told = [name for name in asked if name in found and found.field(name).kind in _TOLD]
            if told:
                self._declared = {field.name: _type(field, field.name in told) for field in found.fields}

    @property
    def schema(self) -> Schema:
        """What its rows look like."""
        return self._source().row_schema()

    def read(self) -> Batch:
        """All rows. DataError for one that does not parse."""
        source = self._source()
        source.open(source.partitions())
        parts: list[Batch] = []
        try:
            while (batch := source.read(_READ_ROWS)) is not None:
                parts.append(batch)
        finally:
            source.on_stop()
        schema = source.row_schema()
        return Batch.concat(parts) if parts else Batch.of_columns(schema, {n: [] for n in schema.names()})

    def check(self) -> None:
        """Raises ActorstreamError for a file that can be seen to be unreadable without reading all of it."""
        for file in list_files(self.path, "table"):
            self.reader.check_file(file, self.schema, {"path": self.path})

    def _source(self) -> FileSource:
        return self.reader(self.path, schema=self._declared)  # type: ignore[no-any-return]


def file_problems(path: Path, keys: Mapping[str, Field]) -> list[Problem]:
    """What is wrong with a table's file, as far as its beginning tells."""
    try:
        TableFile(path, keys).check()
    except ConfigurationError as error:
        return [Problem("table", each.message, each.allowed, each.hint) for each in error.problems]
    except (ActorstreamError, OSError) as error:
        return [
            Problem("table", f"cannot be read: {error}", "a csv, jsonl or parquet file, or a source actor")
        ]
    return []


def _reader(path: Path) -> tuple[Any, str]:
    suffix = (Path(path.stem) if path.suffix.lower() in COMPRESSED else path).suffix.lower()
    if suffix not in READERS:
        allowed = f"a file whose name ends in {listed(READERS)} (or that and {listed(COMPRESSED)})"
        message = f"{path.name!r} says no format, and there is no source actor of that name"
        raise ConfigurationError(Problem("table", message, allowed))
    return load_object(READERS[suffix], noun="class"), suffix


def _type(field: Field, as_text: bool) -> str:
    return f"{Kind.STRING.value if as_text else field.kind.value}{'?' if field.nullable else ''}"
