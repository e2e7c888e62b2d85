"""Readings of sensors, seeded: as a file, and as a source that makes them inside the engine.

    python -m apps.spike_detection.generate FILE [--readings 100000] [--motes 54] [--seed 1]

Readings are made in parts; part n is a function of the seed and n alone.
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

from actorstream import Event, InterleavedSource

PART = 1 << 16
"""Readings of a part."""
DAY = 1 << 20
"""Readings of a day, in which it gets warmer and colder again."""
SPIKES = 0.001
"""The share of readings that are wrong, by up to a half."""


class NumberedReading(Event):
    """A reading whose number and mote are whole numbers."""

    reading: int
    mote_id: int
    humidity: float
    temperature: float


def readings(part: int, motes: int, seed: int, first: int = 0, step: int = 1) -> dict[str, np.ndarray]:
    """Part `part`, of the motes 1 + `first`, 1 + `first` + `step`, ... up to `motes`."""
    rng = np.random.default_rng([seed, part])
    number = part * PART + np.arange(PART)
    mote = 1 + first + step * rng.integers(0, -(-(motes - first) // step), PART)
    warmth = 20 + mote % 7 + 0.5 * np.sin(2 * np.pi * number / DAY)
    wrong = np.where(rng.random(PART) < SPIKES, rng.uniform(-0.5, 0.5, PART), 0.0)
    return {
        "reading": number,
        "mote_id": mote,
        "humidity": np.round(70 - warmth + rng.normal(0, 0.5, PART), 4),
        "temperature": np.round((warmth + rng.normal(0, 0.1, PART)) * (1 + wrong), 4),
    }


class Readings(InterleavedSource):
    """Readings of as many groups of motes as there are shards: the readings of a mote come in one order, whatever the number
    of replicas.

    Args:
        count: readings in all; without end unless set. rate: readings a second.
        shards: partitions.
        motes: how many.
        seed: another one gives other readings.
    """

    outputs: ClassVar = {"default": NumberedReading}
    kept: ClassVar = PART

    def __init__(
        self,
        count: int | None = None,
        rate: float | None = None,
        shards: int = 2,
        motes: int = 54,
        seed: int = 1,
    ) -> None:
        super().__init__(count, rate, shards)
        if motes < shards:
            raise ValueError(f"motes is {motes}; allowed: at least one for each of {shards} shards")
        self.motes, self.seed = motes, seed

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        return readings(stream, self.motes, self.seed, stream, self.shards)


def write(path: Path, count: int, motes: int, seed: int) -> None:
    """A csv file of so many readings; the same bytes for the same arguments."""
    plain = io.BytesIO()
    plain.write(",".join(NumberedReading.__struct_fields__).encode() + b"\n")
    for part in range(-(-count // PART)):
        table = pa.table(readings(part, motes, seed)).slice(0, count - part * PART)
        csv.write_csv(table, plain, csv.WriteOptions(include_header=False))
    data = plain.getvalue()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes readings of sensors as csv (.gz).")
    parser.add_argument("path", type=Path, metavar="FILE")
    parser.add_argument("--readings", type=int, default=100_000, dest="count")
    parser.add_argument("--motes", type=int, default=54)
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
