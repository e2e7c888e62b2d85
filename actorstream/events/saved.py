"""Saved rows: a batch with its system columns as plain values for a checkpoint, and back. Entry times are not kept: they
are of a clock that another run does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from actorstream.events.batch import Batch
from actorstream.events.jumbo import decode, from_bytes, to_bytes

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

SavedRows = tuple[Sequence[str], bytes]
"""Names of the system columns, and the bytes of one jumbo tuple."""


def save_rows(batch: Batch) -> SavedRows:
    """The rows as plain values."""
    system = tuple(batch.system)
    return system, to_bytes(batch, batch.schema.with_system(system))


def saved_rows(schema: Schema, saved: SavedRows) -> Batch:
    """The rows that `save_rows` saved. schema: theirs, without system columns.

    Raises:
        BrokenError: they are of another schema."""
    system, data = saved
    return decode(schema.user.with_system(tuple(system)), from_bytes(data))
