"""Page views and updates, seeded: as files, and as sources that make them inside the engine.

    python -m apps.page_view_join.generate FOLDER [--streams 4] [--pages 5] [--windows 20] [--views 100] [--seed 1]

writes views.csv.gz and updates.csv. Two pages get most of the views. Window n is a function of the seed and n alone.
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
from apps.page_view_join.events import Update, View

WINDOW = 1000
"""Time of a window of the files, in which each page is updated once. Times are shared: by views, and by views and
updates."""
HOT, HOT_SHARE = 2, 0.9
"""So many pages get this share of the views."""


def window(
    number: int, streams: int, pages: int, views: int, seed: int
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """The views and the updates of one window, each by time: `views` of each stream, an update of each page."""
    rng = np.random.default_rng([seed, number])
    rows = streams * views
    stream = rng.permutation(np.repeat(np.arange(streams), views)).tolist()
    ts = (number * WINDOW + np.sort(rng.integers(0, WINDOW, rows))).tolist()
    hot = rng.random(rows) < HOT_SHARE
    page = np.where(hot, rng.integers(0, min(HOT, pages), rows), rng.integers(0, pages, rows)).tolist()
    viewed = [
        (f"s{of}", at, f"v{number * rows + row}", f"page{which}")
        for row, (of, at, which) in enumerate(zip(stream, ts, page))
    ]
    times = np.sort(number * WINDOW + rng.integers(0, WINDOW, pages)).tolist()
    updated = [
        (at, f"page{which}", f"zip {rng.integers(10_000, 99_999)}")
        for at, which in zip(times, rng.permutation(pages).tolist())
    ]
    return viewed, updated


def write(folder: Path, streams: int, pages: int, windows: int, views: int, seed: int) -> None:
    """The two csv files; the same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    made = [window(number, streams, pages, views, seed) for number in range(windows)]
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
        io.TextIOWrapper(file, newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerows([View.__struct_fields__, *(row for viewed, _ in made for row in viewed)])
    (folder / "views.csv.gz").write_bytes(packed.getvalue())
    with (folder / "updates.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([Update.__struct_fields__, *(row for _, updated in made for row in updated)])


class Views(InterleavedSource):
    """Streams of views without end, a partition each. Stream k has views of page k modulo `pages`. A stream's ids come
    again after 65,536 rows.

    Args:
        count: rows in all, of all streams. rate: rows a second.
        shards: how many streams.
        pages: how many.
    """

    outputs: ClassVar = {"default": View}

    def __init__(
        self, count: int | None = None, rate: float | None = None, shards: int = 2, pages: int = 2
    ) -> None:
        super().__init__(count, rate, shards)
        self.pages = pages

    def columns(self, stream: int, name: str) -> dict[str, Any]:
        return {
            "stream": pa.array([name] * self.kept),
            "view_id": pa.array([f"{name}-{row}" for row in range(self.kept)]),
            "page": pa.array([f"page{stream % self.pages}"] * self.kept),
        }


class Updates(NumberedSource):
    """The updates of the pages of `Views`, of one page after the other: after `per_update` views of each stream all
    pages have had one.

    Args:
        count: updates in all. rate: updates a second.
        shards: streams of views.
        pages: how many.
        per_update: views of each stream from one update of a page to the next.
    """

    outputs: ClassVar = {"default": Update}

    def __init__(
        self,
        count: int | None = None,
        rate: float | None = None,
        shards: int = 2,
        pages: int = 2,
        per_update: int = 10_000,
    ) -> None:
        super().__init__(count, rate)
        self.pages, self.every = pages, shards * per_update

    def columns(self, first: int, last: int) -> dict[str, Any]:
        numbers = range(first, last)
        return {
            "ts": np.array([self.time(number) for number in numbers]),
            "page": [f"page{number % self.pages}" for number in numbers],
            "metadata": [f"zip {number}" for number in numbers],
        }

    def time(self, number: int) -> int:
        return (number + self.pages) * self.every // self.pages


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes page views and updates as csv.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--pages", type=int, default=5)
    parser.add_argument("--windows", type=int, default=20)
    parser.add_argument("--views", type=int, default=100, help="of each stream and window")
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
