"""Increments and read-resets of two keys, seeded, as they arrive at the four nodes of Example B.1.

    python -m apps.keyed_counters.generate FOLDER [--seconds 10] [--seed 1]

writes a csv file a node. Example B.1 gives the rates a second: node 0 takes 10 read-resets of key 2; node 1 15
read-resets and 100 increments of key 1; node 2 200 increments of key 1; node 3 300 increments of key 2.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import io
from pathlib import Path

import numpy as np

SECOND = 1_000
"""Times are milliseconds."""
RATES = (
    (("r", 2, 10),),
    (("r", 1, 15), ("i", 1, 100)),
    (("i", 1, 200),),
    (("i", 2, 300),),
)
"""By node: operation, key, events a second."""
COLUMNS = ("ts", "seq", "op", "key")

Row = tuple[int, int, str, int]


def nodes(seconds: int, seed: int) -> list[list[Row]]:
    """The rows of each node by time; `seq` counts all of them in the order of time."""
    rng = np.random.default_rng(seed)
    what = [(node, op, key) for node, each in enumerate(RATES) for op, key, rate in each for _ in range(rate)]
    events = [event for event in what for _ in range(seconds)]
    times = rng.choice(seconds * SECOND, len(events), replace=False)
    rows: list[list[Row]] = [[] for _ in RATES]
    for seq, at in enumerate(np.argsort(times).tolist()):
        node, op, key = events[at]
        rows[node].append((int(times[at]), seq, op, key))
    return rows


def write(folder: Path, seconds: int, seed: int) -> None:
    """The files; the same bytes for the same arguments."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, rows in enumerate(nodes(seconds, seed)):
        packed = io.BytesIO()
        with (
            gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as file,
            io.TextIOWrapper(file, newline="") as text,
        ):
            csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
        (folder / f"node{number}.csv.gz").write_bytes(packed.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description="Writes increments and read-resets as csv, a file a node.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    write(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
