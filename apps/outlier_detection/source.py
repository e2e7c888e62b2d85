"""The source of connections: csv without a header, whose rows are numbered."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from actorstream import Source
from apps.outlier_detection.events import CATEGORICAL, Connection

TYPES: list[Any] = [
    str if name in {*CATEGORICAL, "label"} else float for name in Connection.__struct_fields__[2:]
]
"""Of the fields of a row behind its time."""
STEP = 1000
"""Milliseconds from the last row of the file to its first one again."""


class Connections(Source):
    """The rows of a csv file: ts_ms, the 41 features of KDD Cup 99, the label; .gz is decompressed.

    Args:
        path: the file.
        count: rows in all. rate: rows a second; as fast as can be unless set.
        repeat: how often the file is read, 0: without end. Rows are numbered on, and times go on where they ended.
    """

    def __init__(
        self, path: Path, count: int | None = None, repeat: int = 1, rate: float | None = None
    ) -> None:
        super().__init__(count=count, rate=rate)
        self.path, self.passes = path, repeat

    def events(self) -> Iterator[Connection]:
        number = shift = began = at = 0
        for _ in range(self.passes) if self.passes else count():
            first = number
            for row in self._rows():
                at = int(row[0]) + shift
                yield Connection(number, at, *(type(value) for type, value in zip(TYPES, row[1:])))
                began = at if number == first else began
                number += 1
            if number == first:
                return
            shift += at - began + STEP

    def _rows(self) -> Iterator[list[str]]:
        opened: Any = gzip.open if self.path.suffix == ".gz" else open
        with opened(self.path, "rt", newline="") as file:
            for number, row in enumerate(csv.reader(file)):
                if len(row) != len(TYPES) + 1:
                    raise ValueError(
                        f"{self.path}, row {number}: {len(row)} fields; allowed: {len(TYPES) + 1}, without a header"
                    )
                yield row
