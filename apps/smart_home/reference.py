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


class Total(NamedTuple):
    """Some load values."""

    sum: float = 0.0
    count: int = 0

    @property
    def average(self) -> float:
        return self.sum / self.count if self.count else 0.0


def total(parts: Iterable[Total]) -> Total:
    """What they make together. They are added from left to right, as the program does: another order could differ in the
    last digit."""
    sum, count = 0.0, 0
    for part in parts:
        sum, count = sum + part.sum, count + part.count
    return Total(sum, count)


def grouped(parts: dict[tuple[int, ...], Total], names: int) -> dict[tuple[int, ...], Total]:
    """The totals of those that have the first names of their keys in common."""
    return {
        key: total(parts[each] for each in own) for key, own in groupby(parts, key=lambda each: each[:names])
    }


def predict(found: Iterable[Load], slices_per_day: int) -> dict[str, list[Out]]:
    """The rows of the four result files, by slice."""
    out: dict[str, list[Out]] = {name: [] for name in COLUMNS}
    history: dict[tuple[int, int], Total] = {}
    """(House, time of day) -> all load values so far."""
    known: set[int] = set()
    for slice, group in groupby(sorted(found, key=lambda load: load.slice), key=lambda load: load.slice):
        loads: dict[tuple[int, ...], list[Total]] = defaultdict(list)
        for load in group:
            loads[load[1:4]].append(Total(load.value, 1))
        plugs = {key: total(values) for key, values in sorted(loads.items())}
        households = grouped(plugs, 2)
        houses = grouped(households, 1)
        for name, totals in (("house", houses), ("household", households), ("plug", plugs)):
            out[name] += [(slice, *key, own.average, own.count) for key, own in totals.items()]
        for (house,), own in houses.items():
            place = house, slice % slices_per_day
            history[place] = total([history.get(place, Total()), own])
            known.add(house)
        pasts = {
            house: history.get((house, (slice + 1) % slices_per_day), Total()) for house in sorted(known)
        }
        everywhere, past = total(houses.values()).average, total(pasts.values()).average
        for house, own in pasts.items():
            parts = (everywhere, past, houses.get((house,), Total()).average, own.average)
            out["predictions"].append((slice, house, (parts[0] + parts[1] + parts[2] + parts[3]) / 4))
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
