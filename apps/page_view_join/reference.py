"""The same, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.page_view_join.reference joined|replaced VIEWS UPDATES

prints a result file of topology.toml.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

JOINED = ("view_id", "ts", "page", "metadata")
REPLACED = ("ts", "page", "old_metadata", "new_metadata")

Row = dict[str, str]
Out = tuple[Any, ...]


def read(path: Path) -> Iterator[Row]:
    """The rows of a csv file; .gz is decompressed."""
    opened: Any = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", newline="") as file:
        yield from csv.DictReader(file)


def join(views: Iterable[Row], updates: Iterable[Row]) -> tuple[list[Out], list[Out]]:
    """The rows of `joined` and of `replaced`, each by time; an update goes before the views of its time."""
    events = [(int(row["ts"]), 0, row) for row in updates]
    events += [(int(row["ts"]), 1, row) for row in views]
    metadata: dict[str, str | None] = {}
    joined: list[Out] = []
    replaced: list[Out] = []
    for ts, kind, row in sorted(events, key=lambda event: event[:2]):
        page = row["page"]
        if kind:
            joined.append((row["view_id"], ts, page, metadata.get(page)))
        else:
            replaced.append((ts, page, metadata.get(page), row["metadata"] or None))
            metadata[page] = row["metadata"] or None
    return joined, replaced


def main() -> None:
    parser = argparse.ArgumentParser(description="Prints a result file of topology.toml.")
    parser.add_argument("result", choices=("joined", "replaced"))
    parser.add_argument("views", type=Path)
    parser.add_argument("updates", type=Path)
    given = parser.parse_args()
    joined, replaced = join(read(given.views), read(given.updates))
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if given.result == "joined":
        writer.writerows([JOINED, *joined])
    else:
        writer.writerows([REPLACED, *replaced])


if __name__ == "__main__":
    main()
