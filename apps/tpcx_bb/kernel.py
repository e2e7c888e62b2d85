"""Builds kernel.c through cffi at first use and wraps its states. No actors here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from actorstream import compile_c
from actorstream.operators.prepared import Prepared, c_job

SOURCE = Path(__file__).with_name("kernel.c")
PARAMETERS = 3
TYPES = {
    "int64": "int64_t[]",
    "int32": "int32_t[]",
    "uint8": "uint8_t[]",
    "bool": "uint8_t[]",
    "float64": "double[]",
}


class KernelError(Exception):
    """The kernel ran out of memory, or was given a state that is not its own."""


@cache
def kernel() -> Any:
    """The compiled module (`.lib`, `.ffi`); CompileError without a C compiler, or if it refuses the source."""
    return compile_c(SOURCE)


class State:
    """What one operator keeps in C (kernel.c says of what kind), and what came out of its last call.

    Args:
        keys, values: words of a key, and beside it.
        parameters: up to 3.
    """

    def __init__(self, keys: int, values: int, *parameters: int) -> None:
        module = kernel()
        self.lib, self.ffi = module.lib, module.ffi
        given = self.ffi.new("int64_t[]", [*parameters, *([0] * (PARAMETERS - len(parameters)))])
        made = self.lib.bb_new(keys, values, given)
        if made == self.ffi.NULL:
            raise KernelError("no memory for the state of an operator")
        self.state = self.ffi.gc(made, self.lib.bb_free)
        self.rows_out = 0
        self._work = self.ffi.new("bb_work *", {"state": self.state})
        address = self.ffi.cast("uintptr_t", self.ffi.addressof(self.lib, "bb_job"))
        self._job = c_job(int(address), int(self.ffi.cast("uintptr_t", self._work)))

    def call(self, name: str, *columns: np.ndarray) -> int:
        """`bb_NAME` for rows whose columns these are; how many rows come out."""
        if not columns:
            return self._answered(getattr(self.lib, f"bb_{name}")(self.state))
        rows, pointers = len(columns[0]), [*map(self._pointer, columns)]
        return self._answered(getattr(self.lib, f"bb_{name}")(self.state, rows, *pointers))

    def by_key(self, name: str, key: list[np.ndarray], *columns: np.ndarray) -> int:
        """The same, where a key is several columns."""
        pointers = [self._pointer(column) for column in key]
        together = self.ffi.new("int64_t *[]", pointers)
        further = [*map(self._pointer, columns)]
        return self._answered(getattr(self.lib, f"bb_{name}")(self.state, len(key[0]), together, *further))

    def prepared(self, name: str, columns: Sequence[np.ndarray], finish: Callable[[int], Any]) -> Prepared:
        """`bb_NAME` for rows whose columns these are (the key first) as a job of a pool, one at a time; `finish`: called
        with how many rows have come out."""
        work = self._work
        work.call, work.rows = getattr(self.lib, f"BB_{name.upper()}"), len(columns[0])
        kept = [*map(self._pointer, columns)]
        work.columns[0 : len(kept)] = kept

        def finished() -> Any:
            kept.clear()
            return finish(self._answered(work.came))

        return Prepared(self._job, finished)

    def session_pairs(self, offsets: np.ndarray, items: Any) -> int:
        """Pairs of the items of each row; `offsets`: of the bytes of each row in the buffer `items`, one more than
        rows."""
        data = self.ffi.cast("uint8_t *", items.address if items is not None else 0)
        rows = len(offsets) - 1
        return self._answered(self.lib.bb_session_pairs(self.state, rows, self._pointer(offsets), data))

    def clear(self) -> None:
        """Forgets all keys."""
        self.lib.bb_clear(self.state)

    def rows(self) -> np.ndarray:
        """The row of the input that each row descends from (uint32)."""
        return self._copied(self.lib.bb_rows(self.state), self.rows_out, np.uint32)

    def column(self, number: int, rows: int | None = None) -> np.ndarray:
        """A column of what came out (int64)."""
        size = self.rows_out if rows is None else rows
        return self._copied(self.lib.bb_column(self.state, number), size, np.int64)

    def save(self) -> bytes:
        """For `load` of a state made with the same arguments."""
        words = self._answered(self.lib.bb_save(self.state))
        return self.column(0, words).tobytes()

    def load(self, saved: bytes) -> None:
        words = np.frombuffer(saved, np.int64)
        if self.lib.bb_load(self.state, len(words), self._pointer(words)):
            raise KernelError(f"{len(saved)} bytes are not what such a state saves")

    def _pointer(self, column: np.ndarray) -> Any:
        return self.ffi.from_buffer(TYPES[column.dtype.name], np.ascontiguousarray(column))

    def _answered(self, rows: int) -> int:
        if rows < 0:
            raise KernelError("no memory for the state of an operator")
        self.rows_out = rows
        return rows

    def _copied(self, pointer: Any, rows: int, kind: type[np.generic]) -> np.ndarray:
        if not rows:
            return np.empty(0, kind)
        return np.frombuffer(self.ffi.buffer(pointer, rows * np.dtype(kind).itemsize), kind).copy()
