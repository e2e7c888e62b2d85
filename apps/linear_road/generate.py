"""Reports of generated traffic: as a file, and as a source that makes them inside the engine.

    python -m apps.linear_road.generate FILE [--xways 1] [--hours 3] [--density 255] [--ramp 10800] [--accidents 3] [--seed 1]

writes FILE (.gz packed) in the benchmark's layout: 15 integers a line, by time.
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

from actorstream import Batch, Source
from apps.linear_road.events import Report
from apps.linear_road.traffic import EVERY, FIELDS, Columns, Settings, Traffic

HOUR = 3600
NO_MORE = 2**63 - 1


class Reports(Source):
    """The reports of generated traffic, in shards of every so many-th expressway.

    Args:
        shards: partitions; reports do not depend on how many replicas read them.
        hours: of traffic; without end unless set.
        kept: seconds, a multiple of 30; these come again and again, as if time went on, at hardly any cost.
        count: reports in all, of each shard.
        rate: reports a second, of all replicas.
        xways, density, ramp, accidents, seed: see `traffic.Settings`.
    """

    outputs: ClassVar = {"default": Report}

    def __init__(
        self,
        xways: int = 1,
        shards: int = 1,
        hours: float | None = None,
        kept: int | None = None,
        count: int | None = None,
        rate: float | None = None,
        density: float = 255.0,
        ramp: int = 10_800,
        accidents: float = 3.0,
        seed: int = 1,
    ) -> None:
        super().__init__(count=count, rate=rate)
        self.settings = Settings(xways, density, ramp, accidents, seed)
        if not 1 <= shards <= xways:
            raise ValueError(f"shards is {shards}; allowed: 1 to the number of expressways, {xways}")
        if kept is not None and (kept < EVERY or kept % EVERY):
            raise ValueError(f"kept is {kept}; allowed: a multiple of {EVERY}")
        self.shards = shards
        self.ends = NO_MORE if hours is None else int(hours * HOUR)
        self.kept = kept
        self.mine: list[Shard] = []
        self.going: list[Shard] = []
        """Those of `mine` that have not ended."""

    def partitions(self) -> list[str]:
        return [f"shard-{shard}" for shard in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        numbers = [int(name.removeprefix("shard-")) for name in partitions]
        self.mine = [Shard(self, number) for number in numbers]
        self.going = list(self.mine)

    def read(self, max_rows: int) -> Batch | None:
        """The rows of one shard; of several the one that is furthest behind in time goes first."""
        while self.going:
            shard = min(self.going, key=lambda each: each.time)
            columns = shard.read(max_rows)
            if columns is not None:
                self.origin, self.row = shard.number, shard.row - len(columns["time"])
                return Batch.of_columns(Report, columns)
            self.going.remove(shard)
        return None

    def position(self) -> dict[str, int]:
        return {f"shard-{each.number}": each.row for each in self.mine}

    def seek(self, positions: dict[str, int]) -> None:
        for shard in self.mine:
            shard.skip(positions.get(f"shard-{shard.number}", 0))


class Shard:
    """One partition of `Reports`: blocks of columns, and how much of the current one was read.

    Attributes:
        row: how many were read.
        time: below which none will follow.
    """

    def __init__(self, source: Reports, number: int) -> None:
        self.source, self.number = source, number
        self.traffic = Traffic(source.settings, number, source.shards)
        self.block: Columns = {}
        self.at = self.rows = self.row = self.time = 0
        self.passes = 0

    def read(self, max_rows: int) -> Columns | None:
        if self.source.count is not None:
            max_rows = min(max_rows, self.source.count - self.row)
        if max_rows <= 0 or (self.at == self.rows and not self._next(max_rows)):
            return None
        end = min(self.rows, self.at + max_rows)
        found = {name: values[self.at : end] for name, values in self.block.items()}
        if self.passes:
            found["time"] = found["time"] + self.passes * (self.source.kept or 0)
        if found["time"][-1] >= self.source.ends:
            end = self.at + int(np.searchsorted(found["time"], self.source.ends))
            found = {name: values[: end - self.at] for name, values in found.items()}
            if end == self.at:
                return None
        self.time = int(found["time"][-1])
        self.row += end - self.at
        self.at = end
        return found

    def skip(self, rows: int) -> None:
        while self.row < rows and self.read(rows - self.row) is not None:
            pass

    def _next(self, wanted: int) -> bool:
        """Makes the next block, of at least `wanted` rows; all of them where seconds are kept."""
        source = self.source
        self.at = 0
        if source.kept is not None and self.rows:
            self.passes += 1
            return True
        until = source.kept or source.ends
        seconds: list[Columns] = []
        rows = 0
        while self.traffic.time < until and (source.kept is not None or rows < wanted):
            seconds.append(self.traffic.second())
            rows += len(seconds[-1]["time"])
        self.rows = rows
        if rows:
            self.block = {name: np.concatenate([each[name] for each in seconds]) for name in FIELDS}
        return rows > 0


def write(path: Path, settings: Settings, seconds: int) -> int:
    """A file of so many seconds of traffic; how many lines. The same bytes for the same arguments."""
    traffic = Traffic(settings)
    options = csv.WriteOptions(include_header=False)
    plain = io.BytesIO()
    lines = 0
    for _ in range(seconds):
        table = pa.table(traffic.second())
        csv.write_csv(table, plain, options)
        lines += table.num_rows
    data = plain.getvalue()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes reports of generated traffic.")
    parser.add_argument("path", type=Path, metavar="FILE")
    parser.add_argument("--hours", type=float, default=3.0)
    for name in Settings.__slots__:
        default: Any = getattr(Settings(), name)
        parser.add_argument(f"--{name}", type=type(default), default=default)
    given = vars(parser.parse_args())
    path, seconds = given.pop("path"), int(given.pop("hours") * HOUR)
    print(f"{write(path, Settings(**given), seconds):,} reports")


if __name__ == "__main__":
    main()
