"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.smart_home.reference house|household|plug|predictions MEASUREMENTS [--origin S] [--slice S]
        [--slices-per-day N]

prints a result file of topology.toml.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

LOAD = "1"
COLUMNS = {
    "house": ("slice", "house", "avg", "count"),
    "household": ("slice", "house", "household", "avg", "count"),
    "plug": ("slice", "house", "household", "plug", "avg", "count"),
    "predictions": ("after_slice", "house", "prediction"),
}

Row = dict[str, str]
Out = tuple[Any, ...]


class Load(NamedTuple):
    """One load value."""

    slice: int
    house: int
    household: int
    plug: int
    value: float


def read(path: Path) -> Iterator[Row]:
    """The rows of a csv file; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def loads(rows: Iterable[Row], origin: int, size: int) -> Iterator[Load]:
    for row in rows:
        if row["property"] == LOAD:
            where = (int(row[name]) for name in ("house", "household", "plug"))
            yield Load((int(row["ts"]) - origin) // size, *where, float(row["value"]))


def average(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def predict(found: Iterable[Load], slices_per_day: int) -> dict[str, list[Out]]:
    """The rows of the four result files, by slice."""
    out: dict[str, list[Out]] = {name: [] for name in COLUMNS}
    history: dict[tuple[int, int], list[float]] = defaultdict(list)
    """(House, time of day) -> all load values so far."""
    houses: set[int] = set()
    for slice, group in groupby(sorted(found, key=lambda load: load.slice), key=lambda load: load.slice):
        now: dict[tuple[int, ...], list[float]] = defaultdict(list)
        for load in group:
            history[load.house, slice % slices_per_day].append(load.value)
            for key in ((load.house,), (load.house, load.household), load[1:4]):
                now[key].append(load.value)
        for key, values in sorted(now.items()):
            name = ("house", "household", "plug")[len(key) - 1]
            out[name].append((slice, *key, average(values), len(values)))
        houses |= {key[0] for key in now}
        following = (slice + 1) % slices_per_day
        everywhere = average([value for key, values in now.items() if len(key) == 1 for value in values])
        past = average([value for house in houses for value in history[house, following]])
        for house in sorted(houses):
            parts = (everywhere, past, average(now.get((house,), [])), average(history[house, following]))
            out["predictions"].append((slice, house, sum(parts) / len(parts)))
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints a result file of topology.toml.")
    parser.add_argument("result", choices=COLUMNS)
    parser.add_argument("measurements", type=Path)
    parser.add_argument("--origin", type=int, default=1_377_986_401)
    parser.add_argument("--slice", type=int, default=5)
    parser.add_argument("--slices-per-day", type=int, default=4)
    given = parser.parse_args()
    found = loads(read(given.measurements), given.origin, given.slice)
    rows = predict(found, given.slices_per_day)[given.result]
    csv.writer(sys.stdout, lineterminator="\n").writerows([COLUMNS[given.result], *rows])


if __name__ == "__main__":
    main()
