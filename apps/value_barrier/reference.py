"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.value_barrier.reference VALUES BARRIERS

prints the result file of topology.toml.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

COLUMNS = ("barrier_ts", "sum", "count")

Row = dict[str, str]


def read(path: Path) -> Iterator[Row]:
    """The rows of a csv file; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def sums(values: Iterable[Row], barriers: Iterable[Row]) -> Iterator[tuple[int, int, int]]:
    """Of each barrier: its time, and the sum and the number of the values since the barrier before it."""
    events = [(int(row["ts"]), 0, 0) for row in barriers]
    events += [(int(row["ts"]), 1, int(row["value"])) for row in values]
    total = count = 0
    for ts, kind, value in sorted(events, key=lambda event: event[:2]):
        if kind:
            total, count = total + value, count + 1
        else:
            yield ts, total, count
            total = count = 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints the result file of topology.toml.")
    parser.add_argument("values", type=Path)
    parser.add_argument("barriers", type=Path)
    given = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows([COLUMNS, *sums(read(given.values), read(given.barriers))])


if __name__ == "__main__":
    main()
