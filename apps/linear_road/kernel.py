"""Builds kernel.c through cffi at first use and wraps its states. No actors here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from actorstream import compile_c

SOURCE = Path(__file__).with_name("kernel.c")
TYPES = {"int64": "int64_t[]", "int32": "int32_t[]", "bool": "uint8_t[]"}


class KernelError(Exception):
    """The kernel ran out of memory, or was given a state that is not its own."""


@cache
def kernel() -> Any:
    """The compiled module (`.lib`, `.ffi`); CompileError without a C compiler, or if it refuses the source."""
    return compile_c(SOURCE)


class State:
    """What one operator keeps in C (kernel.c says of what kind), and what came out of its last call.

    Args:
        kind: "cars", "tolls" or "charges".
    """

    def __init__(self, kind: str) -> None:
        module = kernel()
        self.lib, self.ffi = module.lib, module.ffi
        made = self.lib.lr_new(getattr(self.lib, f"LR_{kind.upper()}"))
        if made == self.ffi.NULL:
            raise KernelError("no memory for the state of an operator")
        self.state = self.ffi.gc(made, self.lib.lr_free)

    def call(self, name: str, *columns: np.ndarray) -> None:
        """`lr_NAME` for rows whose columns these are."""
        done = getattr(self.lib, f"lr_{name}")(self.state, len(columns[0]), *map(self._pointer, columns))
        self._check(done)

    def rows(self, output: int) -> np.ndarray:
        """The row of the input that each row of an output descends from (uint32)."""
        return self.column(output, 0, np.uint32)

    def column(self, output: int, number: int, kind: type[np.generic]) -> np.ndarray:
        """A column of an output, copied."""
        size = self.lib.lr_size(self.state, output, number)
        if not size:
            return np.empty(0, kind)
        found = self.lib.lr_column(self.state, output, number)
        return np.frombuffer(self.ffi.buffer(found, size), kind).copy()

    def save(self) -> bytes:
        """For `load` of a state of the same kind."""
        self._check(self.lib.lr_save(self.state))
        return self.column(0, 1, np.uint8).tobytes()

    def load(self, saved: bytes) -> None:
        done = self.lib.lr_load(self.state, len(saved), self.ffi.from_buffer(saved))
        if done == -2:
            raise KernelError(f"{len(saved)} bytes are not what such a state saves")
        self._check(done)

    def _check(self, done: int) -> None:
        if done < 0:
            raise KernelError("no memory for the state of an operator")

    def _pointer(self, column: np.ndarray) -> Any:
        return self.ffi.from_buffer(TYPES[column.dtype.name], np.ascontiguousarray(column))
