"""Card transactions, seeded: as a file, and as a source that makes them inside the engine.

    python -m apps.card_fraud.generate FILE [--transactions 100000] [--customers 300] [--seed 1]

Transactions are made in parts; part n is a function of the seed and n alone.
"""

from __future__ import annotations

import argparse
import gzip
import io
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pyarrow import csv

from actorstream import InterleavedSource
from apps.card_fraud.events import Transaction

PART = 1 << 16
"""Transactions of a part."""
SHARES = ((0.35, 0.53, 0.12), (0.85, 0.15), (0.35, 0.45, 0.20))
"""Of low, medium, high amounts; of transactions without and with an expensive item; of long, normal and short times since the
last."""
STATES = [amount + price + since for amount in "LMH" for price in "NH" for since in "LNS"]
STATE_TEXTS = np.array([list(state.encode()) for state in STATES], np.uint8)
DIGITS = np.frombuffer(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", np.uint8)
CUSTOMER, TRANSACTION = 10, 12
"""Characters of their names."""
SPREAD = 0x9E3779B97F4A7C15
"""Odd, so that different numbers have different names, modulo a power of 2."""


def names(numbers: np.ndarray, width: int) -> pa.Array:
    """Different texts of `width` digits and capitals for different numbers."""
    bits = int(np.log2(36) * width)
    left = numbers.astype(np.uint64) * np.uint64(SPREAD) & np.uint64((1 << bits) - 1)
    text = np.empty((len(numbers), width), np.uint8)
    for place in range(width - 1, -1, -1):
        text[:, place] = DIGITS[left % np.uint64(36)]
        left //= np.uint64(36)
    return string_array(text)


def string_array(text: np.ndarray) -> pa.Array:
    """Texts of one length, of a matrix of their bytes."""
    rows, width = text.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * np.int32(width)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))


def transactions(part: int, customers: int, seed: int, first: int = 0, step: int = 1) -> dict[str, pa.Array]:
    """Part `part`, of the customers `first`, `first` + `step`, ... below `customers`."""
    rng = np.random.default_rng([seed, part])
    customer = first + step * rng.integers(0, -(-(customers - first) // step), PART)
    kinds = [rng.choice(len(shares), PART, p=shares) for shares in SHARES]
    state = (kinds[0] * len(SHARES[1]) + kinds[1]) * len(SHARES[2]) + kinds[2]
    numbers = part * PART + np.arange(PART)
    return {
        "customer": names(customer, CUSTOMER),
        "transaction": names(numbers, TRANSACTION),
        "state": string_array(STATE_TEXTS[state]),
    }


class Transactions(InterleavedSource):
    """Transactions of as many groups of customers as there are shards: the transactions of a customer come in one order,
    whatever the number of replicas.

    Args:
        count: transactions in all; without end unless set. rate: transactions a second.
        shards: partitions.
        customers: how many.
        seed: another one gives other transactions.
    """

    outputs: ClassVar = {"default": Transaction}
    kept: ClassVar = PART

    def __init__(
        self,
        count: int | None = None,
        rate: float | None = None,
        shards: int = 2,
        customers: int = 100_000,
        seed: int = 1,
    ) -> None:
        super().__init__(count, rate, shards)
        if customers < shards:
            raise ValueError(f"customers is {customers}; allowed: at least one for each of {shards} shards")
        self.customers, self.seed = customers, seed

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        return transactions(stream, self.customers, self.seed, stream, self.shards)


def write(path: Path, count: int, customers: int, seed: int) -> None:
    """A csv file without a header, of so many transactions; the same bytes for the same arguments."""
    plain = io.BytesIO()
    for part in range(-(-count // PART)):
        table = pa.table(transactions(part, customers, seed)).slice(0, count - part * PART)
        csv.write_csv(table, plain, csv.WriteOptions(include_header=False, quoting_style="none"))
    data = plain.getvalue()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes card transactions as csv (.gz).")
    parser.add_argument("path", type=Path, metavar="FILE")
    parser.add_argument("--transactions", type=int, default=100_000, dest="count")
    parser.add_argument("--customers", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
