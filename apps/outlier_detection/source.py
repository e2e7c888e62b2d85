"""The source of connections: csv without a header, whose rows are numbered."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from actorstream import Source
from apps.outlier_detection.events import CATEGORICAL, Connection

FIELDS = Connection.__struct_fields__[1:]
"""Of a row of the file."""
TYPES: list[Any] = [
    int if name == "ts_ms" else str if name in {*CATEGORICAL, "label"} else float for name in FIELDS
]


class Connections(Source):
    """The rows of a csv file: ts_ms, the 41 features of KDD Cup 99, the label; .gz is decompressed.

    Args:
        path: the file.
        count: rows in all. repeat: how often it is read. rate: rows a second; as fast as can be unless set.
    """

    def __init__(
        self, path: Path, count: int | None = None, repeat: int = 1, rate: float | None = None
    ) -> None:
        super().__init__(count=count, repeat=repeat, rate=rate)
        self.path = path

    def events(self) -> Iterator[Connection]:
        opened: Any = gzip.open if self.path.suffix == ".gz" else open
        with opened(self.path, "rt", newline="") as file:
            for number, row in enumerate(csv.reader(file)):
                if len(row) != len(FIELDS):
                    raise ValueError(
                        f"{self.path}, row {number}: {len(row)} fields; allowed: {len(FIELDS)}, without a header"
                    )
                yield Connection(number, *(type(value) for type, value in zip(TYPES, row)))
