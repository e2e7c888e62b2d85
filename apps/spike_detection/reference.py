"""Spike detection, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.spike_detection.reference FILE [--field temperature] [--window 1000] [--threshold 0.03]

prints the result file of topology.toml. Averages are those of exact sums, so their last digits may differ.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
import sys
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from math import fsum
from pathlib import Path

Row = tuple[str, str, float, float]
COLUMNS = ("mote_id", "reading", "value", "moving_avg")


def read(path: Path, field: str = "temperature") -> Iterator[tuple[str, str, float]]:
    """Mote, reading and value of each row; .gz is decompressed. Rows of NAB (timestamp,value) are of mote 1."""
    data = path.read_bytes()
    text = io.StringIO((gzip.decompress(data) if path.suffix == ".gz" else data).decode())
    for row in csv.DictReader(text):
        if "mote_id" in row:
            yield row["mote_id"], row["reading"], float(row[field])
        else:
            yield "1", row["timestamp"], float(row["value"])


def averaged(rows: Iterable[tuple[str, str, float]], window: int) -> Iterator[Row]:
    """Each row with the mean of the last values of its mote."""
    last: dict[str, deque[float]] = defaultdict(lambda: deque(maxlen=window))
    for mote, reading, value in rows:
        values = last[mote]
        values.append(value)
        yield mote, reading, value, fsum(values) / len(values)


def spikes(rows: Iterable[tuple[str, str, float]], window: int, threshold: float) -> Iterator[Row]:
    """The rows whose value is further from the average than this share of it."""
    for row in averaged(rows, window):
        if abs(row[2] - row[3]) > threshold * row[3]:
            yield row


def main() -> None:
    parser = argparse.ArgumentParser(description="Finds spikes, sequentially.")
    parser.add_argument("path", type=Path)
    parser.add_argument("--field", default="temperature")
    parser.add_argument("--window", type=int, default=1000)
    parser.add_argument("--threshold", type=float, default=0.03)
    given = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(spikes(read(given.path, given.field), given.window, given.threshold))


if __name__ == "__main__":
    main()
