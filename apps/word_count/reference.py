"""Word count, sequentially and without the engine: what every parallel run is compared with.

    python -m apps.word_count.reference FILE [--running]

prints the result file of topology.toml (sorted by word), or of running.toml (in input order).
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from apps.word_count.words import words


def read_lines(path: Path) -> Iterator[str]:
    """The lines of a text file; .gz is decompressed."""
    reader: Any = gzip.open if path.suffix == ".gz" else open
    with reader(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield line.rstrip("\n")


def running_counts(path: Path) -> Iterator[tuple[str, int]]:
    """A (word, count so far) for every word, in input order."""
    counts: dict[str, int] = {}
    for line in read_lines(path):
        for word in words(line):
            counts[word] = counts.get(word, 0) + 1
            yield word, counts[word]


def final_counts(path: Path) -> dict[str, int]:
    """word -> occurrences."""
    return dict(running_counts(path))


def main(arguments: list[str]) -> None:
    path = Path(arguments[0])
    rows = running_counts(path) if "--running" in arguments else sorted(final_counts(path).items())
    print("word,count")
    for word, count in rows:
        print(f"{word},{count}")


if __name__ == "__main__":
    main(sys.argv[1:])
