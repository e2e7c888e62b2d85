"""Builds kernel.c through cffi at first use and wraps its functions. No actors here."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from actorstream import compile_c

SOURCE = Path(__file__).with_name("kernel.c")


class KernelError(Exception):
    """The kernel ran out of memory, or was given a state that is not its own."""


@cache
def kernel() -> Any:
    """The compiled module (`.lib`, `.ffi`); CompileError without a C compiler, or if it refuses the source."""
    return compile_c(SOURCE)


class Averages:
    """The last `window` values of each mote, in C."""

    def __init__(self, window: int) -> None:
        module = kernel()
        self.lib, self.ffi = module.lib, module.ffi
        made = self.lib.sd_new(window)
        if made == self.ffi.NULL:
            raise KernelError("no memory for the motes")
        self.state = self.ffi.gc(made, self.lib.sd_free)

    def average(self, motes: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The moving average of each row (motes int64, values float64)."""
        averages, pointer = np.empty(len(motes)), self.ffi.from_buffer
        self._check(
            self.lib.sd_average(
                self.state,
                len(motes),
                pointer("int64_t[]", motes),
                pointer("double[]", values),
                pointer("double[]", averages),
            )
        )
        return averages

    def save(self) -> bytes:
        """For `load` of averages with the same window."""
        words = np.empty(self.lib.sd_words(self.state), np.int64)
        self.lib.sd_save(self.state, self.ffi.from_buffer("int64_t[]", words))
        return words.tobytes()

    def load(self, saved: bytes) -> None:
        words = np.frombuffer(saved, np.int64)
        done = self.lib.sd_load(self.state, len(words), self.ffi.from_buffer("int64_t[]", words))
        if done == -2:
            raise KernelError(f"{len(saved)} bytes are not what averages of this window save")
        self._check(done)

    def _check(self, done: int) -> None:
        if done < 0:
            raise KernelError("no memory for the motes")


def signals(values: np.ndarray, averages: np.ndarray, threshold: float) -> np.ndarray:
    """Whether each row is a spike (bool)."""
    module, found = kernel(), np.empty(len(values), np.uint8)
    pointer = module.ffi.from_buffer
    given = (pointer("double[]", values), pointer("double[]", averages))
    module.lib.sd_signals(len(values), *given, threshold, pointer("uint8_t[]", found))
    return found.view(np.bool_)


def spikes(values: np.ndarray, averages: np.ndarray, threshold: float) -> np.ndarray:
    """The rows that are spikes (uint32)."""
    module, found = kernel(), np.empty(len(values), np.uint32)
    pointer = module.ffi.from_buffer
    given = (pointer("double[]", values), pointer("double[]", averages))
    count = module.lib.sd_spikes(len(values), *given, threshold, pointer("uint32_t[]", found))
    return found[:count].copy()
