"""Word count, one Python call a batch: NumPy over the bytes of the lines, Arrow for the dictionary of
words."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from actorstream import Actor, Batch, Contract
from apps.word_count.events import Word, WordCount

LOWER = np.zeros(256, np.uint8)
"""Letter -> its lower case, anything else -> 0."""
for _letter in b"abcdefghijklmnopqrstuvwxyz":
    LOWER[_letter] = LOWER[_letter - 32] = _letter


class SplitBatch(Actor):
    """Lines to words."""

    outputs: ClassVar = {"default": Word}
    contract = Contract(stateless=True)

    def on_batch(self, batch: Batch) -> Batch:
        words, lines = split_lines(batch["line"])
        return Batch.of({"word": words}, event=Word, origin=lines)


class CountBatch(Actor):
    """Counts each word. `running`: a (word, count so far) for every word that comes in; `final`: one a
    word, at the end."""

    outputs: ClassVar = {"running": WordCount, "final": WordCount}

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.counts = np.zeros(1024, np.int64)

    def on_batch(self, batch: Batch) -> None:
        words = batch["word"].dictionary_encode()
        running = self.count(words.indices.to_numpy(), words.dictionary.to_pylist())
        self.emit(batch.with_columns(count=running, event=WordCount), to="running")

    def count(self, codes: np.ndarray, words: list[str]) -> np.ndarray:
        """The running count of each row; `codes` index `words`, each of which occurs."""
        numbers = self.numbers
        of_words = np.fromiter(
            [numbers.setdefault(word, len(numbers)) for word in words], np.int64, len(words)
        )
        if len(numbers) > len(self.counts):
            self.counts = np.concatenate([self.counts, np.zeros(2 * len(numbers), np.int64)])
        narrow = codes.astype(np.int16) if len(words) < 2**15 else codes  # 16 bits: NumPy sorts them by radix
        order = np.argsort(narrow, kind="stable")
        occurrences = np.bincount(codes, minlength=len(words))
        groups = np.cumsum(occurrences) - occurrences
        before = self.counts[of_words]
        self.counts[of_words] = before + occurrences
        running = np.empty(len(codes), np.int64)
        running[order] = np.arange(1, len(codes) + 1) + np.repeat(before - groups, occurrences)
        return running

    def on_end(self) -> None:
        counts = self.counts[: len(self.numbers)]
        self.emit(
            Batch.of({"word": pa.array(list(self.numbers), pa.string()), "count": counts}, event=WordCount),
            to="final",
        )

    def snapshot(self) -> dict[str, int]:
        return dict(zip(self.numbers, self.counts.tolist()))

    def restore(self, snapshot: Any) -> None:
        self.numbers = {word: number for number, word in enumerate(snapshot)}
        self.counts = np.array([*snapshot.values(), *([0] * 1024)], np.int64)


def split_lines(lines: pa.Array) -> tuple[pa.Array, np.ndarray]:
    """The words of a string array, and the line (row) of each word (int64)."""
    offsets, data = strings(lines)
    lower = LOWER[data]
    letter = lower != 0
    inside = np.empty(len(letter) + 1, bool)  # whether a word goes on at this byte
    inside[0] = inside[-1] = False
    np.logical_and(letter[1:], letter[:-1], out=inside[1:-1])
    inside[offsets] = False
    starts = np.flatnonzero(letter & ~inside[:-1])
    ends = np.flatnonzero(letter & ~inside[1:]) + 1
    word_offsets = np.zeros(len(starts) + 1, np.int32)
    np.cumsum(ends - starts, out=word_offsets[1:])
    before = np.searchsorted(starts, offsets)
    of_line = np.repeat(np.arange(len(lines)), np.diff(before))
    words = pa.StringArray.from_buffers(
        len(starts), pa.py_buffer(word_offsets), pa.py_buffer(np.ascontiguousarray(lower[letter]))
    )
    return words, of_line


def strings(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Offsets from 0 (one more than rows) and the bytes of a string array."""
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    if data_buffer is None:
        return np.zeros(len(array) + 1, np.int32), np.empty(0, np.uint8)
    return offsets - offsets[0], np.frombuffer(data_buffer, np.uint8)[offsets[0] : offsets[-1]]
