"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.keyed_counters.reference EVENTS…

prints the result file of topology.toml.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

COLUMNS = ("key", "ts", "seq", "count")

Row = dict[str, str]


def read(path: Path) -> Iterator[Row]:
    """The rows of a csv file; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def reads(events: Iterable[Row]) -> Iterator[tuple[str, int, int, int]]:
    """What each read-reset finds, in the order of time, of equal times in that of `seq`."""
    counters: Counter[str] = Counter()
    for row in sorted(events, key=lambda row: (int(row["ts"]), int(row["seq"]))):
        if row["op"] == "i":
            counters[row["key"]] += 1
        else:
            yield row["key"], int(row["ts"]), int(row["seq"]), counters.pop(row["key"], 0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints the result file of topology.toml.")
    parser.add_argument("events", type=Path, nargs="+")
    given = parser.parse_args()
    events = (row for path in given.events for row in read(path))
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *reads(events)])


if __name__ == "__main__":
    main()
