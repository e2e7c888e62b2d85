"""Inputs: the columns of a batch that an aggregation reads, as operands for native code; gathers nothing that is only
selected, and computes expressions on whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.native.address import address_of
from actorstream.native.operands import MISSING, Operands
from actorstream.operators.aggregation.outputs import how_of
from actorstream.operators.expressions import Expression, Projection

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

TIME = "_time"
WATERMARK = "_watermark"


class Inputs:
    """Operands of batches of one schema: the event time (`timed`), `orders` times the same, keys, values."""

    def __init__(
        self, schema: Schema, keys: Sequence[str], values: Sequence[Expression], *, timed: bool, orders: int
    ) -> None:
        self.timed = timed
        self._time = schema.event_time
        self._orders = orders if timed else 0
        self._keys = [(name, how_of(schema.field(name))) for name in keys]
        self._values: list[tuple[str | None, int]] = []
        made = {}
        for number, value in enumerate(values):
            name = value.fields[0] if value.is_field else None
            self._values.append((name, how_of(value.type)))
            if name is None:
                made[str(number)] = value
        self._made = Projection(made) if made else None
        self.operands = Operands(1 + orders + len(keys) + len(values))
        self._kept: list[Any] = []

    def fill(self, batch: Batch) -> Operands:
        """The operands of a batch, good until the next one is filled. RowErrors: a value cannot be computed."""
        made = iter(()) if self._made is None else iter(self._made.evaluate(batch))
        flat: list[int] = []
        kept = self._kept = []
        if self.timed:
            if self._time is not None:
                column, index = batch.ungathered(self._time)
            else:
                column, index = batch.system[TIME], None
            kept += (column, index)
            time = (*column.descriptor, 0 if index is None else address_of(index), how_of(column.field), 0)
            flat += time * (1 + self._orders)
        else:
            flat += MISSING
        for name, how in self._keys:
            column, index = batch.ungathered(name)
            kept += (column, index)
            flat += (*column.descriptor, 0 if index is None else address_of(index), how, 0)
        for value, how in self._values:
            if value is None:
                column, index = next(made), None
            else:
                column, index = batch.ungathered(value)
            kept += (column, index)
            flat += (*column.descriptor, 0 if index is None else address_of(index), how, 0)
        self.operands.fill_flat(flat)
        return self.operands


def times_of(batch: Batch) -> np.ndarray:
    """The event times of a batch that has them, as int64."""
    times = batch.event_times()
    assert times is not None
    return times if times.dtype == np.int64 else times.astype(np.int64)


def key_operands(batch: Batch) -> Operands:
    """All columns of a batch of keys as operands; keep the batch."""
    operands = Operands(len(batch.schema.fields))
    operands.fill(
        [(batch.column(field.name).descriptor, None, how_of(field)) for field in batch.schema.fields]
    )
    return operands
