"""The lines of the book from memory, again and again: a source that costs hardly anything."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from actorstream import Batch, InterleavedSource
from apps.word_count.events import Line
from apps.word_count.reference import read_lines

BOOK = Path(__file__).with_name("data") / "book.txt"


class Lines(InterleavedSource):
    """Lines of the book, each shard's from another place on.

    Args:
        count: lines in all; without end unless set. rate: lines a second.
        shards: partitions.
        at_once: lines of a batch at most: the words of so many fit into a core's cache.
    """

    outputs: ClassVar = {"default": Line}
    kept: ClassVar = 1 << 14

    def __init__(
        self, count: int | None = None, rate: float | None = None, shards: int = 2, at_once: int = 512
    ) -> None:
        super().__init__(count, rate, shards)
        self.at_once = at_once

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        book = list(read_lines(BOOK))
        first = stream * len(book) // self.shards
        return {"line": [book[(first + number) % len(book)] for number in range(self.kept)]}

    def read(self, max_rows: int) -> Batch | None:
        return super().read(min(max_rows, self.at_once))
