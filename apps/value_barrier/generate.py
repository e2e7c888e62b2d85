"""Values and barriers, seeded: as files, and as sources that make them inside the engine.

    python -m apps.value_barrier.generate FOLDER [--streams 4] [--barriers 20] [--values 100] [--seed 1]

writes values.csv.gz and barriers.csv. Window n is a function of the seed and n alone.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from actorstream import InterleavedSource, NumberedSource
from apps.value_barrier.events import Barrier, Value

WINDOW = 1000
"""Time from one barrier to the next, in the files. Times are shared: by values, and by values and barriers."""
VALUES = 1_000_000
"""Values are below it."""


def window(number: int, streams: int, values: int, seed: int) -> list[tuple[str, int, int]]:
    """The rows of one window, by time: `values` of each stream."""
    rng = np.random.default_rng([seed, number])
    stream = rng.permutation(np.repeat(np.arange(streams), values))
    ts = number * WINDOW + np.sort(rng.integers(0, WINDOW, streams * values))
    value = rng.integers(0, VALUES, streams * values)
    return [(f"s{of}", at, each) for of, at, each in zip(stream.tolist(), ts.tolist(), value.tolist())]


def write(folder: Path, streams: int, barriers: int, values: int, seed: int) -> None:
    """The two csv files; the last window has no barrier. The same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
        io.TextIOWrapper(file, newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Value.__struct_fields__)
        for number in range(barriers + 1):
            writer.writerows(window(number, streams, values, seed))
    (folder / "values.csv.gz").write_bytes(packed.getvalue())
    rows = "".join(f"{(number + 1) * WINDOW}\n" for number in range(barriers))
    (folder / "barriers.csv").write_text("ts\n" + rows)


class Values(InterleavedSource):
    """Streams of values without end, a partition each.

    Args:
        count: rows in all, of all streams. rate: rows a second.
        shards: how many streams.
        seed: another one gives other values.
    """

    outputs: ClassVar = {"default": Value}

    def __init__(
        self, count: int | None = None, rate: float | None = None, shards: int = 2, seed: int = 1
    ) -> None:
        super().__init__(count, rate, shards)
        self.seed = seed

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        values = np.random.default_rng([self.seed, stream]).integers(0, VALUES, self.kept)
        return {"stream": pa.array([name] * self.kept), "value": values}


class Barriers(NumberedSource):
    """The barriers of `Values`: barrier n, from 0, lies before row (n + 1) * per_barrier of each stream.

    Args:
        count: barriers in all. rate: barriers a second.
        shards: streams of values.
        per_barrier: values of each stream from one barrier to the next.
    """

    outputs: ClassVar = {"default": Barrier}

    def __init__(
        self,
        count: int | None = None,
        rate: float | None = None,
        shards: int = 2,
        per_barrier: int = 10_000,
    ) -> None:
        super().__init__(count, rate)
        self.every = shards * per_barrier

    def columns(self, first: int, last: int) -> dict[str, Any]:
        return {"ts": np.arange(first + 1, last + 1) * self.every}

    def time(self, number: int) -> int:
        return (number + 1) * self.every


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes values and barriers as csv.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--barriers", type=int, default=20)
    parser.add_argument("--values", type=int, default=100, help="of each stream and window")
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
