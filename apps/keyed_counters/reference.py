"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.keyed_counters.reference EVENTS…

prints the result file of topology.toml. Files come in the order of their names, as the topology reads them.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
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


def check_ties(files: Iterable[Iterable[Row]]) -> None:
    """ValueError for events of one key and time, a read-reset among them, whose files are not in the order of `seq`: the topology
    takes them file by file."""
    tied: dict[tuple[str, int], list[Row]] = defaultdict(list)
    for rows in files:
        for row in rows:
            tied[row["key"], int(row["ts"])].append(row)
    for (key, time), rows in tied.items():
        numbers = [int(row["seq"]) for row in rows]
        if numbers != sorted(numbers) and any(row["op"] == "r" for row in rows):
            raise ValueError(
                f"events of key {key!r} at {time} have the seq {', '.join(map(str, numbers))} in the order of their files; "
                "allowed: ascending, as the topology takes events of equal time file by file"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints the result file of topology.toml.")
    parser.add_argument("events", type=Path, nargs="+")
    given = parser.parse_args()
    files = [list(read(path)) for path in sorted(given.events)]
    try:
        check_ties(files)
    except ValueError as error:
        parser.error(str(error))
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS, *reads(chain.from_iterable(files))])


if __name__ == "__main__":
    main()
