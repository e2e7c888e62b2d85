"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.call_fraud.reference suspects|alerts CALLS [--area 30] [--limit 900] [--size 3600]

prints a result file of topology.toml.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from math import inf, sqrt
from pathlib import Path
from typing import Any

HOUR = 3600

Row = dict[str, str]
Suspect = tuple[int, int, float]
"""Time, phone, speed."""


def read(path: Path) -> Iterator[Row]:
    """The calls of a csv file; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def suspects(calls: Iterable[Row], area: str, limit: float) -> Iterator[Suspect]:
    """Phones of an area that must have been faster than `limit` km/h since they were last seen."""
    last: dict[int, tuple[int, float, float]] = {}
    for call in calls:
        if call["area"] != area:
            continue
        time, x, y = int(call["time"]), float(call["x_km"]), float(call["y_km"])
        for phone in (int(call["caller"]), int(call["callee"])):
            if phone in last:
                before, from_x, from_y = last[phone]
                distance = sqrt((x - from_x) ** 2 + (y - from_y) ** 2)
                hours = max(time - before, 0) / HOUR
                speed = 0.0 if distance == 0 else distance / hours if hours else inf
                if speed > limit:
                    yield time, phone, speed
            last[phone] = time, x, y


def alerts(found: Iterable[Suspect], size: int) -> list[tuple[int, int]]:
    """Window of `size` seconds, how many suspects it has."""
    return sorted(Counter(time // size * size for time, *_ in found).items())


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints a result file of topology.toml.")
    parser.add_argument("result", choices=("suspects", "alerts"))
    parser.add_argument("calls", type=Path)
    parser.add_argument("--area", default="30")
    parser.add_argument("--limit", type=float, default=900.0)
    parser.add_argument("--size", type=int, default=HOUR, help="of a window, in seconds")
    given = parser.parse_args()
    found = suspects(read(given.calls), given.area, given.limit)
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if given.result == "alerts":
        writer.writerows([("window_start", "count"), *alerts(found, given.size)])
    else:
        writer.writerows([("time", "phone", "speed_kmh"), *found])


if __name__ == "__main__":
    main()
