"""Inputs: the columns of a batch that an aggregation reads, as operands for native code; gathers nothing that is only
selected, and computes expressions on whole columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from actorstream.native.address import address_of
from actorstream.native.kernels import SIGNED
from actorstream.native.operands import MISSING, Operands
from actorstream.operators.aggregation.outputs import how_of
from actorstream.operators.chain import LinkedColumn, LinkedRows, Linking, UnlinkedError, renamed
from actorstream.operators.expressions import Expression, Projection

if TYPE_CHECKING:
    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

TIME = "_time"


class AggregateInputs:
    """Operands of batches of one schema: the event time (`timed`), `orders` times the same, keys, values."""

    def __init__(
        self, schema: Schema, keys: Sequence[str], values: Sequence[Expression], *, timed: bool, orders: int
    ) -> None:
        #: Fields that are read, how, and how many operands they are; None: a value that is computed.
        self._fields: list[tuple[str | None, int, int]] = []
        self._by_descent = timed and schema.event_time is None
        self._before: tuple[int, ...] = () if timed else MISSING
        self._times = 1 + orders
        if timed and schema.event_time is not None:
            how = how_of(schema.field(schema.event_time))
            self._fields.append((schema.event_time, how, self._times))
        self._fields += [(name, how_of(schema.field(name)), 1) for name in keys]
        made = {}
        for number, value in enumerate(values):
            name = value.fields[0] if value.is_field else None
            self._fields.append((name, how_of(value.type), 1))
            if name is None:
                made[str(number)] = value
        self._made = Projection(made) if made else None
        self.operands = Operands(1 + orders + len(keys) + len(values))
        self._kept: list[Any] = []

    def fill(self, batch: Batch) -> Operands:
        """The operands of a batch, good until the next one is filled. RowErrors: a value cannot be computed."""
        made = None if self._made is None else iter(self._made.evaluate(batch))
        kept: list[Any] = []
        flat = [*self._before]
        if self._by_descent:
            column = batch.system[TIME]
            kept.append(column)
            flat += (*column.descriptor, 0, SIGNED, 0) * self._times
        ungathered, rows = batch.ungathered, batch.rows
        for name, how, copies in self._fields:
            if name is not None:
                column, index = ungathered(name)
            else:
                assert made is not None
                column, index = next(made), None
            if index is None:
                kept.append(column)
                own = (*column.descriptor, 0, how, 0)
            else:
                kept += (column, index)
                few = column.length if column.length < rows else 0
                own = (*column.descriptor, address_of(index), how, few)
            flat += own if copies == 1 else own * copies
        self.operands.fill_flat(flat)
        self._kept = kept
        return self.operands

    def link(self, chain: Linking, rows: LinkedRows) -> list[tuple[LinkedColumn | None, int]]:
        """The operands of linked rows, and how each is read. UnlinkedError: they need what is no column of these."""
        if self._by_descent:
            raise UnlinkedError
        made = None if self._made is None else iter(self._made.link(chain, rows))
        found: list[tuple[LinkedColumn | None, int]] = [(None, 0)] if self._before else []
        for name, how, copies in self._fields:
            if name is None:
                assert made is not None
                held = next(made)
            else:
                held = rows.columns[name]
                renamed(held.field, rows.schema.field(name))
            found += [(held, how)] * copies
        return found


def key_operands(batch: Batch) -> Operands:
    """All columns of a batch of keys as operands; keep the batch."""
    operands = Operands(len(batch.schema.fields))
    operands.fill(
        [(batch.column(field.name).descriptor, None, how_of(field)) for field in batch.schema.fields]
    )
    return operands
