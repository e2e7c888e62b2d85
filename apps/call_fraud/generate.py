"""Call data records, seeded: as a file, and as a source that makes them inside the engine.

    python -m apps.call_fraud.generate FILE [--calls 100000] [--seed 1]

Phones stay in a town and use one of its masts; one phone in 25 is a clone, whose two holders live in two
towns of an area. Calls are made in parts; part n is a function of the seed and n alone.
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

from actorstream import Batch, Source
from apps.call_fraud.events import Call

START = 1_700_000_000
"""Time of the first call, seconds since 1970."""
PART = 8192
"""Calls of a part."""
SPAN = 14_400
"""Seconds that a part takes."""
AREAS = ("30", "40", "69", "89")
TOWNS, MASTS, PHONES = 8, 3, 50
"""Towns of an area, masts of a town, phones of a town."""
SIZE_KM, TOWN_KM = 300.0, 2.0
"""Of an area and of a town, from side to side."""
CLONES = 25
"""One phone in so many is a clone."""
FIRST_PHONE = 491_700_000_000

Columns = dict[str, Any]


class Map:
    """Where the masts are: a function of the seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 0])
        towns = rng.uniform(0, SIZE_KM, (len(AREAS), TOWNS, 1, 2))
        masts = rng.uniform(0, TOWN_KM, (len(AREAS), TOWNS, MASTS, 2))
        corners = np.array([(0, 0), (SIZE_KM, 0), (0, SIZE_KM), (SIZE_KM, SIZE_KM)])[:, None, None, :]
        self.masts = np.round(corners + towns + masts, 3)


def calls(number: int, seed: int, masts: np.ndarray) -> Columns:
    """Part `number` of the calls, by time; `masts` of a `Map`."""
    rng = np.random.default_rng([seed, 1, number])
    area = rng.integers(0, len(AREAS), PART)
    home = rng.integers(0, TOWNS, PART)
    caller, callee = rng.integers(0, PHONES, (2, PART))
    abroad = (caller % CLONES == 0) & (rng.random(PART) < 0.5)
    town = np.where(abroad, (home + 1) % TOWNS, home)
    x, y = masts[area, town, rng.integers(0, MASTS, PART)].T.copy()
    phones = FIRST_PHONE + area * TOWNS * PHONES
    return {
        "time": START + number * SPAN + np.sort(rng.integers(0, SPAN, PART)),
        "caller": phones + home * PHONES + caller,
        "callee": phones + town * PHONES + callee,
        "area": pa.array(np.array(AREAS, object)[area], pa.string()),
        "x_km": x,
        "y_km": y,
        "duration": 1 + rng.exponential(90, PART).astype(np.int64),
    }


class Calls(Source):
    """Parts that lie in memory, again and again, as if time went on.

    Args:
        count: calls in all; without end unless set.
        rate: calls a second.
        kept: how many parts differ.
        seed: another one gives other calls.
    """

    outputs: ClassVar = {"default": Call}

    def __init__(
        self, count: int | None = None, rate: float | None = None, kept: int = 8, seed: int = 1
    ) -> None:
        super().__init__(count=count, rate=rate)
        self.kept, self.seed = kept, seed
        self.made: list[Columns] = []
        self.row = self.next_row = 0

    def read(self, max_rows: int) -> Batch | None:
        if not self.made:
            masts = Map(self.seed).masts
            self.made = [calls(number, self.seed, masts) for number in range(self.kept)]
        part, first = divmod(self.next_row, PART)
        rows = min(max_rows, PART - first)
        if self.count is not None:
            rows = min(rows, self.count - self.next_row)
        if self._opened == [] or rows <= 0:
            return None
        passes, at = divmod(part, self.kept)
        batch = {name: values[first : first + rows] for name, values in self.made[at].items()}
        batch["time"] = batch["time"] + passes * self.kept * SPAN
        self.row, self.next_row = self.next_row, self.next_row + rows
        return Batch.of_columns(Call, batch)

    def position(self) -> dict[str, int]:
        return dict.fromkeys(self.partitions(), self.next_row)

    def seek(self, positions: dict[str, int]) -> None:
        self.next_row = max(positions.values(), default=0)


def write(path: Path, count: int, seed: int) -> None:
    """A csv file of so many calls; the same bytes for the same arguments."""
    masts = Map(seed).masts
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
        io.TextIOWrapper(file, newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(Call.__struct_fields__)
        for number in range(-(-count // PART)):
            rows = zip(*(values.tolist() for values in calls(number, seed, masts).values()))
            writer.writerows(list(rows)[: count - number * PART])
    path.write_bytes(packed.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes call data records as csv (.gz).")
    parser.add_argument("path", type=Path, metavar="FILE")
    parser.add_argument("--calls", type=int, default=100_000, dest="count")
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
