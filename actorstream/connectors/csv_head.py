"""The head of a csv file: the names of its columns, and the types of columns that nobody declared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.connectors.blocks import BlockReader
from actorstream.connectors.csv_format import convert_options, csv_input
from actorstream.connectors.csv_records import STRAY, UNCLOSED, CsvRecords, Record
from actorstream.connectors.json_inference import told_integer
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
        record, size = _first_record(path, first.data, records)
        if not header:
            names = list(schema.names())
            count = 0 if record is None else record.fields
            if count < len(names):
                missing = f"has {count} columns, {schema.name} has {len(names)} fields"
                raise DataError(f"{missing}: {', '.join(names)}", file=path, line=1)
            return names + [""] * (count - len(names)), Preceded(first, blocks)
        cells = _names(path, first.data, record, delimiter)
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

    from actorstream.events.schema import Schema

    records = CsvRecords(delimiter)
    blocks = BlockReader(path, records.boundary, SAMPLE_BYTES)
    try:
        first = blocks.next()
    finally:
        blocks.close()
    if first is None:
        raise DataError("is empty; allowed: a header (or declare the fields with `schema`)", file=path)
    record, size = _first_record(path, first.data, records)
    cells = _names(path, first.data, record, delimiter)
    for name in cells:
        if not name or cells.count(name) > 1:
            why = f"the header names {name!r} twice" if name else "the header has a column without a name"
            raise DataError(
                f"{why}; give each a name, or declare the fields with `schema`", file=path, line=1
            )
    found: dict[str, Any] = dict.fromkeys(cells, pa.null())
    if first.data[size:].strip():
        try:
            found = _told(first.data[size:], cells, delimiter)
        except ValueError as error:
            hint = "declare the fields with `schema`"
            raise DataError(f"its fields cannot be told: {error}; {hint}", file=path) from error
    fields = [_told_field(name, column) for name, column in found.items()]
    return Schema.from_arrow(pa.schema(fields))


def _told(data: bytes, cells: list[str], delimiter: str) -> dict[str, Any]:
    """Column -> Arrow array of a type that holds its values. ValueError: no type of ours holds them."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.csv as pacsv

    def read(types: dict[str, Any] | None, quoted_null: bool) -> Any:
        return pacsv.read_csv(
            csv_input(data),
            pacsv.ReadOptions(use_threads=False, block_size=2**31 - 1, column_names=cells),
            pacsv.ParseOptions(delimiter=delimiter, invalid_row_handler=lambda row: "skip"),
            convert_options(types, quoted_null),
        )

    table = read(None, False)
    found = {name: table.column(name) for name in cells}
    if any(pa.types.is_string(column.type) for column in found.values()):
        for name, column in zip(cells, read(None, True).columns):
            if pa.types.is_string(found[name].type) and not pa.types.is_null(column.type):
                found[name] = found[name] if pa.types.is_string(column.type) else column
    reals = [name for name, column in found.items() if pa.types.is_float64(column.type)]
    for name in reals:  # Arrow makes floats of integers that do not fit int64
        texts = read({name: pa.string()}, True).column(name)
        if pc.all(pc.match_substring_regex(texts, r"^\s*[+-]?\d+\s*$")).as_py():
            integers = [int(text) for text in texts.drop_null().to_pylist()]
            found[name] = pa.chunked_array([texts.cast(told_integer(name, min(integers), max(integers)))])
    return found


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


def _first_record(path: str, data: bytes, records: CsvRecords) -> tuple[Record | None, int]:
    """The first record, None if all lines are empty, and the bytes up to the next one. DataError: it has no end."""
    record = records.first(data)
    if record is None:
        return None, len(data)
    if record.stray or not record.closed:
        raise DataError(STRAY if record.stray else UNCLOSED, file=path, line=record.line + 1)
    end = record.end
    return record, min(end + (2 if data[end : end + 2] == b"\r\n" else 1), len(data))


def _names(path: str, data: bytes, record: Record | None, delimiter: str) -> list[str]:
    """The cells of the header."""
    import csv
    import io

    if record is None:
        return []
    text = data[record.start : record.end].decode(errors="replace")
    try:  # lines are what csv says, and not what else Unicode calls the end of one
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise DataError(f"the header: {error}", file=path, line=record.line + 1) from error


def _missing(name: str, cells: list[str]) -> str:
    if name in cells:
        return f"the header names {name!r} twice, allowed: once"
    return f"there is no such column{nearest_text(name, cells)}; the header has {', '.join(cells)}"
