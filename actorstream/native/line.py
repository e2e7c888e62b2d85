"""Words of control memory that one process writes and others read, each in its order: a reader that sees a word sees
what was written before it, on every processor. Knows no meaning of a word."""

from __future__ import annotations

from actorstream.native._core import ffi, lib
from actorstream.native.memory import ControlMemory

LINE = 64
"""Bytes of a line: what no two processes write to."""
_read = lib.as_line_read
_write = lib.as_line_write


class Line:
    """The 16 words (u32) of a line. One process writes, any may read. IndexError: there is no such word."""

    __slots__ = ("_memory", "_words")

    def __init__(self, memory: ControlMemory, offset: int) -> None:
        """The line at `offset`, a multiple of 64, of `memory`, which it keeps mapped."""
        if offset % LINE or not 0 <= offset <= memory.nbytes - LINE:
            raise ValueError(
                f"line at offset {offset} of {memory.nbytes} bytes; allowed: multiples of {LINE} inside"
            )
        self._memory = memory
        self._words = tuple(
            ffi.cast("uint32_t *", memory.pointer(offset)) + word for word in range(LINE // 4)
        )

    def __getitem__(self, word: int) -> int:
        return int(_read(self._words[word]))

    def __setitem__(self, word: int, value: int) -> None:
        _write(self._words[word], value)
