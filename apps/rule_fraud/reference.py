"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.rule_fraud.reference aggregates|frauds TRANSACTIONS RULES

prints a result file of topology.toml.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

AGGREGATES = ("rule_ts", "aggregate")
FRAUDS = ("stream", "ts", "value")
MODULUS = 1000

Row = dict[str, str]
Out = tuple[Any, ...]


def read(path: Path) -> Iterator[Row]:
    """The rows of a csv file; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def detect(transactions: Iterable[Row], rules: Iterable[Row]) -> tuple[list[Out], list[Out]]:
    """The rows of `aggregates` and of `frauds`, each by time; a rule goes before the transactions of its time."""
    events = [(int(row["ts"]), 0, row) for row in rules]
    events += [(int(row["ts"]), 1, row) for row in transactions]
    aggregates: list[Out] = []
    frauds: list[Out] = []
    total = suspicious = 0
    for ts, kind, row in sorted(events, key=lambda event: event[:2]):
        value = int(row["value"])
        if kind:
            total += value
            if value % MODULUS == suspicious:
                frauds.append((row["stream"], ts, value))
        else:
            aggregates.append((ts, total))
            total, suspicious = 0, (total + value) % MODULUS
    return aggregates, frauds


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints a result file of topology.toml.")
    parser.add_argument("result", choices=("aggregates", "frauds"))
    parser.add_argument("transactions", type=Path)
    parser.add_argument("rules", type=Path)
    given = parser.parse_args()
    aggregates, frauds = detect(read(given.transactions), read(given.rules))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if given.result == "aggregates":
        writer.writerows([AGGREGATES, *aggregates])
    else:
        writer.writerows([FRAUDS, *frauds])


if __name__ == "__main__":
    main()
