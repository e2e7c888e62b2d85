"""Builds kernel.c through cffi at first use and wraps its three functions. No actors here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from actorstream import compile_c

SOURCE = Path(__file__).with_name("kernel.c")


class KernelError(Exception):
    """The kernel ran out of memory."""


@cache
def kernel() -> Any:
    """The compiled module (`.lib`, `.ffi`); CompileError without a C compiler, or if it refuses the source."""
    return compile_c(SOURCE)


def split_lines(lines: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The words of a string array, and the line (row) of each word (uint32)."""
    module = kernel()
    offsets, data, size = strings(lines, module.ffi)
    most = (size + len(lines)) // 2 + 2
    word_data = np.empty(size + 64, np.uint8)
    word_offsets, line_of = np.empty(most, np.int32), np.empty(most, np.uint32)
    words = module.lib.wc_split(
        len(lines),
        offsets,
        data,
        module.ffi.from_buffer("int32_t[]", word_offsets),
        module.ffi.from_buffer("uint8_t[]", word_data),
        module.ffi.from_buffer("uint32_t[]", line_of),
    )
    return string_array(words, word_offsets, word_data), line_of[:words]


class Table:
    """Word -> count, in C."""

    def __init__(self) -> None:
        self.module = kernel()
        made = self.module.lib.wc_table_new()
        if made == self.module.ffi.NULL:
            raise KernelError("no memory for the table of words")
        self.table = self.module.ffi.gc(made, self.module.lib.wc_table_free)

    def count(self, words: pa.Array) -> np.ndarray:
        """Counts the words of a string array; each one's count so far, itself included (int64)."""
        counts = np.empty(len(words), np.int64)
        offsets, data, _ = strings(words, self.module.ffi)
        failed = self.module.lib.wc_count(
            self.table, len(words), offsets, data, self.module.ffi.from_buffer("int64_t[]", counts)
        )
        if failed:
            raise KernelError(f"no memory for more than {self.module.lib.wc_table_words(self.table):,} words")
        return counts

    def read(self) -> tuple[pa.Array, np.ndarray]:
        """All words and their counts, in no particular order."""
        rows = self.module.lib.wc_table_words(self.table)
        offsets = np.empty(rows + 1, np.int32)
        data = np.empty(self.module.lib.wc_table_bytes(self.table), np.uint8)
        counts = np.empty(rows, np.int64)
        self.module.lib.wc_table_read(
            self.table,
            self.module.ffi.from_buffer("int32_t[]", offsets),
            self.module.ffi.from_buffer("uint8_t[]", data),
            self.module.ffi.from_buffer("int64_t[]", counts),
        )
        return string_array(rows, offsets, data), counts

    def add(self, word: str, count: int) -> None:
        """Adds `count` to one word's count."""
        encoded = word.encode()
        if self.module.lib.wc_table_add(self.table, encoded, len(encoded), count):
            raise KernelError("no memory for the table of words")


def strings(array: pa.Array, ffi: Any) -> tuple[Any, Any, int]:
    """Pointers to the first row's offset and to the bytes of a string array, and the bytes of its rows."""
    if len(array) == 0:
        return ffi.NULL, ffi.NULL, 0
    _, offsets, data = array.buffers()
    first = ffi.cast("int32_t *", offsets.address) + array.offset
    return first, ffi.cast("uint8_t *", data.address if data is not None else 0), first[len(array)] - first[0]


def string_array(rows: int, offsets: np.ndarray, data: np.ndarray) -> pa.Array:
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(data))
