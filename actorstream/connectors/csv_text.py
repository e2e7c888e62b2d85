"""csv text of batches: minimal quoting, LF, whole floats as 0.0, times in ISO 8601. Formats in bulk,
writes nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.connectors.structures import json_values
from actorstream.events.arrow_arrays import arrow_array, arrow_scalar, arrow_texts, numpy_array
from actorstream.events.fields import FLOATS, Kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.events.batch import Batch
    from actorstream.events.column import Column

_STAND_INS = "\x1c\x1d\x1e\x1f"
"""Stand for delimiter, quote, LF and CR inside quoted fields while Arrow's writer joins the rows."""
_PAST_END = 1 << 30
_EXACT = 1e16
"""Whole floats below are written without an exponent, as Python does."""


def header_line(names: Sequence[str], delimiter: str = ",") -> bytes:
    """The names of the columns as a line, quoted where needed."""
    import csv
    import io

    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(names)
    return text.getvalue().encode()


def csv_text(batch: Batch, delimiter: str = ",") -> bytes | memoryview:
    """The rows as csv lines, without a header. Null is empty, the empty string `""`."""
    import pyarrow as pa

    arrays = [_array(values) for values in batch.columns()]
    texts = [number for number, array in enumerate(arrays) if pa.types.is_string(array.type)]
    real = f'{delimiter}"\n\r'
    to_quote = {number: found for number in texts if (found := _to_quote(arrays[number], real))[0].any()}
    if not to_quote:
        return memoryview(_written(arrays, delimiter))
    mixed = any(_has_stand_ins(arrays[number]) for number in texts)
    written = dict(zip(real, real if mixed else _STAND_INS))
    for number, (mask, present) in to_quote.items():
        arrays[number] = _quoted(arrays[number], mask, written, present)
    if mixed:
        return memoryview(_joined(arrays, delimiter))
    return (
        _written(arrays, delimiter)
        .to_pybytes()
        .translate(bytes.maketrans(_STAND_INS.encode(), real.encode()))
    )


def _written(arrays: list[Any], delimiter: str) -> Any:
    """The rows by Arrow's writer, which takes no text that would need quotes."""
    import pyarrow as pa
    import pyarrow.csv as pacsv

    out = pa.BufferOutputStream()
    options = pacsv.WriteOptions(
        include_header=False, batch_size=max(len(arrays[0]), 1), delimiter=delimiter, quoting_style="none"
    )
    names = [str(number) for number in range(len(arrays))]
    pacsv.write_csv(pa.RecordBatch.from_arrays(arrays, names), out, options)
    return out.getvalue()


def _joined(arrays: list[Any], delimiter: str) -> Any:
    """The rows of texts that are quoted already; 2.5 times slower."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [pc.cast(array, pa.string()).fill_null(arrow_scalar("")) for array in arrays]
    texts[-1] = _with_end(texts[-1], "\n")
    return pc.binary_join_element_wise(*texts, arrow_scalar(delimiter)).buffers()[2]


def _array(values: Column) -> Any:
    """The column as an Arrow array whose csv text is ours: text itself where Arrow's own differs."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.field.kind
    if kind in FLOATS:
        return _floats(values)
    if kind is Kind.DATETIME:
        return _times(values)
    if kind is Kind.MSGPACK:
        encode = msgspec.json.encode
        texts = [None if value is None else encode(value) for value in json_values(values)]
        return arrow_texts(texts, pa.binary()).cast(pa.string())
    array = values.arrow()
    if kind is Kind.BOOL:
        return pc.not_equal(array.storage, arrow_scalar(np.int8(0)))
    if kind is Kind.DICTIONARY:
        return array.dictionary_decode()
    if kind is Kind.BYTES or pa.types.is_large_string(array.type):
        # bytes go out as they are
        return pc.cast(array, options=pc.CastOptions(pa.string(), allow_invalid_utf8=True))
    return array


def _floats(values: Column) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    array = values.arrow()
    found = values.data[values.first : values.first + values.length]
    with np.errstate(invalid="ignore"):
        whole = (np.floor(found) == found) & (np.abs(found) < _EXACT) & values.valid()
    if not whole.any():
        return array
    picked = found[whole]
    texts = _with_end(pc.cast(arrow_array(picked.astype(np.int64)), pa.string()), ".0")
    minus = np.signbit(picked) & (picked == 0)
    if minus.any():
        texts = pc.if_else(arrow_array(minus), arrow_scalar("-0.0"), texts)
    if whole.all():
        return texts
    return pc.replace_with_mask(pc.cast(array, pa.string()), arrow_array(whole), texts)


def _times(values: Column) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = values.data[values.first : values.first + values.length]
    naive = arrow_array(found, None if values.validity is None else values.valid())
    whole = found % 1_000_000 == 0
    texts = naive.cast(pa.timestamp("us")).cast(pa.string())
    if whole.any():
        seconds = arrow_array(found[whole] // 1_000_000).cast(pa.timestamp("s")).cast(pa.string())
        mask = arrow_array(whole & values.valid())
        texts = pc.replace_with_mask(texts, mask, seconds.filter(arrow_array(values.valid()[whole])))
    return _with_end(pc.binary_replace_slice(texts, 10, 11, "T"), "Z")


def _to_quote(array: Any, special: str) -> tuple[np.ndarray, str]:
    """A mask of the rows of a text column that need quotes (something special in them, or empty and not
    null), and which special characters there are."""
    data, offsets = _bytes_of(array)
    mask = offsets[1:] == offsets[:-1]
    if array.null_count and mask.any():
        mask &= numpy_array(array.is_valid())
    present = ""
    for each in special:
        places = np.flatnonzero(data == ord(each))
        if len(places):
            present += each
            mask[np.searchsorted(offsets, places + offsets[0], side="right") - 1] = True
    return mask, present


def _has_stand_ins(array: Any) -> bool:
    data = _bytes_of(array)[0]
    return bool(((data >= ord(_STAND_INS[0])) & (data <= ord(_STAND_INS[-1]))).any())


def _bytes_of(array: Any) -> tuple[np.ndarray, np.ndarray]:
    """The bytes of a text column's rows, and the offsets of the rows in the whole buffer."""
    _, offsets_buffer, data_buffer = array.buffers()
    if not len(array) or data_buffer is None:
        return np.empty(0, np.uint8), np.zeros(len(array) + 1, np.int32)
    offsets = np.frombuffer(offsets_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    return np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]], offsets


def _quoted(array: Any, mask: np.ndarray, written: dict[str, str], present: str) -> Any:
    """The array with the rows of `mask` in quotes; what is special in them, and the quotes, as in
    `written`."""
    import pyarrow.compute as pc

    picked = array.take(arrow_array(np.flatnonzero(mask)))
    for each in present:
        stands = written[each]
        picked = pc.replace_substring(picked, each, stands * 2 if each == '"' else stands)
    quoted = _with_end(pc.binary_replace_slice(picked, 0, 0, written['"']), written['"'])
    return pc.replace_with_mask(array, arrow_array(mask), quoted)


def _with_end(array: Any, end: str) -> Any:
    """Each text with `end` after it: 8 ns, binary_join_element_wise 50."""
    import pyarrow.compute as pc

    return pc.binary_replace_slice(array, _PAST_END, _PAST_END, end)
