"""JSON lines one by one: what Arrow's reader cannot take in bulk, and which lines are not rows. Off the
fast path."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.connectors.dead_rows import BadRow
from actorstream.connectors.structures import json_decoder
from actorstream.events.arrow import arrow_type
from actorstream.events.arrow_arrays import arrow_scalar
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind, nearest_text

if TYPE_CHECKING:
    from actorstream.connectors.blocks import RecordBlock
    from actorstream.events.schema import Schema


Defaults = dict[str, Callable[[], Any]]
"""Field -> what makes its value where the key is missing."""
DEEPEST = 200
"""Objects and lists in each other that a value may have; more would exhaust the stack of whoever decodes or encodes."""
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class NotARowError(ValueError):
    """A line is not a row; `column` says which field is why, if it is one."""

    def __init__(self, why: str, column: str = "") -> None:
        super().__init__(why)
        self.why, self.column = why, column


def defaults_of(schema: Schema) -> Defaults:
    """The defaults of the event class. One that is None is not among them: what is missing is null anyway."""
    if not schema.names_attributes:
        return {}
    made: Defaults = {}
    for field in msgspec.structs.fields(schema.event_class()):
        if field.default_factory is not msgspec.NODEFAULT:
            made[field.name] = field.default_factory
        elif field.default is not msgspec.NODEFAULT and field.default is not None:
            made[field.name] = partial(_itself, field.default)
    return made


def _itself(value: Any) -> Any:
    return value


def read_lines(
    schema: Schema, block: RecordBlock, defaults: Defaults
) -> tuple[dict[str, list[Any]], list[int], list[BadRow]]:
    """Field -> values of the lines that are rows, which of the records they are, and the ones that are not.

    A record is a line that is not blank."""
    structured = any(field.kind is Kind.MSGPACK for field in schema.fields)
    columns: dict[str, list[Any]] = {name: [] for name in schema.names()}
    numbers: list[int] = []
    bad: list[BadRow] = []
    number = 0
    for line, text in enumerate(block.data.split(b"\n"), block.lines + 1):
        if not text.strip():
            continue
        try:
            found = object_of(text)
            if structured:
                found |= _parts_of(text, schema)
            values = [_field_value(field, found, defaults) for field in schema.fields]
        except NotARowError as error:
            bad.append(BadRow(number, line, error.column, text.decode(errors="replace"), error.why))
        else:
            numbers.append(number)
            for name, value in zip(columns, values):
                columns[name].append(value)
        number += 1
    return columns, numbers, bad


def _field_value(field: Field, found: dict[str, Any], defaults: Defaults) -> Any:
    """The field's value in an object. NotARowError if it has none."""
    name = field.name
    value = found.get(name)
    if value is not None:
        return _value(field, value)
    if name not in found and name in defaults:
        return defaults[name]()
    if not field.nullable:
        near = "" if name in found else nearest_text(name, list(found))
        what = "is null" if name in found else "is missing"
        raise NotARowError(f"{what}, and {field.kind.value} is needed{near}", name)
    return None


def _parts_of(text: bytes, schema: Schema) -> dict[str, msgspec.Raw]:
    """Field -> the JSON of its structured value, which loses nothing where msgspec decodes it by its type. Empty where
    msgspec takes no such line."""
    try:
        parts = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
    wanted = {field.name for field in schema.fields if field.kind is Kind.MSGPACK}
    return {name: part for name, part in parts.items() if name in wanted and bytes(part) != b"null"}


def object_of(text: bytes) -> dict[str, Any]:
    """The object that a line is. NotARowError if it is none."""
    if is_too_deep(text):
        raise NotARowError(f"is nested {_depth(text)} deep, allowed: {DEEPEST}")
    try:
        found = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        try:
            found = json.loads(text)  # takes NaN and Infinity, as Arrow does
        except (ValueError, RecursionError):
            raise NotARowError(f"is not JSON: {error}") from None
    if not isinstance(found, dict):
        raise NotARowError(f"is a JSON {type(found).__name__}, allowed: one object a line")
    return found


def _value(field: Field, value: Any) -> Any:
    """`value` as the field has it, by the rules of Arrow's reader. NotARowError if it is none."""
    if value is None:
        return None
    kind = field.kind
    try:
        if kind in INTEGERS:
            return _integer(field, value)
        if kind in FLOATS:
            if isinstance(value, str):
                return float(_cast(value, arrow_type(field)))
            return float(value) if _is_number(value) else _refuse(field, value)
        if kind is Kind.DATETIME:
            return _time(value) if isinstance(value, str) else _refuse(field, value)
        if kind is Kind.BYTES:
            return base64.b64decode(value, validate=True) if isinstance(value, str) else _refuse(field, value)
        if kind is Kind.MSGPACK:
            if isinstance(value, msgspec.Raw):
                return json_decoder(field)(bytes(value))
            return msgspec.convert(value, field.annotation, str_keys=True)
        if kind is Kind.DICTIONARY:
            return (
                field.categories[field.labels.index(value)]
                if value in field.labels
                else _refuse(field, value)
            )
        wanted = bool if kind is Kind.BOOL else str
        return value if isinstance(value, wanted) else _refuse(field, value)
    except (ValueError, TypeError, OverflowError, msgspec.MsgspecError) as error:
        if isinstance(error, NotARowError):
            raise
        raise NotARowError(f"{_shown(value)} is not {_kind_of(field)}: {error}", field.name) from None


def _integer(field: Field, value: Any) -> int:
    if isinstance(value, str):
        value = _cast(value, arrow_type(field)) if value else _refuse(field, value)
    bounds = np.iinfo(field.kind.value)
    if not isinstance(value, int) or isinstance(value, bool) or not bounds.min <= value <= bounds.max:
        _refuse(field, value)
    return int(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cast(text: str, target: Any) -> Any:
    """What Arrow makes of text; ValueError (ArrowInvalid is one) if nothing."""
    return arrow_scalar(text).cast(target).as_py()


def _time(text: str) -> Any:
    from datetime import UTC

    import pyarrow as pa

    text = text.upper()  # msgspec takes t and z, too
    try:
        return _cast(text, pa.timestamp("us", tz="UTC"))
    except pa.ArrowInvalid:
        return _cast(text, pa.timestamp("us")).replace(tzinfo=UTC)


def _refuse(field: Field, value: Any) -> Any:
    raise NotARowError(f"{_shown(value)} is not {_kind_of(field)}", field.name)


def _kind_of(field: Field) -> str:
    if field.categories:
        return f"one of {', '.join(map(str, field.labels))}"
    return str(field.annotation) if field.kind is Kind.MSGPACK else field.kind.value


def _shown(value: Any) -> str:
    text = bytes(value).decode() if isinstance(value, msgspec.Raw) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:77] + "..."


def is_too_deep(text: bytes) -> bool:
    """Whether JSON is nested deeper than `DEEPEST`."""
    return text.count(b"[") + text.count(b"{") > DEEPEST and _depth(text) > DEEPEST


def has_too_deep_line(data: bytes, objects: int) -> bool:
    """Whether one of the lines is, of so many objects. 0.1 ms for 1 MiB of lines without lists and inner objects."""
    found = np.frombuffer(data, np.uint8)
    opened = np.count_nonzero(found == ord("[")) + np.count_nonzero(found == ord("{"))
    if opened < objects + DEEPEST:  # each object opens one at least
        return False
    opens = (found == ord("[")) | (found == ord("{"))
    ends = np.flatnonzero(found == ord("\n"))
    starts, stops = np.concatenate(([0], ends + 1)), np.append(ends, len(found))
    full = stops > starts
    starts, stops = starts[full], stops[full]
    many = np.add.reduceat(opens, starts, dtype=np.int64) > DEEPEST
    return any(_depth(data[first:last]) > DEEPEST for first, last in zip(starts[many], stops[many]))


def _depth(text: bytes) -> int:
    """How many objects and lists of JSON are open at once at the most."""
    bare = np.frombuffer(_TEXT.sub(b"", text), np.uint8)
    steps = np.zeros(len(bare), np.int64)
    steps[(bare == ord("[")) | (bare == ord("{"))] = 1
    steps[(bare == ord("]")) | (bare == ord("}"))] = -1
    return int(np.cumsum(steps).max(initial=0))


def first_objects(data: bytes, most: int) -> list[dict[str, Any]]:
    """The objects of the first lines that are not blank. NotARowError if one is none."""
    lines = [line for line in data[: 1 << 20].split(b"\n")[:most] if line.strip()]
    return [object_of(line) for line in lines]
