"""The source that benchmarks read from: columns that lie in memory, again and again until a time is over."""

from __future__ import annotations

from abc import abstractmethod
from time import monotonic
from typing import Any

from actorstream import Batch, Source

LEAST_ROWS = 4096
"""Of a batch that is made. A source that is paced, or whose rows have text, is first asked for one row."""


class Repeat(Source):
    """Emits the rows of `make` in turn for `seconds`; each replica has a partition of its own.

    A batch is made anew each time it is emitted, so that nothing converted before is found again.

    Args:
        seconds: how long, from the first read on.
        shards: partitions, as many as replicas.
        rate: rows a second; as fast as possible unless given.
    """

    def __init__(self, seconds: float, shards: int = 1, rate: float | None = None) -> None:
        self.seconds, self.shards, self.rate = seconds, shards, rate
        self.parts: list[dict[str, Any]] = []
        self.rate = rate
        self.ends = 0.0
        self.read_batches = 0
        self.sent = 0

    @abstractmethod
    def make(self, shard: int, rows: int) -> list[dict[str, Any]]:
        """The columns of each batch of one shard, of at most `rows` rows."""

    def partitions(self) -> list[str]:
        return [f"shard-{shard}" for shard in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        self.mine = [int(name.removeprefix("shard-")) for name in partitions]

    def read(self, max_rows: int) -> Batch | None:
        now = monotonic()
        if not self.parts:
            rows = max(max_rows, LEAST_ROWS)
            self.parts = [part for shard in self.mine for part in self.make(shard, rows)]
            now = monotonic()  # the first import of what makes them may take seconds
            self.ends = now + self.seconds
        if now >= self.ends:
            return None
        part = self.parts[self.read_batches % len(self.parts)]
        rows = len(next(iter(part.values())))
        if rows - self.sent > max_rows or self.sent:
            first, self.sent = self.sent, min(rows, self.sent + max_rows)
            part = {name: column[first : self.sent] for name, column in part.items()}
            if self.sent < rows:
                return Batch.of(part, event=self.outputs["default"])
            self.sent = 0
        self.read_batches += 1
        return Batch.of(part, event=self.outputs["default"])

    def position(self) -> dict[str, int]:
        return {f"shard-{shard}": self.read_batches for shard in self.mine}
