"""Columns to pyarrow arrays and back, without copying where the layouts agree. Imports pyarrow on first use only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.arrow_arrays import arrow_array, arrow_scalar, arrow_texts
from actorstream.events.fields import FLOATS, INTEGERS, Field, Kind, nearest_text
from actorstream.events.values import Buffers, pack

if TYPE_CHECKING:
    import pyarrow as pa

    from actorstream.events.column import Column

MOST_NARROW = 2**31 - 1
"""Bytes that int32 offsets reach."""


def arrow_type(field: Field, wide: bool = False) -> pa.DataType:
    """The Arrow type of a field's column; `wide`: with int64 offsets."""
    key = "arrow wide" if wide else "arrow"
    found = field.kept.get(key)
    if found is None:
        found = field.kept[key] = _arrow_type(field, wide)
    return found


def _arrow_type(field: Field, wide: bool) -> pa.DataType:
    import pyarrow as pa

    match field.kind:
        case Kind.BOOL:
            return pa.bool8()
        case Kind.DATETIME:
            return pa.timestamp("us", tz="UTC")
        case Kind.STRING:
            return pa.large_string() if wide else pa.string()
        case Kind.BYTES | Kind.MSGPACK:
            return pa.large_binary() if wide else pa.binary()
        case Kind.DICTIONARY:
            return pa.dictionary(pa.from_numpy_dtype(field.dtype), labels_of(field).type)
        case _:
            return pa.from_numpy_dtype(field.dtype)


def labels_of(field: Field) -> pa.Array:
    """The labels of a category, in the order of their codes."""
    found = field.kept.get("labels")
    if found is None:
        import pyarrow as pa

        labels: Any = field.labels
        found = (
            arrow_array(np.array(labels)) if isinstance(labels[0], int) else arrow_texts(labels, pa.string())
        )
        field.kept["labels"] = found
    return found


def array_of(column: Column) -> pa.Array:
    """The column as an Arrow array over the same memory, which it keeps alive."""
    import pyarrow as pa

    field = column.field
    validity = None if column.validity is None else pa.py_buffer(column.validity)
    if column.offsets is not None:
        parts = [validity, pa.py_buffer(column.offsets), pa.py_buffer(column.data)]
        made = arrow_type(field, column.offsets.itemsize == 8)
        return pa.Array.from_buffers(made, column.length, parts, offset=column.first)
    parts = [validity, pa.py_buffer(column.data)]
    if field.kind is Kind.BOOL:
        storage = pa.Array.from_buffers(pa.int8(), column.length, parts, offset=column.first)
        return pa.ExtensionArray.from_storage(pa.bool8(), storage)
    if field.kind is Kind.DICTIONARY:
        code_type = pa.from_numpy_dtype(field.dtype)
        codes = pa.Array.from_buffers(code_type, column.length, parts, offset=column.first)
        return pa.DictionaryArray.from_arrays(codes, labels_of(field), safe=False)
    return pa.Array.from_buffers(arrow_type(field), column.length, parts, offset=column.first)


def is_valid(array: pa.Array) -> bool:
    """Whether offsets ascend and, in an array of strings, every value is UTF-8. O(bytes)."""
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def buffers_of(field: Field, array: Any) -> tuple[Buffers, int, int]:
    """Buffers of an Arrow array for a column of `field`, the first row in them, and the rows.

    Without a copy when the type is the field's own (either offset width); else cast where no value can change. Raises
    SchemaError on a null in a field that is not nullable, a value that does not fit, another family of types.
    """
    import pyarrow as pa

    if isinstance(array, pa.ChunkedArray):
        array = one_array(array)
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        array = array.dictionary_decode()  # its nulls are rows' nulls, which `null_count` leaves out
    if array.null_count and not field.nullable:
        row = array.is_null().index(arrow_scalar(True)).as_py()
        raise SchemaError(
            f"field {field.name!r}, row {row}: null in a field that is not nullable; annotate it `| None` "
            f"({field.kind.value}) or fill it first"
        )
    array = _as_field_type(field, array)
    rows, first = len(array), array.offset
    buffers = array.buffers()
    validity = None
    if array.null_count:
        validity = _view(buffers[0], np.uint8)
    if field.dtype is None:
        wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
        offset_type = np.dtype(np.int64 if wide else np.int32)
        if buffers[1] is None or buffers[1].size == 0:
            offsets = np.zeros(1, offset_type)
        else:
            offsets = _view(buffers[1], offset_type, first + rows + 1)
        return Buffers(validity, _view(buffers[2], np.uint8), offsets), first, rows
    if buffers[1] is None or rows == 0:
        return Buffers(None, np.empty(0, field.dtype), None), 0, rows
    if validity is None:
        width = field.dtype.itemsize
        return Buffers(None, _view(buffers[1], field.dtype, rows, first * width), None), 0, rows
    return Buffers(validity, _view(buffers[1], field.dtype, first + rows), None), first, rows


def one_array(chunks: Any) -> Any:
    """The chunks of an Arrow array as one; its offsets are wide where text or bytes are too many for narrow ones."""
    import pyarrow as pa

    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}.get(chunks.type)
    if wide is not None and chunks.nbytes > MOST_NARROW:
        chunks = chunks.cast(wide)
    found = chunks.combine_chunks()
    if isinstance(found, pa.ChunkedArray):  # older pyarrow
        return pa.concat_arrays(found.chunks) if found.num_chunks else pa.nulls(0, found.type)
    return found


def _view(buffer: Any, dtype: Any, count: int = -1, offset: int = 0) -> np.ndarray:
    """A read-only array over an Arrow buffer, also over one that Arrow would let be written."""
    if buffer is None or buffer.size == 0:
        return np.empty(0, dtype)
    found = np.frombuffer(buffer, dtype, count, offset)
    found.setflags(write=False)
    return found


def _as_field_type(field: Field, array: Any) -> Any:
    import pyarrow as pa

    found = array.type
    target = arrow_type(field)
    if found == target:
        if field.kind is Kind.BOOL:
            return _canonical_bools(array.storage)
        return (
            array.indices
            if field.kind is Kind.DICTIONARY and _has_labels(field, array)
            else _codes(field, array)
        )
    is_type = pa.types
    if is_type.is_dictionary(found) and field.kind is not Kind.DICTIONARY:
        array = array.dictionary_decode()
        return _as_field_type(field, array)
    if is_type.is_null(found):
        return pa.nulls(len(array), _storage_type(field))
    match field.kind:
        case Kind.DICTIONARY:
            return _codes(field, array)
        case Kind.BOOL if is_type.is_boolean(found):
            return array.cast(pa.int8())
        case Kind.STRING if _is_text(found):
            return array if is_type.is_large_string(found) else _cast(field, array, target)
        case Kind.BYTES if _is_binary(found):
            return array if is_type.is_large_binary(found) else _cast(field, array, target)
        case Kind.MSGPACK:
            if _is_binary(found):
                return array if is_type.is_large_binary(found) else _cast(field, array, target)
            from actorstream.events.arrow_structures import structured_values
            from actorstream.events.column import Column

            wanted: Any = field.annotation | None if field.nullable else field.annotation
            packed = pack(field, structured_values(field.name, wanted, array))
            return array_of(Column(field, len(array), *packed))
        case Kind.DATETIME if is_type.is_timestamp(found) or is_type.is_date(found):
            return _cast(field, array, target)
        case kind if kind in INTEGERS and is_type.is_integer(found):
            return _cast(field, array, target)
        case kind if kind in FLOATS and (is_type.is_floating(found) or is_type.is_integer(found)):
            return _cast(field, array, target)
    raise SchemaError(
        f"field {field.name!r} is {field.kind.value}, the Arrow array is {found}; allowed: {target}"
    )


def _canonical_bools(storage: Any) -> Any:
    """bool8 allows any byte but 0 for true; NumPy's bool only 1."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bounds = pc.min_max(storage)
    if bounds["min"].is_valid and not (bounds["min"].as_py() >= 0 and bounds["max"].as_py() <= 1):
        return pc.not_equal(storage, arrow_scalar(np.int8(0))).cast(pa.int8())
    return storage


def _cast(field: Field, array: Any, target: Any) -> Any:
    import pyarrow as pa

    try:
        made = array.cast(target, safe=field.kind is not Kind.FLOAT32)
    except pa.ArrowInvalid as error:
        raise SchemaError(f"field {field.name!r} is {field.kind.value}: {error}") from error
    if pa.types.is_float32(target) and pa.types.is_float64(array.type):
        _check_finite(field, array, made)
    return made


def _check_finite(field: Field, array: Any, made: Any) -> None:
    """SchemaError names the first number that is too large for float32, where the cast has made an infinity of it."""
    import pyarrow.compute as pc

    if pc.any(pc.is_inf(made)).as_py():
        row = pc.and_(pc.is_inf(made), pc.is_finite(array)).index(arrow_scalar(True)).as_py()
        if row >= 0:
            raise SchemaError(
                f"field {field.name!r}, row {row}: {array[row]} does not fit {field.kind.value}"
            )


def _storage_type(field: Field) -> Any:
    import pyarrow as pa

    if field.kind is Kind.BOOL:
        return pa.int8()
    return pa.from_numpy_dtype(field.dtype) if field.categories else arrow_type(field)


def _has_labels(field: Field, array: Any) -> bool:
    return bool(array.dictionary.equals(labels_of(field)))


def _codes(field: Field, array: Any) -> Any:
    """The codes of an array of labels, dictionary-encoded or not; any other array is answered as it is."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if field.kind is not Kind.DICTIONARY:
        return array
    if pa.types.is_dictionary(array.type):
        if _has_labels(field, array):
            return array.indices.cast(pa.from_numpy_dtype(field.dtype))
        array = array.dictionary_decode()
    labels = labels_of(field)
    if array.type != labels.type:
        same_family = (_is_text(array.type) and _is_text(labels.type)) or (
            pa.types.is_integer(array.type) and pa.types.is_integer(labels.type)
        )
        if not same_family:
            raise SchemaError(
                f"field {field.name!r} is a dictionary of {labels.type}, the Arrow array is {array.type}; allowed: "
                f"{labels.type}, or a dictionary of it"
            )
        array = _cast(field, array, labels.type)
    codes = pc.index_in(array, value_set=labels)
    if codes.null_count > array.null_count:
        row = pc.and_(codes.is_null(), array.is_valid()).index(arrow_scalar(True)).as_py()
        value = array[row].as_py()
        raise SchemaError(
            f"field {field.name!r}, row {row}: {value!r} is not one of its categories"
            f"{nearest_text(str(value), [str(label) for label in field.labels])}"
        )
    return codes.cast(pa.from_numpy_dtype(field.dtype))


def _is_text(found: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_string(found)
        or pa.types.is_large_string(found)
        or getattr(pa.types, "is_string_view", bool)(found)
    )


def _is_binary(found: Any) -> bool:
    import pyarrow as pa

    return bool(
        pa.types.is_binary(found)
        or pa.types.is_large_binary(found)
        or pa.types.is_fixed_size_binary(found)
        or getattr(pa.types, "is_binary_view", bool)(found)
    )


def field_of_arrow(found: pa.Field, nullable: bool | None, where: str) -> Field:
    """The field that an Arrow field means; SchemaError for types that have no column here."""
    import pyarrow as pa

    is_type = pa.types
    given = found.type
    nullable = found.nullable if nullable is None else nullable
    value = given.value_type if is_type.is_dictionary(given) else given
    kind: Kind | None = None
    if is_type.is_boolean(value) or value == pa.bool8():
        kind = Kind.BOOL
    elif is_type.is_integer(value) or is_type.is_float32(value) or is_type.is_float64(value):
        kind = Kind(np.dtype(value.to_pandas_dtype()).name)
    elif is_type.is_float16(value):
        kind = Kind.FLOAT32
    elif _is_text(value):
        kind = Kind.STRING
    elif _is_binary(value):
        kind = Kind.BYTES
    elif is_type.is_timestamp(value) or is_type.is_date(value):
        kind = Kind.DATETIME
    if kind is None:
        raise SchemaError(
            f"field {found.name!r} of {where} has the Arrow type {given}; allowed: bool, integers, floats, string, "
            "binary, timestamp, date, dictionaries of them (name an Event class, then any type that msgspec decodes "
            "works)"
        )
    return Field(found.name, kind, nullable)
