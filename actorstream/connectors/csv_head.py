"""The head of a csv file: the names of its columns, and the types of columns that nobody declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.connectors.blocks import BlockReader
from actorstream.connectors.csv_format import convert_options, csv_input
from actorstream.connectors.csv_records import CsvRecords
from actorstream.connectors.partition import Blocks, Preceded
from actorstream.errors import DataError
from actorstream.events.fields import nearest_text

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

SAMPLE_BYTES = 1 << 20
"""The types of columns that nobody declared are told from so much of the first file."""


def read_head(path: str, schema: Schema, delimiter: str, header: bool) -> tuple[list[str], Blocks]:
    """The names of a file's columns, and the blocks after the header. DataError if a field of `schema` is
    missing.

    Without a header the fields are the first columns. A file of no bytes has the fields, and no rows."""
    records = CsvRecords(delimiter)
    blocks = BlockReader(path, records.boundary)
    first = blocks.next()
    if first is None:
        return list(schema.names()), blocks
    try:
        cells, size = _first_record(first.data, records, delimiter)
        if not header:
            names = list(schema.names())
            if len(cells) < len(names):
                missing = f"has {len(cells)} columns, {schema.name} has {len(names)} fields"
                raise DataError(f"{missing}: {', '.join(names)}", file=path, line=1)
            return names + [""] * (len(cells) - len(names)), Preceded(first, blocks)
        for name in schema.names():
            if cells.count(name) != 1:
                raise DataError(_missing(name, cells), file=path, line=1, column=name)
        lines = first.data.count(b"\n", 0, size)
        rest = first._replace(data=first.data[size:], lines=first.lines + lines, ends=first.ends - lines)
        return cells, Preceded(rest, blocks)
    except DataError:
        blocks.close()
        raise


def told_schema(path: str, delimiter: str) -> Schema:
    """The schema by the header and the types that Arrow finds in the first MiB. DataError if there is no
    header."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    from actorstream.events.schema import Schema

    records = CsvRecords(delimiter)
    blocks = BlockReader(path, records.boundary, SAMPLE_BYTES)
    try:
        first = blocks.next()
    finally:
        blocks.close()
    if first is None:
        raise DataError("is empty; allowed: a header (or declare the fields with `schema`)", file=path)
    cells, size = _first_record(first.data, records, delimiter)
    for name in cells:
        if not name or cells.count(name) > 1:
            why = f"the header names {name!r} twice" if name else "the header has a column without a name"
            raise DataError(
                f"{why}; give each a name, or declare the fields with `schema`", file=path, line=1
            )
    found: dict[str, Any] = dict.fromkeys(cells, pa.null())
    if first.data[size:].strip():
        table = pacsv.read_csv(
            csv_input(first.data[size:]),
            pacsv.ReadOptions(use_threads=False, block_size=2**31 - 1, column_names=cells),
            pacsv.ParseOptions(delimiter=delimiter, invalid_row_handler=lambda row: "skip"),
            convert_options(None),
        )
        found = {name: table.column(name) for name in cells}
    fields = [_told_field(name, column) for name, column in found.items()]
    return Schema.from_arrow(pa.schema(fields))


def _told_field(name: str, column: Any) -> Any:
    """An Arrow field for a column whose type Arrow told; no rows or only empty fields: text that may be
    null."""
    import pyarrow as pa

    told = getattr(column, "type", column)
    nullable = bool(getattr(column, "null_count", 0))
    if pa.types.is_null(told):
        return pa.field(name, pa.string(), nullable=True)
    if pa.types.is_time(told):
        told = pa.string()
    return pa.field(name, told, nullable=nullable)


def _first_record(data: bytes, records: CsvRecords, delimiter: str) -> tuple[list[str], int]:
    """The cells of the first record, and the bytes up to the next one."""
    import csv

    end = records.first_end(data)
    text = data[:end].decode(errors="replace")
    cells = next((row for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter) if row), [])
    return cells, end


def _missing(name: str, cells: list[str]) -> str:
    if name in cells:
        return f"the header names {name!r} twice, allowed: once"
    return f"there is no such column{nearest_text(name, cells)}; the header has {', '.join(cells)}"
