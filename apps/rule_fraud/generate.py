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
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from actorstream import InterleavedSource, NumberedSource
from apps.rule_fraud.events import Rule, Transaction

WINDOW = 1000
"""Time from one rule to the next, in the files. Times are shared: by transactions, and by transactions and rules."""
VALUES = 1_000_000
"""Values are below it: one in 1000 transactions is a fraud."""


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


class Transactions(InterleavedSource):
    """Streams of transactions without end, a partition each.

    Args:
        count: rows in all, of all streams. rate: rows a second.
        shards: how many streams.
        seed: another one gives other values.
    """

    outputs: ClassVar = {"default": Transaction}

    def __init__(
        self, count: int | None = None, rate: float | None = None, shards: int = 2, seed: int = 1
    ) -> None:
        super().__init__(count, rate, shards)
        self.seed = seed

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        values = np.random.default_rng([self.seed, stream]).integers(0, VALUES, self.kept)
        return {"stream": pa.array([name] * self.kept), "value": values}


class Rules(NumberedSource):
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
        super().__init__(count, rate)
        self.every = shards * per_rule

    def columns(self, first: int, last: int) -> dict[str, Any]:
        number = np.arange(first + 1, last + 1)
        return {"ts": number * self.every, "value": number * 7919 % VALUES}

    def time(self, number: int) -> int:
        return (number + 1) * self.every


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
