"""jsonl blocks as batches: what Arrow's reader makes of them, else what their lines are one by one. Opens
no files."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.connectors.blocks import RecordBlock
from actorstream.connectors.csv_format import wire_type
from actorstream.connectors.dead_rows import BadRow
from actorstream.connectors.json_values import defaults_of, has_too_deep_line, read_lines
from actorstream.connectors.partition import FilePiece
from actorstream.connectors.rows import Misfits, batch_of
from actorstream.connectors.text import is_text
from actorstream.errors import SchemaError
from actorstream.events.fields import FLOATS, INTEGERS, Kind

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

_CHANGED = re.compile(r"Column\(/(.*)\) changed from (\w+) to (\w+) in row")
_LONG_SECOND = re.compile(rb"\.(?<=\d:\d\d\.)\d{7}")
"""Seven digits of a second, of which msgspec would round one away. 1.3 ms for 1 MiB of lines with a time and a float each."""
_OPEN, _CLOSE, _CR = b"{}\r"


class JsonlFormat:
    """The lines of one file as rows of `schema`."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._types = {field.name: wire_type(field) for field in schema.fields}
        self._numbers = {field.name for field in schema.fields if field.kind in INTEGERS | FLOATS}
        self._as_text: frozenset[str] = frozenset()
        """Fields of numbers that the file has as text."""
        kinds = {field.kind for field in schema.fields}
        self._structured = bool(kinds & {Kind.MSGPACK, Kind.BYTES})
        self._has_times = Kind.DATETIME in kinds
        self._decode: Any = None
        if self._structured and schema.names_attributes:
            self._decode = msgspec.json.Decoder(schema.event_class()).decode_lines
        self._defaults = defaults_of(schema)
        unsure = INTEGERS | {Kind.FLOAT32, Kind.DATETIME, Kind.MSGPACK}
        self._narrow = [
            field.name for field in schema.fields if field.kind in unsure or field.name in self._defaults
        ]
        """Fields whose columns do not hold everything that msgspec decodes: they are made here, where a bad row is found."""

    def count(self, block: RecordBlock) -> int | None:
        return objects(block.data)

    def parse(self, block: RecordBlock) -> FilePiece:
        records = objects(block.data)
        if records is None or has_too_deep_line(block.data, records):
            return self._by_line(block)
        if not records:
            return FilePiece(self._empty(), 0, block.done)
        try:
            batch, misfits = self._in_bulk(block.data)
        except (ValueError, SchemaError):  # pa.ArrowInvalid and msgspec's errors are ValueErrors
            return self._by_line(block)
        if batch.rows + len(misfits) != records:
            return self._by_line(block)
        lines = (
            [each for each in enumerate(block.data.split(b"\n"), block.lines + 1) if each[1]]
            if misfits
            else []
        )
        bad = [
            BadRow(row, lines[row][0], name, lines[row][1].decode(errors="replace"), why)
            for row, (name, why) in sorted(misfits.items())
        ]
        return FilePiece(batch, records, block.done, bad)

    def _in_bulk(self, data: bytes) -> tuple[Batch, Misfits]:
        """ValueError or SchemaError if the lines have to be read one by one."""
        from actorstream.events.batch import Batch

        if not is_text(data):
            raise ValueError("not UTF-8")
        if self._structured:
            if self._decode is None:
                raise ValueError("the names of the fields are none of a class")
            if self._has_times and _LONG_SECOND.search(data):
                raise ValueError("more than six digits of a second")
            batch = Batch.of_events(self._schema, self._decode(data))
            for name in self._narrow:
                batch.column(name)
            return batch, {}
        table = self._table(data)
        arrays = dict(zip(table.column_names, table.columns))
        if any(arrays[name].null_count for name in self._defaults):
            raise ValueError("Arrow does not say whether a key is missing or its value null")
        for name in self._as_text:
            if arrays[name].type != self._types[name]:
                arrays[name] = arrays[name].cast(self._types[name])
        return batch_of(self._schema, arrays)

    def _table(self, data: bytes) -> Any:
        import pyarrow as pa
        import pyarrow.json as pajson

        as_text, tried = self._as_text, set()
        options = pajson.ReadOptions(use_threads=False, block_size=2**31 - 1)
        while True:
            wanted = [(name, pa.string() if name in as_text else kind) for name, kind in self._types.items()]
            parse = pajson.ParseOptions(explicit_schema=pa.schema(wanted), unexpected_field_behavior="ignore")
            try:
                table = pajson.read_json(pa.BufferReader(data), options, parse)
            except pa.ArrowInvalid as error:
                found = _CHANGED.search(str(error))
                name = found[1] if found else ""
                if (
                    found is None
                    or name not in self._numbers
                    or name in tried
                    or found[3] not in ("string", "number")
                ):
                    raise
                tried.add(name)
                as_text = as_text ^ {name}
            else:
                self._as_text = as_text
                return table

    def _by_line(self, block: RecordBlock) -> FilePiece:
        columns, numbers, bad = read_lines(self._schema, block, self._defaults)
        batch, misfits = batch_of(self._schema, columns)
        if misfits:
            lines = [each for each in enumerate(block.data.split(b"\n"), block.lines + 1) if each[1].strip()]
            for row, (name, why) in misfits.items():
                line, text = lines[numbers[row]]
                bad.append(BadRow(numbers[row], line, name, text.decode(errors="replace"), why))
            bad.sort()
        return FilePiece(batch, batch.rows + len(bad), block.done, bad)

    def _empty(self) -> Batch:
        from actorstream.events.batch import Batch

        return Batch.of_events(self._schema, [])


def objects(data: bytes) -> int | None:
    """How many lines are not empty, if each of these begins with { and ends with }; else None.

    As many objects as such lines are one a line: between a line's } and the next line's { an object cannot
    go on."""
    found = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(found == 10)
    if data[-1:] not in (b"", b"\n"):
        ends = np.append(ends, len(data))
    starts = np.concatenate(([0], ends[:-1] + 1))[: len(ends)]
    full = ends > starts
    if not full.all():
        starts, ends = starts[full], ends[full]
    last = found[ends - 1]
    if (last == _CR).any():
        last = np.where(last == _CR, found[ends - 2], last)
    return len(ends) if bool((found[starts] == _OPEN).all() and (last == _CLOSE).all()) else None
