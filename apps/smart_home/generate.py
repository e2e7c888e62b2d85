"""Measurements of many plugs, seeded: as a file, and as a source that makes them inside the engine.

    python -m apps.smart_home.generate FILE [--houses 40] [--plugs 53] [--seconds 60] [--seed 1]

Each second each plug measures its load and its work: 40 houses of 53 plugs are about as many as those of DEBS 2014.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from actorstream import Batch, Source
from apps.smart_home.events import Measurement

START = 1_377_986_401
"""Time of the first measurements: those of DEBS 2014."""
HOUSEHOLD = 7
"""Plugs of a household, of the last one of a house perhaps fewer."""
KEPT = 60
"""Seconds after which a source begins with the same values again."""
DAY = 86_400
NO_MORE = 2**63 - 1


def measured(house: int, plugs: int, seconds: int, seed: int) -> dict[str, Any]:
    """The measurements of a house in so many seconds, by time; plug after plug, its work, then its load."""
    rng = np.random.default_rng([seed, house])
    usual = rng.exponential(60, plugs)
    second, plug = np.divmod(np.arange(seconds * plugs), plugs)
    load = usual[plug] * (1 + 0.5 * np.sin(2 * np.pi * second / DAY)) * rng.uniform(0.8, 1.2, len(plug))
    work = second * usual[plug] / 3.6e6
    return {
        "ts": np.repeat(START + second, 2),
        "value": np.stack([work, load], axis=1).ravel().round(3),
        "property": np.tile([0, 1], len(plug)),
        "plug": np.repeat(plug % HOUSEHOLD, 2),
        "household": np.repeat(plug // HOUSEHOLD, 2),
        "house": np.full(2 * len(plug), house),
    }


class Measurements(Source):
    """Measurements without end, a partition a house. Its values come again after a minute.

    Args:
        count: measurements in all. rate: measurements a second.
        houses, plugs: how many houses, and plugs of each.
        seed: another one gives other values.
    """

    outputs: ClassVar = {"default": Measurement}

    def __init__(
        self,
        count: int | None = None,
        rate: float | None = None,
        houses: int = 40,
        plugs: int = 53,
        seed: int = 1,
    ) -> None:
        super().__init__(count=count, rate=rate)
        self.houses, self.plugs, self.seed = houses, plugs, seed
        self.second = 2 * plugs
        """Rows that a house has a second."""
        self.made: dict[int, int] = {}
        """House -> rows made of it."""
        self.kept: dict[int, Batch] = {}

    def partitions(self) -> list[str]:
        return [f"house{number:03}" for number in range(self.houses)]

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        self.made = dict.fromkeys(map(self.partitions().index, partitions), 0)
        for house in self.made:
            columns = measured(house, self.plugs, KEPT, self.seed)
            self.kept[house] = Batch.of_columns(Measurement, columns)

    def read(self, max_rows: int) -> Batch | None:
        going = [(made // self.second, house) for house, made in self.made.items() if made < self._end(house)]
        if not going:
            return None
        house = min(going)[1]
        first = self.made[house]
        again, at = divmod(first, KEPT * self.second)
        rows = min(max_rows, self.second - at % self.second, self._end(house) - first)
        self.origin, self.row, self.made[house] = house, first, first + rows
        batch = self.kept[house].slice(at, rows)
        return batch.with_columns(ts=batch["ts"] + again * KEPT) if again else batch

    def lower_bound(self, now_ns: int) -> int:
        going = [made // self.second for house, made in self.made.items() if made < self._end(house)]
        return START + min(going) if going else NO_MORE

    def position(self) -> dict[str, int]:
        names = self.partitions()
        return {names[house]: made for house, made in self.made.items()}

    def seek(self, positions: dict[str, int]) -> None:
        names = self.partitions()
        self.made = {house: positions.get(names[house], 0) for house in self.made}

    def _end(self, house: int) -> int:
        """Whole seconds come from all houses, the first houses have what is left of the last one."""
        if self.count is None:
            return NO_MORE
        seconds, left = divmod(self.count, self.houses * self.second)
        return seconds * self.second + min(max(left - house * self.second, 0), self.second)


def write(path: Path, houses: int, plugs: int, seconds: int, seed: int) -> None:
    """A csv file (.gz) by time; the same bytes for the same arguments."""
    each = [measured(house, plugs, seconds, seed) for house in range(houses)]
    rows = [row for columns in each for row in zip(*(columns[name].tolist() for name in columns))]
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
        io.TextIOWrapper(file, newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([Measurement.__struct_fields__, *sorted(rows, key=lambda row: row[0])])
    path.write_bytes(packed.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes measurements of plugs as csv (.gz).")
    parser.add_argument("path", type=Path, metavar="FILE")
    parser.add_argument("--houses", type=int, default=40)
    parser.add_argument("--plugs", type=int, default=53, help="of each house")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
