"""Transactions and rules, seeded: as files, and as sources that make them inside the engine.

    python -m apps.rule_fraud.generate FOLDER [--streams 4] [--rules 20] [--transactions 100] [--seed 1]

writes transactions.csv.gz and rules.csv. Window n is a function of the seed and n alone.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa

from actorstream import Batch, Source
from apps.rule_fraud.events import Rule, Transaction

WINDOW = 1000
"""Time from one rule to the next, in the files. Times are shared: by transactions, and by transactions and rules."""
VALUES = 1_000_000
"""Values are below it: one in 1000 transactions is a fraud."""
KEPT = 1 << 16
"""Rows of a stream after which a source begins with the same values again."""
NO_MORE = 2**63 - 1


def window(number: int, streams: int, transactions: int, seed: int) -> list[tuple[str, int, int]]:
    """The rows of one window, by time: `transactions` of each stream."""
    rng = np.random.default_rng([seed, number])
    stream = rng.permutation(np.repeat(np.arange(streams), transactions))
    ts = number * WINDOW + np.sort(rng.integers(0, WINDOW, streams * transactions))
    value = rng.integers(0, VALUES, streams * transactions)
    return [(f"s{of}", at, each) for of, at, each in zip(stream.tolist(), ts.tolist(), value.tolist())]


def write(folder: Path, streams: int, rules: int, transactions: int, seed: int) -> None:
    """The two csv files; the last window has no rule. The same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
        io.TextIOWrapper(file, newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Transaction.__struct_fields__)
        for number in range(rules + 1):
            writer.writerows(window(number, streams, transactions, seed))
    (folder / "transactions.csv.gz").write_bytes(packed.getvalue())
    values = np.random.default_rng(seed).integers(0, VALUES, rules).tolist()
    rows = "".join(f"{(number + 1) * WINDOW},{value}\n" for number, value in enumerate(values))
    (folder / "rules.csv").write_text("ts,value\n" + rows)


class Transactions(Source):
    """Streams of transactions without end, a partition each. All times differ: row i of stream k has time i * shards + k.

    Args:
        count: rows in all, of all streams. rate: rows a second.
        shards: how many streams.
        seed: another one gives other values.
    """

    outputs: ClassVar = {"default": Transaction}

    def __init__(
        self, count: int | None = None, rate: float | None = None, shards: int = 2, seed: int = 1
    ) -> None:
        super().__init__(count=count, rate=rate)
        self.shards, self.seed = shards, seed
        self.made: dict[int, int] = {}
        """Stream -> rows made of it."""
        self.turn = -1
        self.kept: dict[int, Batch] = {}
        """Stream -> rows that come again and again, with other times."""

    def partitions(self) -> list[str]:
        return [f"s{number}" for number in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        self.made = dict.fromkeys(map(self.partitions().index, partitions), 0)
        names = self.partitions()
        for stream in self.made:
            values = np.random.default_rng([self.seed, stream]).integers(0, VALUES, KEPT)
            columns = {
                "stream": pa.array([names[stream]] * KEPT),
                "ts": np.zeros(KEPT, np.int64),
                "value": values,
            }
            self.kept[stream] = Batch.of_columns(Transaction, columns)

    def read(self, max_rows: int) -> Batch | None:
        for _ in self.made:
            self.turn = (self.turn + 1) % self.shards
            while self.turn not in self.made:
                self.turn = (self.turn + 1) % self.shards
            stream, first = self.turn, self.made[self.turn]
            rows = min(max_rows, KEPT - first % KEPT, self._end(stream) - first)
            if rows > 0:
                self.origin, self.row = stream, first
                self.made[stream] = first + rows
                return self._rows(stream, first, rows)
        return None

    def lower_bound(self, now_ns: int) -> int:
        going = [made * self.shards + of for of, made in self.made.items() if made < self._end(of)]
        return min(going, default=NO_MORE)

    def position(self) -> dict[str, int]:
        names = self.partitions()
        return {names[stream]: made for stream, made in self.made.items()}

    def seek(self, positions: dict[str, int]) -> None:
        names = self.partitions()
        self.made = {stream: positions.get(names[stream], 0) for stream in self.made}

    def _end(self, stream: int) -> int:
        return NO_MORE if self.count is None else max(0, -(-(self.count - stream) // self.shards))

    def _rows(self, stream: int, first: int, rows: int) -> Batch:
        times = np.arange(first * self.shards + stream, (first + rows) * self.shards, self.shards)
        return self.kept[stream].slice(first % KEPT, rows).with_columns(ts=times)


class Rules(Source):
    """The rules of `Transactions`: rule n, from 0, lies before row (n + 1) * per_rule of each stream.

    Args:
        count: rules in all. rate: rules a second.
        shards: streams of transactions.
        per_rule: transactions of each stream from one rule to the next.
    """

    outputs: ClassVar = {"default": Rule}

    def __init__(
        self,
        count: int | None = None,
        rate: float | None = None,
        shards: int = 2,
        per_rule: int = 10_000,
    ) -> None:
        super().__init__(count=count, rate=rate)
        self.every = shards * per_rule
        self.made = 0

    def read(self, max_rows: int) -> Batch | None:
        rows = max_rows if self.count is None else min(max_rows, self.count - self.made)
        if self._opened == [] or rows <= 0:
            return None
        self.row, self.made = self.made, self.made + rows
        number = np.arange(self.row + 1, self.made + 1)
        return Batch.of_columns(Rule, {"ts": number * self.every, "value": number * 7919 % VALUES})

    def lower_bound(self, now_ns: int) -> int:
        return NO_MORE if self.made == self.count else (self.made + 1) * self.every

    def position(self) -> dict[str, int]:
        return dict.fromkeys(self.partitions(), self.made)

    def seek(self, positions: dict[str, int]) -> None:
        self.made = max(positions.values(), default=0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes transactions and rules as csv.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--rules", type=int, default=20)
    parser.add_argument("--transactions", type=int, default=100, help="of each stream and window")
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
