"""Rows of several lanes as one batch, put together segment by segment as they become ready, all columns in one C call.

For rows of fixed width. Decides nothing about order, and knows neither channels nor promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.jumbo import encode, layout_of
from actorstream.native.address import address_of
from actorstream.native.merge import Pour

if TYPE_CHECKING:
    from actorstream.events.schema import Schema
    from actorstream.native.merge import Merge, Tags

ALIGNMENT = 64
SPARSE = 4
"""A batch that has less than this share of the rows there was room for gets memory of its own."""


class MergedRows:
    """One batch in the making.

    Args:
        merge: says how far its lanes are.
        schema: of the rows on their way: the user's fields and the system columns to keep, all of fixed width.
        lanes: how many.
    """

    def __init__(self, merge: Merge, schema: Schema) -> None:
        self.schema = schema
        self.rows = 0
        """That were put since `begin`, or `take`."""
        self._pour = Pour(merge, [field.width for field in schema.fields])
        self._widths = np.array([field.width for field in schema.fields], np.uint64)
        self._sources: list[Batch | None] = [None] * merge.lanes
        self._columns: list[np.ndarray] = []
        self._room = 0
        self._begun: list[tuple[int, int, int]] = []
        """Entry times of what was drawn since `begin`."""

    def begin(self, room: int) -> None:
        """A new batch of at most `room` rows."""
        self.rows, self._room = 0, room
        self._begun.clear()
        self._columns, addresses = columns_for(self.schema, room)
        self._pour.begin(addresses)

    def draw(self, lane: int, batch: Batch) -> None:
        """The rows of `lane` that are put next are of this batch, whose first row was the lane's first in the merge."""
        self._begun.append((batch.entry_min, batch.entry_max, batch.began))
        if self._sources[lane] is not batch:
            self._sources[lane] = batch
            self._pour.draw(lane, addresses_of(batch, self.schema, self._widths))

    def release(self, lane: int) -> None:
        """All rows of the batch that was drawn from `lane` have gone."""
        self._sources[lane] = None

    def put(self, tags: Tags) -> None:
        """The rows that the merge has just tagged."""
        self._pour.put(tags)
        self.rows += len(tags)

    def take(self) -> Batch:
        """The batch; those that it was put together from are needed no more."""
        schema, rows = self.schema, self.rows
        sparse = rows * SPARSE < self._room
        batch = batch_of(schema, [each[:rows].copy() if sparse else each[:rows] for each in self._columns])
        least, greatest, began = zip(*self._begun)
        batch.entry_min = min(filter(None, least), default=0)
        batch.entry_max = max(greatest)
        batch.began = min(filter(None, began), default=0)
        self._columns, self.rows = [], 0
        return batch


def columns_for(schema: Schema, rows: int) -> tuple[list[np.ndarray], list[int]]:
    """Room for the columns of so many rows, in one piece of memory, and their addresses."""
    places, at = [], 0
    for field in schema.fields:
        places.append(at)
        at += -(-rows * field.width // ALIGNMENT) * ALIGNMENT
    memory = np.empty(at, np.uint8)
    columns = [
        memory[place : place + rows * field.width].view(field.dtype)  # type: ignore[arg-type]
        for place, field in zip(places, schema.fields)
    ]
    base = address_of(memory)
    return columns, [base + place for place in places]


def batch_of(schema: Schema, columns: list[np.ndarray]) -> Batch:
    """A batch of columns that nobody changes any more: the user's fields, then the system columns."""
    rows = len(columns[0])
    made: list[Column | None] = []
    for field, data in zip(schema.fields, columns):
        data.setflags(write=False)
        made.append(Column(field, rows, None, data, None))
    user = schema.user
    count = len(user.fields)
    batch = Batch(user, rows, made[:count])
    batch._system = dict(zip(schema.system, made[count:]))  # type: ignore[arg-type]
    return batch


def addresses_of(batch: Batch, schema: Schema, widths: np.ndarray) -> list[int] | np.ndarray:
    """Where the first value of each column of a schema lies in a batch that has them, which keeps them. widths: uint64."""
    jumbo, wire = batch._jumbo, batch._frame_schema
    if jumbo is not None and wire is not None and wire.fingerprint == schema.fingerprint and jumbo.trusted:
        found = np.array(layout_of(wire).offsets(jumbo.rows)[0], np.uint64)
        found += widths * np.uint64(batch._first)
        found += np.uint64(jumbo.address)
        return found
    count = len(schema.user.fields)
    own = [address_of(batch.column(field.name).data) for field in schema.user.fields]
    return own + [address_of(batch.system[field.name].data) for field in schema.fields[count:]]


def packed(batch: Batch, schema: Schema) -> Batch:
    """A selection gathered once, all columns together; what is none as it is. SchemaError: a system column is missing."""
    if not batch.is_selection:
        return batch
    made = Batch.from_jumbo(schema, encode((batch,), None, schema))
    made.entry_min, made.entry_max, made.began = batch.entry_min, batch.entry_max, batch.began
    return made
