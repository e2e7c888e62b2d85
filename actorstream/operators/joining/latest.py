"""Latest: the last row of each key of a stream that is ordered in time, in levels that double in size.

Rows come in at the smallest level; levels of like size become one, which keeps the last row of each key. So what is
kept grows with the keys, a row is copied O(log keys) times, and looking up asks O(log keys) tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.fields import Field, Kind
from actorstream.events.jumbo import decode, from_bytes, to_bytes
from actorstream.native.lookup import NONE, Lookup, kinds
from actorstream.operators.joining.keys import how_of, key_table, table_hows

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

_ALL = Field("all", Kind.INT8)


def key_columns(rows: Batch, names: Sequence[str]) -> list[Column]:
    """The key columns of rows; without names one in which all rows are alike."""
    if names:
        return [rows.column(name) for name in names]
    return [Column(_ALL, rows.rows, None, np.zeros(rows.rows, np.int8), None)]


class KeyLookup:
    """The rows of each key, to be asked by columns of the same or comparable types."""

    def __init__(self, keys: list[Column], asked: Sequence[Field]) -> None:
        self._keys = keys  # kept: text is compared where it lies
        hows = table_hows([key.field for key in keys], asked)
        self.lookup = Lookup([key.descriptor for key in keys], hows, keys[0].length)

    def find(self, asked: list[Column]) -> np.ndarray:
        """The first row with the key of each row, uint32; NONE: there is none."""
        hows = kinds([how_of(column.field) for column in asked])
        return self.lookup.find(key_table(asked), hows, asked[0].length)


class Level(NamedTuple):
    """One row of each key: the last of those that came in while it was built."""

    rows: Batch
    times: np.ndarray
    keys: KeyLookup


class Latest:
    """The last row of each key.

    Args:
        schema: of the rows. keys: names of their key fields.
        asked: the fields that keys are asked by.
    """

    def __init__(self, schema: Schema, keys: Sequence[str], asked: Sequence[Field]) -> None:
        self.schema, self.keys = schema, list(keys)
        self.asked = list(asked) or [_ALL]
        self.levels: list[Level] = []
        """The newest last."""

    def add(self, rows: Batch, times: np.ndarray, oldest: int | None = None) -> None:
        """Takes rows that are ordered by time and not before any that came before; rows before `oldest` are of no use
        any more."""
        self.levels = [each for each in self.levels if oldest is None or int(each.times.max()) >= oldest]
        level = self._level([(rows, times)], oldest)
        while level is not None and self.levels and self.levels[-1].rows.rows < 2 * level.rows.rows:
            last = self.levels.pop()
            level = self._level([(last.rows, last.times), (level.rows, level.times)], oldest)
        if level is not None:
            self.levels.append(level)

    def find(self, asked: list[Column]) -> tuple[np.ndarray, np.ndarray]:
        """(level, row) of the last row with the key of each row: its number in `levels`, -1 for none, and uint32."""
        count = asked[0].length
        level = np.full(count, -1, np.int64)
        row = np.full(count, NONE, np.uint32)
        for number in reversed(range(len(self.levels))):
            found = self.levels[number].keys.find(asked)
            new = (level < 0) & (found != NONE)
            level[new] = number
            row[new] = found[new]
        return level, row

    @property
    def nbytes(self) -> int:
        return sum(each.rows.nbytes + each.times.nbytes + each.keys.lookup.nbytes for each in self.levels)

    def _level(self, parts: list[tuple[Batch, np.ndarray]], oldest: int | None) -> Level | None:
        rows = Batch.concat([part for part, _ in parts])
        times = np.concatenate([each for _, each in parts])
        keys = key_columns(rows, self.keys)
        back = np.arange(len(times), dtype=np.uint32)[::-1].copy()
        turned = [key.take(back) for key in keys]
        found = KeyLookup(turned, [key.field for key in turned]).find(turned)
        last = back[found == np.arange(len(times), dtype=np.uint32)][::-1]  # a null key finds nothing
        if oldest is not None:
            last = last[times[last] >= oldest]
        if len(last) == 0:
            return None
        kept = rows.take(np.ascontiguousarray(last)).compact()
        return Level(kept, times[last], KeyLookup(key_columns(kept, self.keys), self.asked))

    # -- snapshots

    def snapshot(self) -> list[Any]:
        return [{"rows": to_bytes(each.rows), "times": each.times.tobytes()} for each in self.levels]

    def restore(self, snapshot: list[Any]) -> None:
        self.levels = []
        for each in snapshot:
            rows = decode(self.schema, from_bytes(each["rows"]))
            keys = KeyLookup(key_columns(rows, self.keys), self.asked)
            self.levels.append(Level(rows, np.frombuffer(each["times"], np.int64), keys))
