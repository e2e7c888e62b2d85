"""Builds kernel.c through cffi at first use and wraps its scorer. No actors here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from actorstream import compile_c
from apps.card_fraud.model import THRESHOLD, Model

SOURCE = Path(__file__).with_name("kernel.c")


class KernelError(Exception):
    """The kernel ran out of memory."""


@cache
def kernel() -> Any:
    """The compiled module (`.lib`, `.ffi`); CompileError without a C compiler, or if it refuses the source."""
    return compile_c(SOURCE)


class Scorer:
    """The last states of each customer, in C."""

    def __init__(self, model: Model) -> None:
        module = kernel()
        self.lib, self.ffi, self.model = module.lib, module.ffi, model
        names = [name.encode() for name in model.names]
        offsets = np.cumsum([0, *map(len, names)], dtype=np.int32)
        made = self.lib.cf_new(
            len(names),
            self._pointer("int32_t[]", offsets),
            self.ffi.from_buffer("uint8_t[]", b"".join(names)),
            self._pointer("double[]", np.array(model.misses)),
        )
        if made == self.ffi.NULL:
            raise KernelError("no memory for the customers")
        self.scorer = self.ffi.gc(made, self.lib.cf_free)

    def score(self, customers: pa.Array, states: pa.Array) -> tuple[np.ndarray, np.ndarray]:
        """The score of each row (float64), and whether it is an outlier (int8). ModelError for a state that the model does
        not know; then nothing has changed."""
        rows = len(customers)
        scores, outliers = np.empty(rows), np.empty(rows, np.int8)
        done = self.lib.cf_score(
            self.scorer,
            rows,
            *self._strings(customers),
            *self._strings(states),
            THRESHOLD,
            self._pointer("double[]", scores),
            self._pointer("int8_t[]", outliers),
        )
        if done > 0:
            raise self.model.unknown(states[done - 1].as_py())
        self._check(done)
        return scores, outliers

    def save(self) -> list[bytes]:
        """For `load` of a scorer of the same model."""
        count = self.lib.cf_customers(self.scorer)
        sizes, windows = np.empty(count, np.int64), np.empty(count, np.uint64)
        names = np.empty(self.lib.cf_bytes(self.scorer), np.uint8)
        self.lib.cf_save(self.scorer, *self._saved(sizes, names, windows))
        return [sizes.tobytes(), names.tobytes(), windows.tobytes()]

    def load(self, saved: list[bytes]) -> None:
        sizes, names, windows = (
            np.frombuffer(each, kind) for each, kind in zip(saved, (np.int64, np.uint8, np.uint64))
        )
        self._check(self.lib.cf_load(self.scorer, len(sizes), *self._saved(sizes, names, windows)))

    def _saved(self, sizes: np.ndarray, names: np.ndarray, windows: np.ndarray) -> list[Any]:
        kinds = ("int64_t[]", "uint8_t[]", "uint64_t[]")
        return [self._pointer(*each) for each in zip(kinds, (sizes, names, windows))]

    def _pointer(self, kind: str, array: np.ndarray) -> Any:
        return self.ffi.from_buffer(kind, array)

    def _strings(self, array: pa.Array) -> tuple[Any, Any]:
        """Pointers to the first row's offset and to the bytes of a string array."""
        if len(array) == 0:
            return self.ffi.NULL, self.ffi.NULL
        _, offsets, data = array.buffers()
        first = self.ffi.cast("int32_t *", offsets.address) + array.offset
        return first, self.ffi.cast("uint8_t *", data.address if data is not None else 0)

    def _check(self, done: int) -> None:
        if done < 0:
            raise KernelError("no memory for the customers")
