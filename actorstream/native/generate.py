"""Columns of made-up rows from C: the Yahoo benchmark's events and random draws; include/generate.h defines them.

The functions keep nothing and release the GIL. Knows no schema: the caller lays out the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.address import address_of
from actorstream.native.pieces import Column

USERS: int = lib.AS_YSB_USERS
PAGES: int = lib.AS_YSB_PAGES
ADS: int = lib.AS_YSB_ADS

_MASK = 2**64 - 1
_TEXT_COLUMNS = 6
YSB_TIME = 5
"""Which of the columns of an event is its time."""


class ShardNumbering:
    """Which rows a shard has: row `made` of shard `first` of `stride` has the number first + made * stride, and the
    event time start + floor(number * units / rows). Raises `ValueError` for numbers that C cannot take.

    Each method makes rows `made` … `made + rows - 1` of the shard.
    """

    __slots__ = ("_pointer", "first", "stride")

    def __init__(
        self,
        *,
        seed: int = 0,
        first: int = 0,
        stride: int = 1,
        start: int = 0,
        units: int = 1,
        rows: int = 1,
    ) -> None:
        bounds = {
            "stride": (stride, 1, 2**20),
            "first": (first, 0, 2**62),
            "start": (start, -(2**62), 2**62),
            "units": (units, 0, 2**40),
            "rows": (rows, 1, 2**62),
        }
        for name, (value, least, most) in bounds.items():
            if not least <= value <= most:
                raise ValueError(f"row numbering: {name} is {value}; allowed: {least} to {most}")
        self.first, self.stride = first, stride
        self._pointer = ffi.new("as_numbering *", [seed & _MASK, first, stride, start, units, rows])

    def ysb_integers(self, made: int, rows: int, columns: int) -> None:
        """Writes the seven integer columns of YSB from the address `columns` on, each at the next multiple of 64."""
        if lib.as_ysb_integers(self._pointer, made, rows, ffi.cast("void *", columns)):
            self._refuse(made, rows)

    def ysb_wide(self, made: int, rows: int, columns: int) -> None:
        """Writes the 20 columns of YSB events of 136 bytes likewise."""
        if lib.as_ysb_wide(self._pointer, made, rows, ffi.cast("void *", columns)):
            self._refuse(made, rows)

    def ysb_texts(self, made: int, rows: int, ids: YsbIds, out: YsbTexts) -> None:
        """Writes YSB events as texts into `out`, which has room for so many rows."""
        if rows > out.rows:
            raise ValueError(f"YSB texts: {rows} rows into room for {out.rows}")
        if lib.as_ysb_texts(self._pointer, made, rows, ids.pointer, out.pointer):
            self._refuse(made, rows)

    def event_times(self, made: int, rows: int) -> npt.NDArray[np.int64]:
        out = np.empty(rows, np.int64)
        if lib.as_event_times(self._pointer, made, rows, ffi.from_buffer("int64_t[]", out)):
            self._refuse(made, rows)
        return out

    def event_time(self, made: int) -> int:
        """The event time of one row."""
        numbering = self._pointer
        number = numbering.first + made * numbering.stride
        return int(numbering.start + number * numbering.units // numbering.rows)

    def numbers(self, made: int, rows: int) -> npt.NDArray[np.int64]:
        """The numbers themselves."""
        begin = self.first + made * self.stride
        return np.arange(begin, begin + rows * self.stride, self.stride, dtype=np.int64)

    def bits(self, made: int, rows: int, salt: int) -> npt.NDArray[np.uint64]:
        """64 random bits a row."""
        out = np.empty(rows, np.uint64)
        self._draw(lib.as_draw_bits, made, rows, salt, ffi.from_buffer("uint64_t[]", out))
        return out

    def units(
        self, made: int, rows: int, salt: int, low: float = 0.0, high: float = 1.0
    ) -> npt.NDArray[np.float64]:
        """Floats low <= value < high, of 53 random bits."""
        out = np.empty(rows, np.float64)
        self._draw(lib.as_draw_units, made, rows, salt, low, high, ffi.from_buffer("double[]", out))
        return out

    def integers(self, made: int, rows: int, salt: int, low: int, high: int) -> npt.NDArray[np.int64]:
        """Integers low <= value < high."""
        if high - low > _MASK:  # all of them: a span that is no uint64
            return self.bits(made, rows, salt).view(np.int64) + low
        out = np.empty(rows, np.int64)
        self._draw(lib.as_draw_integers, made, rows, salt, low, high - low, ffi.from_buffer("int64_t[]", out))
        return out

    def ranks(self, made: int, rows: int, salt: int, table: AliasTable) -> npt.NDArray[np.uint32]:
        """Ranks as often as the weights of `table` say."""
        out = np.empty(rows, np.uint32)
        self._draw(lib.as_draw_ranks, made, rows, salt, *table.arguments, ffi.from_buffer("uint32_t[]", out))
        return out

    def _draw(self, function: Any, made: int, rows: int, salt: int, *arguments: Any) -> None:
        if function(self._pointer, made, rows, salt & _MASK, *arguments):
            self._refuse(made, rows)

    def _refuse(self, made: int, rows: int) -> NoReturn:
        raise ValueError(
            f"row numbering: {rows} rows from row {made} of shard {self.first} of {self.stride} on; allowed: 0 or more "
            "rows, with numbers and event times below 2^63"
        )


class AliasTable:
    """Weights as a table that a rank is drawn from in constant time, however many there are (Vose 1991).

    Raises `ValueError` for no weights, negative ones, or a sum of 0."""

    __slots__ = ("_kept", "_other", "arguments")

    def __init__(self, weights: Sequence[float] | npt.NDArray[np.float64]) -> None:
        shares = np.array(weights, np.float64)
        if (
            shares.ndim != 1
            or not 0 < len(shares) < 2**32
            or shares.min() < 0
            or not 0 < shares.sum() < np.inf
        ):
            raise ValueError(f"weights: {weights!r}; allowed: at least one, 0 or more, not all 0")
        ranks = len(shares)
        shares *= ranks / shares.sum()
        self._kept, self._other = np.empty(ranks, np.uint32), np.empty(ranks, np.uint32)
        kept, other = (ffi.from_buffer("uint32_t[]", each) for each in (self._kept, self._other))
        scratch = ffi.from_buffer("uint32_t[]", np.empty(ranks, np.uint32))
        lib.as_draw_table(ffi.from_buffer("double[]", shares), ranks, scratch, kept, other)
        self.arguments = (kept, other, ranks)


class YsbIds:
    """The UUIDs that YSB's users, pages and ads are called by, laid out for C."""

    __slots__ = ("_memory", "pointer")

    def __init__(self, users: Sequence[str], pages: Sequence[str], ads: Sequence[str]) -> None:
        for name, given, wanted in (("users", users, USERS), ("pages", pages, PAGES), ("ads", ads, ADS)):
            if len(given) != wanted:
                raise ValueError(f"YSB ids: {len(given)} {name}; allowed: {wanted}")
        slots = []
        for each in (*users, *pages, *ads):
            encoded = each.encode()
            if len(encoded) != lib.AS_UUID_BYTES:
                raise ValueError(f"YSB ids: {each!r} has {len(encoded)} bytes; allowed: {lib.AS_UUID_BYTES}")
            slots.append(encoded.ljust(lib.AS_UUID_SLOT, b"\0"))
        self._memory = ffi.new("uint8_t[]", b"".join(slots))
        self.pointer = ffi.cast("uint8_t *", self._memory)


class YsbTexts:
    """Room for the columns of `rows` YSB events as texts, in one piece of memory.

    Attributes:
        offsets, data: arrays (int32, uint8) of user_id, page_id, ad_id, ad_type, event_type, ip_address; the data is
            longer than what the offsets say. Read-only, but for C.
        event_time: int64.
        parts: all of these arrays, and the memory they are views of.
    """

    __slots__ = ("data", "event_time", "offsets", "parts", "pointer", "rows")

    def __init__(self, rows: int) -> None:
        sizes = [lib.as_ysb_text_bytes(column, rows) for column in range(_TEXT_COLUMNS)]
        if rows < 0 or 0 in sizes:
            raise ValueError(f"YSB texts: room for {rows} rows; allowed: 0 to 50 million")
        self.rows = rows
        spaces = [4 * (rows + 1)] * _TEXT_COLUMNS + sizes + [8 * rows]
        places = np.cumsum([0, *(-(-space // 64) * 64 for space in spaces)]).tolist()
        memory = np.empty(places[-1] + 64, np.uint8)
        start = -address_of(memory) % 64
        parts = [memory[start + at : start + at + space] for at, space in zip(places, spaces)]
        for part in parts:
            part.setflags(write=False)
        self.offsets = [part.view(np.int32) for part in parts[:_TEXT_COLUMNS]]
        self.data = parts[_TEXT_COLUMNS:-1]
        self.event_time = parts[-1].view(np.int64)
        self.parts = [memory, *self.offsets, *self.data, self.event_time]
        self.pointer = ffi.new("as_ysb_text *")
        for column in range(_TEXT_COLUMNS):
            self.pointer.offsets[column] = ffi.cast("int32_t *", address_of(self.offsets[column]))
            self.pointer.data[column] = ffi.cast("uint8_t *", address_of(self.data[column]))
        self.pointer.event_time = ffi.cast("int64_t *", address_of(self.event_time))


class YsbSource:
    """YSB events as C makes them for a turn (include/generate.h), up to `rows` at once. Made by `integers` or `texts`.

    Attributes:
        make, context: addresses of the C function and of its context.
        columns: descriptors of what the function does not set itself.
    """

    __slots__ = ("_kept", "_numbering", "_source", "columns", "context", "make", "rows")

    def __init__(self, source: Any, columns: list[Column], rows: int, kept: Any) -> None:
        self._source, self.columns, self.rows, self._kept = source, columns, rows, kept
        self._numbering: ShardNumbering | None = None
        self.make = int(ffi.cast("uintptr_t", ffi.addressof(lib, "as_ysb_make")))
        self.context = int(ffi.cast("uintptr_t", source))

    @classmethod
    def integers(cls, widths: Sequence[int], rows: int, *, wide: bool) -> YsbSource:
        """Events of integers; `widths`: bytes of a value of each column."""
        memory = np.empty(sum(-(-rows * width // 64) * 64 for width in widths) + 64, np.uint8)
        at = ffi.cast("void *", address_of(memory) + -address_of(memory) % 64)
        kind = lib.AS_YSB_WIDE if wide else lib.AS_YSB_INTEGERS
        source = ffi.new("as_ysb_source *", (ffi.NULL, at, ffi.NULL, ffi.NULL, kind, len(widths)))
        return cls(source, [(width, 0, 0, 0, 0, 0) for width in widths], rows, memory)

    @classmethod
    def texts(cls, ids: YsbIds, texts: YsbTexts) -> YsbSource:
        """Events as texts, which lie in `texts`."""
        columns: list[Column] = [
            (0, 0, 0, 0, address_of(data), address_of(offsets))
            for data, offsets in zip(texts.data, texts.offsets)
        ]
        columns.insert(YSB_TIME, (8, 0, 0, 0, address_of(texts.event_time), 0))
        given = (ffi.NULL, ffi.NULL, ids.pointer, texts.pointer, lib.AS_YSB_TEXTS, len(columns))
        return cls(ffi.new("as_ysb_source *", given), columns, texts.rows, (ids, texts))

    def number(self, numbering: ShardNumbering) -> None:
        """The rows are those of a shard from now on."""
        self._source.numbering = numbering._pointer
        self._numbering = numbering
