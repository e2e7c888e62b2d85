"""Columns as a ScaleGate sees them: where those of a batch lie, room for those of a new one. Of fixed width."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from actorstream.events.batch import Batch
from actorstream.events.column import Column
from actorstream.events.jumbo import encode, layout_of
from actorstream.native.address import address_of

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

ALIGNMENT = 64


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
