"""Groups: distinct keys as dense numbers (include/groups.h). One thread at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from actorstream.native._core import ffi, lib
from actorstream.native.cells import checked
from actorstream.native.operands import Operands
from actorstream.native.status import opened

Numbers = npt.NDArray[np.uint32]

KINDS: dict[int, str] = {
    lib.AS_GROUPS_ALL: "all",
    lib.AS_GROUPS_DIRECT: "direct",
    lib.AS_GROUPS_NUMBER: "number",
    lib.AS_GROUPS_TEXT: "text",
    lib.AS_GROUPS_ROW: "row",
}
MOST_KEYS: int = lib.AS_GROUPS_KEYS
BLOCK: int = lib.AS_GROUPS_BLOCK


def uint32s(array: np.ndarray) -> Any:
    return ffi.from_buffer("uint32_t[]", array)


def uint64s(array: np.ndarray) -> Any:
    return ffi.from_buffer("uint64_t[]", array)


def int64s(array: np.ndarray) -> Any:
    return ffi.from_buffer("int64_t[]", array)


class Groups:
    """The distinct keys of rows.

    Args:
        keys: how each key column is read (kernels.SIGNED, UNSIGNED, FLOAT, BYTES), and whether it may be null.
    """

    __slots__ = ("_groups", "_owner", "keys")

    def __init__(self, keys: Sequence[tuple[int, bool]]) -> None:
        self.keys = tuple(keys)
        self._owner: Any = None
        self._groups = ffi.gc(self.create(keys), lib.as_groups_destroy)

    @classmethod
    def of(cls, groups: Any, keys: Sequence[tuple[int, bool]], owner: Any) -> Groups:
        """Those that belong to `owner`, a state that keeps cells for them."""
        made = cls.__new__(cls)
        made.keys, made._groups, made._owner = tuple(keys), groups, owner
        return made

    @staticmethod
    def create(keys: Sequence[tuple[int, bool]]) -> Any:
        """Groups as C has them, which the caller must destroy or give away."""
        hows = ffi.new("uint32_t[]", [how for how, _ in keys] or 1)
        nullable = ffi.new("uint32_t[]", [int(null) for _, null in keys] or 1)
        return opened(lib.as_groups_create(len(keys), hows, nullable), f"groups of {len(keys)} key columns")

    def find(self, operands: Operands, rows: int) -> Numbers:
        """The group of each row of the key columns, uint32; new ones are added.

        Numbers may change when `renumber` was due: then all that were answered before are void."""
        out: Numbers = np.empty(rows, np.uint32)
        row = 0
        while row < rows:
            block = min(BLOCK, rows - row)
            status = lib.as_groups_find(
                self._groups, operands.pointer, row, block, uint32s(out) + row if rows else ffi.NULL
            )
            if status == lib.AS_AGAIN:
                self.renumber()
                row = 0
                continue
            checked(status, "groups")
            row += block
        return out

    def renumber(self, alive: np.ndarray | None = None) -> Numbers:
        """New numbers of all groups, by old ones; without `alive[group]` (uint8) they are dropped: 2^32 - 1."""
        out: Numbers = np.empty(max(self.count, 1), np.uint32)
        marks = ffi.NULL if alive is None else ffi.from_buffer("uint8_t[]", alive)
        checked(lib.as_groups_renumber(self._groups, marks, uint32s(out)), "groups")
        return out

    @property
    def crowded(self) -> bool:
        """Whether renumbering now would make looking up faster."""
        return bool(lib.as_groups_crowded(self._groups))

    @property
    def count(self) -> int:
        """Numbers are below this."""
        return lib.as_groups_count(self._groups)  # type: ignore[no-any-return]

    @property
    def kind(self) -> str:
        """How keys are found: "all", "direct", "number", "text" or "row"."""
        return KINDS[lib.as_groups_kind(self._groups)]

    @property
    def nbytes(self) -> int:
        return lib.as_groups_bytes(self._groups)  # type: ignore[no-any-return]

    def order(self) -> Numbers:
        """Group numbers in the order of their keys."""
        out = ffi.new("const uint32_t **")
        checked(lib.as_groups_order(self._groups, out), "order of groups")
        count = self.count
        if out[0] == ffi.NULL:
            return np.arange(count, dtype=np.uint32)
        return np.frombuffer(ffi.buffer(out[0], 4 * count), np.uint32).copy()

    def words(self, key: int, groups: Numbers) -> npt.NDArray[np.uint64]:
        """Key column `key` of some groups as words: integers, or the bits of float64."""
        out = np.empty(len(groups), np.uint64)
        if len(groups):
            lib.as_groups_words(self._groups, key, uint32s(groups), len(groups), uint64s(out))
        return out

    def valid(self, key: int, groups: Numbers) -> npt.NDArray[np.bool_]:
        """False where the key column is null."""
        out = np.ones(len(groups), np.bool_)
        if len(groups):
            marks = ffi.from_buffer("uint8_t[]", out)
            lib.as_groups_valid(self._groups, key, uint32s(groups), len(groups), marks)
        return out

    def text_sizes(self, key: int, groups: Numbers) -> npt.NDArray[np.int64]:
        """Bytes of each value that `texts` returns."""
        return read_sizes(groups, partial(lib.as_groups_texts, self._groups, key))

    def texts(self, key: int, groups: Numbers) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
        """Key column `key` of bytes: offsets (one more than groups), and the bytes."""
        return read_texts(groups, partial(lib.as_groups_texts, self._groups, key))


def read_words(
    groups: npt.NDArray[np.uint32], read: Any
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint64]]:
    """Offsets and words of as many lists as `groups`, which `read(groups, count, offsets, words or NULL)` writes."""
    offsets = np.zeros(len(groups) + 1, np.int64)
    if not len(groups):
        return offsets, np.empty(0, np.uint64)
    numbers, rows = uint32s(groups), len(groups)
    words = np.empty(read(numbers, rows, int64s(offsets), ffi.NULL), np.uint64)
    if len(words):
        read(numbers, rows, int64s(offsets), uint64s(words))
    return offsets, words


def read_sizes(numbers: np.ndarray, read: Any) -> npt.NDArray[np.int64]:
    """Bytes of each of the texts that `read_texts` reads."""
    offsets = np.zeros(len(numbers) + 1, np.int64)
    if len(numbers):
        read(*_named(numbers), int64s(offsets), ffi.NULL)
    return np.diff(offsets)


def read_texts(numbers: np.ndarray, read: Any) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Offsets and bytes of the texts of these numbers, which `read(numbers, count, offsets, data or NULL)` writes."""
    offsets = np.zeros(len(numbers) + 1, np.int64)
    if not len(numbers):
        return offsets, np.empty(0, np.uint8)
    data = np.empty(read(*_named(numbers), int64s(offsets), ffi.NULL), np.uint8)
    if len(data):
        read(*_named(numbers), int64s(offsets), ffi.from_buffer("uint8_t[]", data))
    return offsets, data


def _named(numbers: np.ndarray) -> tuple[Any, int]:
    return ffi.from_buffer(f"{numbers.dtype}_t[]", numbers), len(numbers)
