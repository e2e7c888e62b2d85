"""csv blocks as batches: what Arrow's reader makes of them, and which records it cannot read. Opens no
files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from actorstream.connectors.blocks import BOM, RecordBlock, count_lines, occurrences
from actorstream.connectors.csv_records import QUOTE, STRAY, UNCLOSED, CsvRecord, CsvRecords, has_lone_return
from actorstream.connectors.dead_rows import BadRow
from actorstream.connectors.partition import FilePiece
from actorstream.connectors.rows import batch_of
from actorstream.errors import DataError
from actorstream.events.arrow import arrow_type
from actorstream.events.arrow_arrays import arrow_scalar, arrow_texts
from actorstream.events.fields import Field, Kind

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

_ROW = re.compile(r"Row #(\d+)")
_COLUMN = re.compile(r"In CSV column #(\d+)")
_WHY = re.compile(r"CSV conversion error to ([^:]+): (.*)", re.DOTALL)
_EMPTY = "invalid value ''"
_CHUNK = 64
"""Records that are parsed together where some do not parse: of 12,000 records with 120 bad ones 20 ms, one
by one 700."""


class CsvFormat:
    """The records of one file.

    Args:
        path: of the file, for messages. schema: the rows to make; every field is a column of the file.
        columns: names of all the file's columns, in order.
        delimiter: one character. told: the schema was told from the file, not declared (for messages).
    """

    def __init__(
        self, path: str, schema: Schema, columns: list[str], delimiter: str, told: bool = False
    ) -> None:
        import pyarrow as pa
        import pyarrow.csv as pacsv

        self._path, self._schema, self._columns, self._told = path, schema, columns, told
        self._records = CsvRecords(delimiter)
        self._types = {field.name: wire_type(field) for field in schema.fields}
        texts = {field.name for field in schema.fields if _may_be_empty(field)}
        self._texts = {name: name in texts for name in self._types}
        self._apart = len(set(self._texts.values())) == 1
        """Whether texts are read apart from other fields, in which an empty field in quotes is null too. Arrow has one
        rule for all columns of a pass; so it is one pass until such a field is seen, and two from then on."""
        self._categories = {
            name for name, found in self._types.items() if found == pa.string() and name not in texts
        }
        """Categories and structures: Arrow reads them as texts, so it has no error for an empty field in quotes."""
        self._times = [field.name for field in schema.fields if field.kind is Kind.DATETIME]
        self._naive = pa.timestamp("us")
        # an empty line is a null where there is one column that may be null; else it is nothing
        self._blank = len(columns) == 1 and all(field.nullable for field in schema.fields)
        self._parse = pacsv.ParseOptions(delimiter=delimiter, ignore_empty_lines=not self._blank)
        names = [name if name in self._types else f"\0{number}" for number, name in enumerate(columns)]
        self._read = pacsv.ReadOptions(use_threads=False, block_size=2**31 - 1, column_names=names)

    def count(self, block: RecordBlock) -> int | None:
        data = block.data
        if self._blank or QUOTE in data or b"\r" in data:
            return None
        return count_lines(data)

    def parse(self, block: RecordBlock) -> FilePiece:
        import pyarrow as pa

        bad: list[BadRow] = []
        records: list[CsvRecord] | None = None
        try:
            if block.final and occurrences(block.data, QUOTE) % 2:
                raise pa.ArrowInvalid("a quote may be open")
            if has_lone_return(block.data):
                raise pa.ArrowInvalid("a carriage return may be alone")
            arrays = self._arrays(block.data)
            numbers = None
            self._check_end(block, len(next(iter(arrays.values()))))
        except pa.ArrowInvalid:
            self._check_end(block, 0)
            records = self._records.scan(block.data, self._blank)
            arrays, numbers, bad = self._salvage(block, records)
        batch, misfits = batch_of(self._schema, arrays)
        if misfits:
            if records is None:
                records = self._records.scan(block.data, self._blank)
            for row, (name, why) in misfits.items():
                number = row if numbers is None else numbers[row]
                bad.append(self._bad(block, number, records[number], name, why))
            bad.sort()
        return FilePiece(batch, batch.rows + len(bad), block.done, bad)

    def _check_end(self, block: RecordBlock, rows: int) -> None:
        """DataError if the block was cut inside a field, where stray quotes misled whoever cut it by their
        parity."""
        data = block.data
        if block.final or QUOTE not in data:
            return
        start = 0
        if rows == block.ends or rows == count_lines(data):  # each line is a record, so the last one shows it
            start = data.rfind(b"\n", 0, -1) + 1
        elif self._records.well_formed(data):
            return
        last = self._records.scan(data[start:])[-1:]
        if last and not last[0].closed:
            why = "quotes inside fields that are not in quotes hide where the records end; put those fields in quotes"
            line = block.lines + data.count(b"\n", 0, start) + last[0].line + 1
            raise DataError(why, file=self._path, line=line)

    def _arrays(self, data: bytes) -> dict[str, Any]:
        """Field -> Arrow array. ArrowInvalid if any record does not parse."""
        import pyarrow as pa

        began = self._types  # another thread that parses the next block may replace it meanwhile
        types = dict(began)
        for _ in range(2 * len(self._times) + 2):
            try:
                arrays = self._read_arrays(data, types)
                break
            except pa.ArrowInvalid as error:
                if not self._apart and _EMPTY in str(error):
                    self._apart = True
                    continue
                # Arrow wants to know beforehand whether times name their zone; those that do not are UTC
                name = self._column_of(str(error)) if "zone offset" in str(error) else None
                if name is None or types[name] != began[name]:
                    raise
                naive = types[name] == self._naive
                types[name] = wire_type(self._schema.field(name)) if naive else self._naive
        self._types = types
        for field in self._schema.fields:
            if (
                field.kind in (Kind.STRING, Kind.BYTES)
                and not field.nullable
                and arrays[field.name].null_count
            ):
                arrays[field.name] = arrays[field.name].fill_null(
                    arrow_texts([b""], arrays[field.name].type)[0]
                )
        return arrays

    def _read_arrays(self, data: bytes, types: dict[str, Any]) -> dict[str, Any]:
        import pyarrow as pa
        import pyarrow.csv as pacsv

        if not data:
            return {name: pa.chunked_array([], found) for name, found in types.items()}
        arrays: dict[str, Any] = {}
        for texts in (True, False):
            part = {
                name: found for name, found in types.items() if self._texts[name] == texts or not self._apart
            }
            if part and not arrays.keys() >= part.keys():
                options = convert_options(part, quoted_null=self._apart and not texts)
                table = pacsv.read_csv(csv_input(data), self._read, self._parse, options)
                arrays |= zip(table.column_names, table.columns)
        if QUOTE in data and not self._apart:
            for name in arrays.keys() & self._categories:
                arrays[name] = _null_if_empty(arrays[name])
        return arrays

    def _salvage(
        self, block: RecordBlock, records: list[CsvRecord]
    ) -> tuple[dict[str, Any], list[int], list[BadRow]]:
        """The records that parse: their arrays, and which they are; and the ones that do not."""
        import pyarrow as pa

        bad: list[BadRow] = []
        good: list[int] = []
        for number, record in enumerate(records):
            if record.fields == len(self._columns) and record.closed and not record.stray:
                good.append(number)
                continue
            why = f"has {record.fields} fields, allowed: {len(self._columns)}, as in the header or first line"
            if not record.closed:
                why = UNCLOSED
            elif record.stray:
                why = STRAY
            bad.append(self._bad(block, number, record, "", why))
        parts = [good[first : first + _CHUNK] for first in range(0, len(good), _CHUNK)][::-1]
        found: list[dict[str, Any]] = [self._arrays(b"")]
        numbers: list[int] = []
        while parts:
            part = parts.pop()
            lines = (block.data[records[number].start : records[number].end] + b"\n" for number in part)
            try:
                found.append(self._arrays(b"".join(lines)))
                numbers += part
            except pa.ArrowInvalid as error:
                text = str(error)
                row = _ROW.search(text)
                if len(part) > 1 and (row is None or "zone offset" in text):
                    parts += [part[len(part) // 2 :], part[: len(part) // 2]]
                    continue
                at, column = 0 if row is None else int(row[1]) - 1, self._column_of(text)
                bad.append(self._bad(block, part[at], records[part[at]], column, self._why(text, column)))
                parts += filter(None, (part[at + 1 :], part[:at]))
        names = self._schema.names()
        arrays = {name: _joined([each[name] for each in found], self._schema.field(name)) for name in names}
        bad.sort()
        return arrays, numbers, bad

    def _column_of(self, text: str) -> str | None:
        found = _COLUMN.search(text)
        return self._columns[int(found[1])] if found else None

    def _why(self, text: str, column: str | None) -> str:
        """What Arrow says, with the type by the name that a schema has for it."""
        found = _WHY.search(text)
        kinds = {field.name: field.kind.value for field in self._schema.fields if not field.categories}
        kind = kinds.get(column or "", found[1] if found else "")
        why = f"{found[2].replace('invalid value ', '')} is not {kind}" if found else text
        if self._told:
            why += "; the type was told from the first rows, declare it with `schema`"
        return why

    def _bad(
        self, block: RecordBlock, number: int, record: CsvRecord, column: str | None, why: str
    ) -> BadRow:
        text = block.data[record.start : record.end].decode(errors="replace")
        return BadRow(number, block.lines + record.line + 1, column or "", text, why)


def csv_input(data: bytes) -> Any:
    """Bytes of a file as Arrow's reader takes them. It drops a byte order mark before the first of them, which in the middle
    of a file is a part of a field."""
    import pyarrow as pa

    return pa.BufferReader(BOM + data if data.startswith(BOM) else data)


def wire_type(field: Field) -> Any:
    """The type that a csv cell of the field is read as."""
    import pyarrow as pa

    match field.kind:
        case Kind.BOOL:
            return pa.bool_()
        case Kind.DICTIONARY:
            return pa.string() if isinstance(field.labels[0], str) else pa.int64()
        case Kind.MSGPACK:
            return pa.string()
        case _:
            return arrow_type(field)


def _may_be_empty(field: Field) -> bool:
    """Whether the empty string is a value of the field."""
    return field.kind in (Kind.STRING, Kind.BYTES) or "" in (field.labels if field.categories else ())


def _null_if_empty(array: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = pc.equal(array, arrow_scalar(""))
    return pc.if_else(empty, pa.nulls(1, array.type)[0], array) if pc.any(empty).as_py() else array


def convert_options(types: dict[str, Any] | None, quoted_null: bool = False) -> Any:
    """How cells are read: null is empty, `""` is the empty string (or with `quoted_null` also null), booleans are true
    and false."""
    import pyarrow.csv as pacsv

    return pacsv.ConvertOptions(
        column_types=types,
        include_columns=list(types) if types else None,
        null_values=[""],
        true_values=["true"],
        false_values=["false"],
        strings_can_be_null=True,
        quoted_strings_can_be_null=quoted_null,
    )


def _joined(parts: list[Any], field: Field) -> Any:
    import pyarrow as pa

    target = wire_type(field)
    chunks = [chunk.cast(target) for part in parts for chunk in getattr(part, "chunks", [part])]
    return pa.chunked_array(chunks, target)
