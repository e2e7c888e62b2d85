"""The source that benchmarks read from: batches that lie in memory, again and again until a time is over."""

from __future__ import annotations

from abc import abstractmethod
from time import monotonic

from actorstream import Batch, Source


class Repeat(Source):
    """Emits the batches of `make` in turn for `seconds`; each replica has a partition of its own.

    Args:
        seconds: how long, from the first read on.
        shards: partitions, as many as replicas.
    """

    def __init__(self, seconds: float, shards: int = 1) -> None:
        self.seconds, self.shards = seconds, shards
        self.batches: list[Batch] = []
        self.ends = 0.0
        self.read_batches = 0

    @abstractmethod
    def make(self, shard: int, rows: int) -> list[Batch]:
        """The batches of one shard, of at most `rows` rows each."""

    def partitions(self) -> list[str]:
        return [f"shard-{shard}" for shard in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        self.mine = [int(name.removeprefix("shard-")) for name in partitions]

    def read(self, max_rows: int) -> Batch | None:
        now = monotonic()
        if not self.batches:
            self.batches = [batch for shard in self.mine for batch in self.make(shard, max_rows)]
            self.ends = now + self.seconds
        if now >= self.ends:
            return None
        batch = self.batches[self.read_batches % len(self.batches)]
        self.read_batches += 1
        return batch

    def position(self) -> dict[str, int]:
        return {f"shard-{shard}": self.read_batches for shard in self.mine}
