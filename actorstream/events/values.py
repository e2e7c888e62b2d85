"""Values: lists of Python values to the buffers of one column and back, in bulk and strictly.

`pack` refuses what a column cannot hold; it never truncates or guesses, and rounds only numbers of Python to floats, as
`float` does. No row is looked at one by one unless one of them is wrong. Figures are ns a value, benchmark `python-map`,
measured beside the alternatives named.
"""

from __future__ import annotations

import enum
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import msgspec
import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.fields import FLOATS, INTEGERS, STRUCT_CODES, Field, Kind, nearest_text

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_TIME, LAST_TIME = (
    (end - EPOCH) // timedelta(microseconds=1)
    for end in (datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
)
"""The least and the greatest value of a DATETIME column, which Python's datetime, csv and JSON can hold."""
YEARS = "the years 1 to 9999 (UTC) that a datetime can hold"
FINER = "is finer than a microsecond; allowed: whole microseconds, such as Timestamp.floor('us')"
_INT32_MAX = 2**31 - 1
_FEW = 32
"""Up to so many strings plain Python beats the fixed cost of NumPy and pyarrow calls."""
_FILL: dict[Kind, Any] = {
    Kind.BOOL: False,
    Kind.DATETIME: EPOCH,
    Kind.STRING: "",
    Kind.BYTES: b"",
    Kind.MSGPACK: b"",
}

_encode = msgspec.msgpack.Encoder().encode
_UNFIT = (struct.error, TypeError, ValueError, OverflowError, KeyError, RecursionError)
"""What packing raises for values that are none of the column's."""


class Buffers(NamedTuple):
    """What a column is made of: an Arrow bitmap or None, the values or bytes, and the offsets if it is variable."""

    validity: np.ndarray | None
    data: np.ndarray
    offsets: np.ndarray | None


# -- Python values to buffers ----


def pack(field: Field, values: list[Any], where: str = "row") -> Buffers:
    """The buffers of `values`, one a row. SchemaError names the field, the first wrong row (`where` and its number)
    and its value: a None in a field that is not nullable, another type, an integer that does not fit."""
    try:
        return _pack(field, values)
    except (*_UNFIT, msgspec.MsgspecError) as error:
        repaired = [_repair(field, value) for value in values]
        try:
            return _pack(field, repaired)
        except Exception:
            raise _fault(field, values, where) from error


def _pack(field: Field, values: list[Any]) -> Buffers:
    if field.nullable and None in values:
        valid = [value is not None for value in values]
        fill = field.categories[0] if field.categories else _FILL.get(field.kind, 0)
        data, offsets = _PACKERS[field.kind](field, [fill if value is None else value for value in values])
        return Buffers(np.packbits(np.array(valid, np.bool_), bitorder="little"), data, offsets)
    data, offsets = _PACKERS[field.kind](field, values)
    return Buffers(None, data, offsets)


_Packed = tuple[np.ndarray, np.ndarray | None]


def _pack_numbers(field: Field, values: list[Any]) -> _Packed:
    # struct.pack: 5 ns, np.fromiter 13, pa.array 22; and it takes no float for an int, and no number that does not fit
    # (of float32 only the standard size "<" refuses what does not fit)
    order = "<" if field.kind is Kind.FLOAT32 else ""
    raw = struct.pack(f"{order}{len(values)}{STRUCT_CODES[field.kind]}", *values)
    return np.frombuffer(raw, field.dtype), None


def _pack_bools(field: Field, values: list[Any]) -> _Packed:
    raw = np.frombuffer(bytes(values), np.uint8)
    if len(raw) and raw.max() > 1:
        raise ValueError("not a bool")
    return raw.view(np.bool_), None


def _pack_datetimes(field: Field, values: list[Any]) -> _Packed:
    # subtracting an aware datetime refuses naive ones; three columns of parts: 150 ns, one expression a value 180
    since = [value - EPOCH for value in values]
    if {*map(type, since)} != {timedelta} and any(map(_is_finer, since)):
        raise ValueError(FINER)
    count = f"{len(since)}q"
    days = np.frombuffer(struct.pack(count, *[delta.days for delta in since]), np.int64)
    seconds = np.frombuffer(struct.pack(count, *[delta.seconds for delta in since]), np.int64)
    micros = np.frombuffer(struct.pack(count, *[delta.microseconds for delta in since]), np.int64)
    times = (days * 86400 + seconds) * 1_000_000 + micros
    check_times(field, times)  # a zone east or west of UTC can lead out of the years
    return times, None


def _is_finer(since: timedelta) -> bool:
    """Whether a time has a part of a microsecond, as those of pandas may."""
    return getattr(since, "nanoseconds", 0) != 0


def are_times(times: np.ndarray, valid: np.ndarray | None = None) -> bool:
    """Whether all of the microseconds since 1970 are times that a DATETIME holds, as far as they are `valid` (one bool a
    row)."""
    if len(times) == 0 or (times.min() >= FIRST_TIME and times.max() <= LAST_TIME):
        return True
    return valid is not None and are_times(times[valid])


def check_times(field: Field, times: np.ndarray, valid: np.ndarray | None = None) -> None:
    """SchemaError names the first of the microseconds since 1970 that is outside of what a DATETIME holds; rows that
    are not `valid` (one bool a row) are not looked at."""
    if are_times(times, valid):
        return
    outside = (times < FIRST_TIME) | (times > LAST_TIME)
    if valid is not None:
        outside &= valid
    row = int(outside.argmax())
    value = f"{times[row]} microseconds since 1970"
    raise SchemaError(f"field {field.name!r}, row {row}: {value} is outside {YEARS}")


def _pack_strings(field: Field, values: list[Any]) -> _Packed:
    if len(values) <= _FEW:
        return _pack_bytes(field, [str.encode(value) for value in values])
    # offsets from the separators of one joined string: 20 ns, pa.array 31; join refuses what is not a string
    raw = np.frombuffer("\0".join(values).encode(), np.uint8)
    breaks = np.flatnonzero(raw == 0)
    count = len(values)
    if len(breaks) != count - 1:
        return _pack_bytes(field, [value.encode() for value in values])
    data = np.frombuffer("".join(values).encode(), np.uint8)
    offsets = np.zeros(count + 1, np.int32 if len(data) <= _INT32_MAX else np.int64)
    np.subtract(breaks, np.arange(count - 1), out=offsets[1:-1], casting="unsafe")
    offsets[-1] = len(data)
    return data, offsets


def _pack_bytes(field: Field, values: list[Any]) -> _Packed:
    # join takes the memory of whatever has one, len counts its items: the sums are the same where an item is a byte
    data = np.frombuffer(b"".join(values), np.uint8)
    if len(values) <= _FEW and len(data) <= _INT32_MAX:
        ends = [0, *accumulate(map(len, values))]
        counted, offsets = ends[-1], np.frombuffer(struct.pack(f"{len(ends)}i", *ends), np.int32)
    else:
        offsets = np.zeros(len(values) + 1, np.int32 if len(data) <= _INT32_MAX else np.int64)
        lengths = np.frombuffer(struct.pack(f"{len(values)}q", *map(len, values)), np.int64)
        np.cumsum(lengths, out=offsets[1:])
        counted = int(offsets[-1])
    if counted != len(data):
        raise TypeError("items of more than a byte")
    return data, offsets


def _pack_msgpack(field: Field, values: list[Any]) -> _Packed:
    return _pack_bytes(field, list(map(_encode, values)))


def _pack_codes(field: Field, values: list[Any]) -> _Packed:
    lookup, by_identity = _lookup(field)
    # the hash of an Enum is Python code: by identity 50 ns, by value 78; Literals by value 16
    codes = map(lookup.__getitem__, map(id, values)) if by_identity else map(lookup.__getitem__, values)
    assert field.dtype is not None
    raw = struct.pack(f"{len(values)}{field.dtype.char}", *codes)
    return np.frombuffer(raw, field.dtype), None


_PACKERS: dict[Kind, Callable[[Field, list[Any]], _Packed]] = {
    **dict.fromkeys(INTEGERS | FLOATS, _pack_numbers),
    Kind.BOOL: _pack_bools,
    Kind.DATETIME: _pack_datetimes,
    Kind.STRING: _pack_strings,
    Kind.BYTES: _pack_bytes,
    Kind.MSGPACK: _pack_msgpack,
    Kind.DICTIONARY: _pack_codes,
}


def _lookup(field: Field) -> tuple[dict[Any, int], bool]:
    """Category, or its identity where all categories are Enum members, -> code."""
    found = field.kept.get("lookup")
    if found is None:
        by_identity = all(isinstance(category, enum.Enum) for category in field.categories)
        keys = map(id, field.categories) if by_identity else field.categories
        found = field.kept["lookup"] = ({key: code for code, key in enumerate(keys)}, by_identity)
    return found  # type: ignore[no-any-return]


def _repair(field: Field, value: Any) -> Any:
    """What may stand for a value of the field without being one: a NumPy bool, the label of a category."""
    if field.kind is Kind.BOOL and isinstance(value, np.bool_):
        return bool(value)
    if field.kind is Kind.DICTIONARY and value is not None:
        try:
            return field.categories[field.code(value)]
        except SchemaError:
            return value
    return value


def _fault(field: Field, values: list[Any], where: str) -> SchemaError:
    """The error for the first value that cannot be packed."""
    for number, value in enumerate(values):
        try:
            _pack(field, [_repair(field, value)])
        except Exception as error:
            return SchemaError(f"field {field.name!r}, {where} {number}: {_why(field, value, error)}")
    return SchemaError(
        f"field {field.name!r}: {len(values)} values of kind {field.kind.value} are too many at once"
    )


def _shown(value: Any) -> str:
    try:
        shown = repr(value)
    except RecursionError:
        return "a value that is nested too deeply"
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _why(field: Field, value: Any, error: Exception) -> str:
    shown = _shown(value)
    if value is None:
        return f"None in a field that is not nullable; annotate it `| None` to allow it ({field.kind.value})"
    if field.kind is Kind.DICTIONARY:
        return (
            f"{shown} is not one of its categories{nearest_text(str(value), [str(x) for x in field.labels])}"
        )
    if field.kind in INTEGERS and isinstance(value, int):
        assert field.dtype is not None
        bounds = np.iinfo(field.dtype)
        return f"{shown} does not fit {field.kind.value}; allowed: {bounds.min} to {bounds.max}"
    if field.kind is Kind.DATETIME and isinstance(value, datetime):
        if getattr(value, "nanosecond", 0):
            return f"{shown} {FINER}"
        if value.tzinfo is not None:
            return f"{shown} is outside {YEARS}"
        return f"{shown} has no time zone; allowed: an aware datetime, such as datetime(..., tzinfo=UTC)"
    if field.kind in (Kind.FLOAT32, Kind.FLOAT64) and isinstance(value, int | float):
        return f"{shown} does not fit {field.kind.value}"
    if field.kind is Kind.STRING and isinstance(value, str):
        return f"{shown} is not valid Unicode text ({error})"
    if field.kind is Kind.MSGPACK:
        return f"{shown} ({type(value).__name__}) cannot be encoded: {error}"
    return f"{shown} is a {type(value).__name__}; allowed: {_EXPECTED.get(field.kind, field.kind.value)}"


_EXPECTED = {
    **dict.fromkeys(INTEGERS, "int"),
    Kind.FLOAT32: "float or int",
    Kind.FLOAT64: "float or int",
    Kind.BOOL: "bool",
    Kind.DATETIME: "an aware datetime",
    Kind.STRING: "str",
    Kind.BYTES: "bytes",
}


# -- buffers to Python values ----


def unpack_fixed(field: Field, data: np.ndarray) -> list[Any]:
    """The Python values of a fixed-width column without nulls."""
    if field.kind is Kind.DICTIONARY:
        # an object array taken by the codes: 7 ns, a list comprehension 15
        return _objects(field).take(data).tolist()  # type: ignore[no-any-return]
    if field.kind is Kind.DATETIME:
        # 67 ns; replace(tzinfo=UTC) 830, pyarrow's to_pylist 3100
        try:
            return [EPOCH + delta for delta in data.view("m8[us]").tolist()]
        except (TypeError, OverflowError):
            raise SchemaError(
                f"field {field.name!r}: a value is outside {YEARS}; read it as a column instead"
            ) from None
    return data.tolist()  # type: ignore[no-any-return]


def unpack_few(field: Field, data: np.ndarray, offsets: list[int]) -> list[Any]:
    """The strings or bytes of a short variable column without nulls, between `offsets` of `data`."""
    start = offsets[0]
    raw = data[start : offsets[-1]].tobytes()
    parts = [raw[at - start : end - start] for at, end in pairwise(offsets)]
    return [part.decode() for part in parts] if field.kind is Kind.STRING else parts


def unpack_msgpack(field: Field, packed: list[Any]) -> list[Any]:
    """Decodes msgpack values with the field's annotation; None stays None."""
    decode = _decoder(field)
    try:
        if None in packed:
            return [None if value is None else decode(value) for value in packed]
        return list(map(decode, packed))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        for number, value in enumerate(packed):
            try:
                if value is not None:
                    decode(value)
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                raise SchemaError(f"field {field.name!r}, row {number}: {error}") from None
        raise


def put_nulls(values: list[Any], valid: np.ndarray) -> list[Any]:
    """`values` with None where `valid` (one bool a row) is False."""
    for number in np.flatnonzero(~valid).tolist():
        values[number] = None
    return values


def _objects(field: Field) -> np.ndarray:
    found = field.kept.get("objects")
    if found is None:
        found = np.empty(len(field.categories), object)
        found[:] = field.categories
        field.kept["objects"] = found
    return found  # type: ignore[no-any-return]


def _decoder(field: Field) -> Callable[[bytes], Any]:
    found = field.kept.get("decode")
    if found is None:
        found = field.kept["decode"] = msgspec.msgpack.Decoder(field.annotation).decode
    return found  # type: ignore[no-any-return]


def microseconds(value: datetime) -> int:
    """The int64 that an aware datetime is kept as. ValueError: it is outside the years that UTC has, or finer."""
    since = value - EPOCH
    if type(since) is not timedelta and _is_finer(since):
        raise ValueError(f"{value.isoformat()} {FINER}")
    found = (since.days * 86400 + since.seconds) * 1_000_000 + since.microseconds
    if not FIRST_TIME <= found <= LAST_TIME:
        raise ValueError(f"{value.isoformat()} is outside {YEARS}")
    return found


def code_of(field: Field, value: Any) -> int:
    """The code of a category; KeyError if it is none."""
    lookup, by_identity = _lookup(field)
    return lookup[id(value)] if by_identity else lookup[value]
