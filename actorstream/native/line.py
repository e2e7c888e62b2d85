"""Words of control memory that one process writes and others read, each in its order: a reader that sees a word sees
what was written before it, on every processor. Knows no meaning of a word."""

from __future__ import annotations

from actorstream.native._core import ffi, lib
from actorstream.native.memory import ControlMemory

LINE = 64
"""Bytes of a line: what no two processes write to."""
WORDS = LINE // 4
_read = lib.as_line_read
_write = lib.as_line_write


class CacheLine:
    """The 16 words (u32) of a line. One process writes, any may read. IndexError: there is no such word."""

    __slots__ = ("_memory", "_words")

    def __init__(self, memory: ControlMemory, offset: int) -> None:
        """The line at `offset`, a multiple of 64, of `memory`, which it keeps mapped."""
        if offset % LINE or not 0 <= offset <= memory.nbytes - LINE:
            raise ValueError(
                f"line at offset {offset} of {memory.nbytes} bytes; allowed: multiples of {LINE} inside"
            )
        self._memory = memory
        self._words = ffi.cast("uint32_t *", memory.pointer(offset))

    def __getitem__(self, word: int) -> int:
        if not 0 <= word < WORDS:
            raise IndexError(f"word {word} of a line; allowed: 0 to {WORDS - 1}")
        return int(_read(self._words, word))

    def __setitem__(self, word: int, value: int) -> None:
        if not 0 <= word < WORDS:
            raise IndexError(f"word {word} of a line; allowed: 0 to {WORDS - 1}")
        _write(self._words, word, value)
