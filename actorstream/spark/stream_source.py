"""spark-stream-source: the rows that `writeStream.format("actorstream")` puts into a folder, batch by batch. Needs neither Spark
nor Java."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from actorstream.actors.contract import Contract
from actorstream.connectors.rows import batch_of, leave_out_misfits
from actorstream.connectors.source import ONLY, Source
from actorstream.connectors.source_keys import SourceKeys
from actorstream.errors import ConfigurationError, Problem
from actorstream.topology.suggestions import listed

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

LOOK_S = 0.01
"""Between two looks for the next batch."""


def batch_folder(path: Path, number: int) -> Path:
    """The folder of a batch of the query, which appears when it is whole."""
    return path / f"batch-{number:012d}"


class SparkStreamSource(Source):
    """Reads the batches of a streaming query in their order, and waits for more; it has no end. A checkpoint keeps the batch
    and the row, so `--resume` goes on there.

    Args:
        path: the folder that the query writes into.
        event, schema: the fields; one of the two is needed.
        count: rows in all, after which it has ended; rows that do not parse count too.
    """

    contract: ClassVar[Contract] = Contract(endless=True)

    def __init__(self, path: Path, **keys: Unpack[SourceKeys]) -> None:
        super().__init__(**keys)
        self.path = Path(path)
        self._number = self._row = self._rows = self._given = 0
        """The batch, how many of its rows were read, of all batches, and how many of these parsed."""
        self._latest: int | None = None
        self._pieces: Any = None

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return replace(cls.contract, endless=keys.get("count") is None)

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = super().check(keys, inputs, base)
        if keys.get("event") is None and not keys.get("schema"):
            problems.append(Problem("schema", "is missing", "the fields and their types, or `event`"))
        if keys.get("repeat", 1) != 1:
            why = "the batches of a query come once"
            problems.append(Problem("repeat", f"is {keys['repeat']}", "1", why))
        return problems

    async def read(self, max_rows: int) -> Batch | None:  # type: ignore[override]
        if not self._opened:
            return None
        most = max_rows if self.count is None else min(max_rows, self.count - self._rows)
        if most <= 0:
            return None
        while (rows := self._next(most)) is None:
            if not batch_folder(self.path, self._number).is_dir():
                await asyncio.sleep(LOOK_S)
        schema = self.row_schema()
        batch, misfits = batch_of(schema, {name: rows.column(name) for name in schema.names()})
        leave_out_misfits(self, rows, misfits, self._row, str(batch_folder(self.path, self._number)))
        self.row = self._given
        self._given += batch.rows
        self._row += rows.num_rows
        self._rows += rows.num_rows
        times = batch.time_range() if schema.event_time is not None else None
        if times is not None:
            self._latest = times[1] if self._latest is None else max(times[1], self._latest)
        return batch

    def position(self) -> dict[str, int]:
        return {ONLY: self._row, "batch": self._number, "rows": self._rows, "given": self._given}

    def seek(self, positions: dict[str, int]) -> None:
        self._number, self._row, self._pieces = positions.get("batch", 0), positions.get(ONLY, 0), None
        self._rows, self._given = positions.get("rows", 0), positions.get("given", 0)

    def kept_position(self) -> Mapping[str, Any]:
        if self._event_rows.held is not None:  # what `read` has returned is not sent yet
            return self._event_rows.held
        return {"positions": self.position(), "latest": self._latest}

    def take_back(self, kept: Mapping[str, Any]) -> None:
        self.seek(kept["positions"])
        self._latest = kept["latest"]

    def lower_bound(self, now_ns: int) -> int | None:
        """The greatest event time so far less `max_out_of_orderness`."""
        schema = self.row_schema()
        if self._latest is None:
            return None
        return self._latest - schema.time_units_in(self.max_out_of_orderness or timedelta(0))

    def on_stop(self) -> Any:
        self._pieces = None

    # -- inside -------------------------------------------------------------------------------------------

    def _next(self, most: int) -> Any:
        """The next rows of the batch that is read; None: there are none yet, or the batch has ended."""
        if self._pieces is None:
            if not batch_folder(self.path, self._number).is_dir():
                return None
            self._pieces = self._rows_of(self._number, self._row)
        for piece in islice(self._pieces, 1):
            if piece.num_rows > most:
                self._pieces = _sliced(piece, most, self._pieces)
                return next(self._pieces)
            return piece
        self._number, self._row, self._pieces = self._number + 1, 0, None
        return None

    def _rows_of(self, number: int, first: int) -> Any:
        import pyarrow.parquet as pq

        names = list(self.row_schema().names())
        for path in sorted(batch_folder(self.path, number).glob("*.parquet")):
            with pq.ParquetFile(path) as file:
                there = file.schema_arrow.names
                if missing := [name for name in names if name not in there]:
                    raise ConfigurationError(
                        Problem(missing[0], f"is no column of {str(path)!r}", listed(there))
                    )
                for piece in file.iter_batches(columns=names):
                    if first < piece.num_rows:
                        yield piece.slice(first)
                    first = max(0, first - piece.num_rows)


def _sliced(piece: Any, most: int, rest: Any) -> Any:
    for start in range(0, piece.num_rows, most):
        yield piece.slice(start, most)
    yield from rest
