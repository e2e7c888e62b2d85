"""Column: one field of a run of rows, wherever the values lie. Describes memory and keeps it alive; never copies it
unless its name says so (`take`, `copy`, `concat`, conversions from another type)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.arrow_arrays import arrow_array
from actorstream.events.fields import FLOATS, INTEGERS, STRUCT_CODES, Field, Kind
from actorstream.events.values import check_times, pack, put_nulls, unpack_few, unpack_fixed, unpack_msgpack
from actorstream.native.address import address_of
from actorstream.native.cursor import Cursor

if TYPE_CHECKING:
    import pyarrow as pa

VALUES = (int, float, str, bytes, datetime, Enum, np.generic)
"""What is one value, and no column (bool is an int)."""
_CODES = {
    **{kind: STRUCT_CODES[kind] for kind in INTEGERS | FLOATS},
    Kind.BOOL: "?",
    Kind.STRING: "t",
    Kind.BYTES: "y",
    Kind.DICTIONARY: "k",
}
"""How a `Cursor` calls the values that it makes itself."""
Descriptor = tuple[int, int, int, int, int, int]
"""(width, wide, first, validity address, data address, offsets address): the fields of `as_column`."""


class Column(msgspec.Struct, eq=False, gc=False):
    """`length` values of `field`. The arrays are read-only; row 0 is value `first` of them.

    A plain column (fixed width, not nullable) has `first` 0 and `data` of exactly `length` values.
    """

    field: Field
    length: int
    validity: np.ndarray | None
    """An Arrow bitmap; None: no nulls."""
    data: np.ndarray
    offsets: np.ndarray | None
    """length + 1 positions in `data` from `first` on, of a variable column."""
    first: int = 0
    _described: Descriptor | None = None
    _arrow: Any = None
    _nbytes: int = -1

    # -- where columns come from ----

    @classmethod
    def of(cls, field: Field, values: Any) -> Column:
        """A column of anything that has values: a Column, a NumPy or Arrow array, a list or other iterable."""
        if (
            type(values) is np.ndarray
            and field.free
            and values.dtype is field.dtype
            and values.ndim == 1
            and values.flags.carray
        ):  # what from_numpy does, in half the time
            view = values.view()
            view.setflags(write=False)
            return cls(field, len(values), None, view, None)
        if isinstance(values, Column):
            return values if values.field is field else values.renamed(field)
        if isinstance(values, np.ndarray):
            return cls.from_numpy(field, values)
        if isinstance(values, list):
            return cls.from_values(field, values)
        if hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__"):
            return cls.from_arrow(field, values)
        if hasattr(values, "__array__") and not np.isscalar(values):
            return cls.from_numpy(field, np.asarray(values))
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise SchemaError(
                f"field {field.name!r}: {type(values).__name__} {values!r} is not a column; allowed: a NumPy array, an "
                "Arrow array, a list"
            )
        return cls.from_values(field, list(values))

    @classmethod
    def from_values(cls, field: Field, values: list[Any], where: str = "row") -> Column:
        """A column of Python values; SchemaError names the first that does not fit."""
        return cls(field, len(values), *pack(field, values, where))

    @classmethod
    def repeated(cls, field: Field, value: Any, rows: int) -> Column:
        """A column that has one Python value in all rows; SchemaError if it does not fit."""
        validity, data, offsets = pack(field, [value], "value")
        if validity is not None:
            validity = np.full(-(-rows // 8), -int(validity[0] & 1) & 255, np.uint8)
        if offsets is None:
            return cls(field, rows, validity, _frozen(np.repeat(data[:1], rows)), None)
        size = int(offsets[1])
        offsets = np.arange(rows + 1, dtype=np.int32 if size * rows < 1 << 31 else np.int64)
        offsets *= size
        return cls(field, rows, validity, np.frombuffer(data.tobytes() * rows, np.uint8), _frozen(offsets))

    @classmethod
    def from_numpy(cls, field: Field, array: np.ndarray) -> Column:
        """A column over `array` if its type is the field's and it is contiguous; else converted, if no value changes
        by it. A DICTIONARY takes codes or labels, a DATETIME datetime64 or int64 microseconds."""
        if type(array) is not np.ndarray or array.dtype is not field.dtype or array.ndim != 1:
            if array.ndim != 1:
                raise SchemaError(
                    f"field {field.name!r}: an array of shape {array.shape}; allowed: one dimension"
                )
            if isinstance(array, np.ma.MaskedArray) or array.dtype.kind in "OUSTV":
                return cls.from_values(field, array.tolist())
            if field.dtype is None or array.dtype != field.dtype:  # NumPy takes None for float64
                from actorstream.events.conversion import converted

                array = converted(field, array)
        flags = array.flags
        if not flags.carray and not (flags.c_contiguous and flags.aligned):
            array = np.ascontiguousarray(array)
        check_values(field, array)
        view = array.view()
        view.setflags(write=False)
        return cls(field, len(view), None, view, None)

    @classmethod
    def from_arrow(cls, field: Field, array: Any) -> Column:
        """A column over an Arrow array (or chunks, or anything with the Arrow interface)."""
        from actorstream.events.arrow import buffers_of

        if not hasattr(array, "type"):
            import pyarrow as pa

            array = pa.array(array) if hasattr(array, "__arrow_c_array__") else pa.chunked_array(array)
        buffers, first, length = buffers_of(field, array)
        made = cls(field, length, *buffers, first)
        if field.kind is Kind.DATETIME:
            check_times(field, made.data[first : first + length], made.valid())
        return made

    @classmethod
    def concat(cls, columns: list[Column]) -> Column:
        """One column of the rows of several of the same field. Copies."""
        if len(columns) == 1:
            return columns[0]
        field = columns[0].field
        if field.plain:
            data = np.concatenate([column.data for column in columns])
            return cls(field, len(data), None, _frozen(data), None)
        import pyarrow as pa

        arrays = [column.arrow() for column in columns]
        if len({array.type for array in arrays}) > 1:
            from actorstream.events.arrow import arrow_type

            arrays = [array.cast(arrow_type(field, wide=True)) for array in arrays]
        return cls.from_arrow(field, pa.chunked_array(arrays))

    # -- what it looks like ----

    def numpy(self) -> np.ndarray:
        """The values, read-only and zero-copy. SchemaError for a variable or nullable field: those have `arrow()`."""
        if not self.field.plain:
            raise SchemaError(
                f"field {self.field} has no zero-copy NumPy form; allowed: arrow(), or tolist() (a fixed-width field "
                "without nulls has one)"
            )
        return self.data

    def arrow(self) -> pa.Array:
        """The values as an Arrow array, zero-copy; BOOL as the extension type `arrow.bool8`."""
        if self._arrow is None:
            from actorstream.events.arrow import array_of

            self._arrow = array_of(self)
        return self._arrow

    def view(self) -> Any:
        """What `batch[name]` answers: `numpy()` of a plain field, else `arrow()`."""
        return self.data if self.field.plain else self.arrow()

    def tolist(self) -> list[Any]:
        """The Python values, as they stand in events."""
        field = self.field
        if field.plain:
            return unpack_fixed(field, self.data)
        if field.dtype is None:
            values: list[Any]
            if self.validity is None and self.length <= 32:
                ends = self.offsets[self.first : self.first + self.length + 1]  # type: ignore[index]
                values = unpack_few(field, self.data, ends.tolist())
            else:
                code = "t" if field.kind is Kind.STRING else "y"
                values = list(Cursor(None, ((code, self.descriptor, self, None),), 0, self.length))
            return unpack_msgpack(field, values) if field.kind is Kind.MSGPACK else values
        data = self.data[self.first : self.first + self.length]
        if self.validity is None:
            return unpack_fixed(field, data)
        valid = self.valid()
        return put_nulls(unpack_fixed(field, np.where(valid, data, 0).astype(field.dtype)), valid)

    def described(self) -> list[Any] | tuple[str, Descriptor, Column, tuple[Any, ...]]:
        """What a `Cursor` is told of the column: where its values lie, or a list of them."""
        field = self.field
        code = _CODES.get(field.kind)
        return self.tolist() if code is None else (code, self.descriptor, self, field.categories)

    def valid(self) -> np.ndarray:
        """One bool a row: False where it is null."""
        if self.validity is None:
            return np.ones(self.length, np.bool_)
        start = self.first >> 3
        bits = np.unpackbits(self.validity[start : (self.first + self.length + 7) >> 3], bitorder="little")
        return bits[self.first & 7 : (self.first & 7) + self.length].view(np.bool_)

    @property
    def descriptor(self) -> Descriptor:
        """The column for native code. The addresses are good for as long as this object lives."""
        found = self._described
        if found is None:
            validity = 0 if self.validity is None else address_of(self.validity)
            offsets = wide = 0
            if self.offsets is not None:
                offsets, wide = address_of(self.offsets), int(self.offsets.itemsize == 8)
            data = address_of(self.data)
            found = self._described = (self.field.width, wide, self.first, validity, data, offsets)
        return found

    @property
    def nbytes(self) -> int:
        """Bytes that the rows take in a jumbo tuple, up to padding."""
        if self._nbytes < 0:
            bits = 0 if self.validity is None else (self.length + 7) >> 3
            if self.offsets is None:
                self._nbytes = self.length * self.field.width + bits
            elif self.length == 0:
                self._nbytes = bits
            else:
                spread = int(self.offsets[self.first + self.length]) - int(self.offsets[self.first])
                self._nbytes = spread + (self.length + 1) * self.offsets.itemsize + bits
        return self._nbytes

    def __len__(self) -> int:
        return self.length

    def __repr__(self) -> str:
        return f"Column({self.field}, {self.length} rows)"

    # -- other columns of the same values ----

    def slice(self, first: int, rows: int) -> Column:
        """Rows first .. first + rows - 1 over the same memory. The caller keeps them within 0 .. length."""
        if self.field.plain:
            return Column(self.field, rows, None, self.data[first : first + rows], None)
        at, described = self.first + first, self._described
        if described is not None:
            described = (*described[:2], at, *described[3:])
        return Column(self.field, rows, self.validity, self.data, self.offsets, at, described)

    def take(self, index: np.ndarray) -> Column:
        """The rows at `index` (integers within 0 .. length - 1), copied."""
        if self.field.plain:
            return Column(self.field, len(index), None, _frozen(self.data.take(index)), None)
        if self.field.dtype is None:
            return Column.from_arrow(self.field, self.arrow().take(arrow_array(index)))
        data = self.data[self.first : self.first + self.length].take(index)
        validity = None if self.validity is None else np.packbits(self.valid().take(index), bitorder="little")
        return Column(self.field, len(index), validity, data, None)

    def repeats(self) -> bool:
        """Whether all rows have the bytes of the first, of a variable-width column without nulls: 0.1 ns a byte."""
        offsets = self.offsets[self.first : self.first + self.length + 1]  # type: ignore[index]
        start, width = int(offsets[0]), int(offsets[1]) - int(offsets[0])
        if int(offsets[-1]) - start != width * self.length:
            return False
        if not width:
            return True
        data = self.data[start : start + width * self.length]
        # a text that is moved by one row and still the same, and rows that end where those of one width do
        return bool(
            np.array_equal(data[width:], data[:-width]) and (offsets[1:] - offsets[:-1] == width).all()
        )

    def copy(self) -> Column:
        """The same rows in memory of their own and no larger than they need."""
        rows = slice(self.first, self.first + self.length)
        if self.offsets is None:
            validity = None if self.validity is None else np.packbits(self.valid(), bitorder="little")
            return Column(self.field, self.length, validity, _frozen(self.data[rows].copy()), None)
        validity = None if self.validity is None else np.packbits(self.valid(), bitorder="little")
        offsets = self.offsets[self.first : self.first + self.length + 1]
        start, stop = (int(offsets[0]), int(offsets[-1])) if self.length else (0, 0)
        moved = offsets - offsets[0] if self.length else np.zeros(1, self.offsets.dtype)
        data = _frozen(self.data[start:stop].copy())
        return Column(self.field, self.length, validity, data, _frozen(moved))

    def renamed(self, field: Field) -> Column:
        """The same values as the column of another field, converted if its kind differs (SchemaError if it cannot)."""
        own = self.field
        if field is own or (field == own and field.holds(own)):
            return self
        same_layout = field.kind is own.kind and field.categories == own.categories
        if same_layout and (field.nullable == own.nullable or (field.nullable and self.field.plain)):
            parts = (self.validity, self.data, self.offsets)
            return Column(field, self.length, *parts, self.first, self._described)
        if own.plain and field.plain and not field.categories and not own.categories:
            return Column.from_numpy(field, self.data)
        return Column.from_arrow(field, self.arrow())


def check_values(field: Field, array: np.ndarray) -> None:
    """SchemaError names the first value of an array of the field's type that is none of the field's: a time outside the years,
    a code that is no category."""
    if field.kind is Kind.DATETIME:
        check_times(field, array)
    elif field.categories:
        _check_codes(field, array)


def _check_codes(field: Field, codes: np.ndarray) -> None:
    if len(codes) and (codes.min() < 0 or codes.max() >= len(field.categories)):
        row = int(np.flatnonzero((codes < 0) | (codes >= len(field.categories)))[0])
        raise SchemaError(
            f"field {field.name!r}, row {row}: code {int(codes[row])} is not one of its categories; allowed: 0 to "
            f"{len(field.categories) - 1} for {list(field.labels)}"
        )


def by_name(columns: Any) -> dict[str, Any]:
    """Columns by name as a dict, which holds a Series for each name if they are a DataFrame. SchemaError: they are neither."""
    if type(columns) is dict:
        return columns
    try:
        return dict(columns.items())
    except AttributeError:
        raise SchemaError(
            f"a {type(columns).__name__} in place of columns by name; allowed: a dict, or a DataFrame of pandas "
            "(Batch.from_arrow takes Arrow data)"
        ) from None


def sample(values: Any) -> Any:
    """A column to tell a type from: the values, or one row of what is one value."""
    if isinstance(values, np.generic):
        return np.array([values])
    return [values] if isinstance(values, VALUES) else values


def _frozen(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
