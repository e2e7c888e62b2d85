"""Writable batches: columns that are written in place, in the memory they will be sent in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.errors import SchemaError
from actorstream.events.batch import Batch
from actorstream.events.column import check_values
from actorstream.events.jumbo import HeapBlock, JumboTuple, layout_of
from actorstream.events.schema import Schema

if TYPE_CHECKING:
    from actorstream.events.event import Event
    from actorstream.native.arena import Arena


class WritableBatch(Batch):
    """A batch of fixed-width fields whose arrays may be written until it is sealed, which emitting does.

    ``batch["price"][:] = ...`` writes into the arena; the values are undefined before. Do not write through arrays that
    were made from the columns (`batch["price"][10:]`) after the batch was emitted: others read it then.
    """

    _open: dict[str, np.ndarray] | None = None
    _pooled: bool = False
    """The arrays belong to a pool, which lends them again when this batch is gone."""

    def __getitem__(self, name: str) -> Any:
        open_columns = self._open
        if open_columns is None:
            return self.column(name).view()
        try:
            return open_columns[name]
        except KeyError:
            self.schema.index(name)
            raise

    def arrays(self) -> list[np.ndarray]:
        """The arrays of all fields, in the schema's order; writable until the batch is sealed."""
        if self._open is None:
            return [self.column(field.name).numpy() for field in self.schema.fields]
        return list(self._open.values())

    def seal(self, rows: int | None = None) -> Batch:
        """Makes the arrays read-only; returns the batch of the first `rows` rows (all of them unless given).

        SchemaError: a code that is no category, or a time outside the years of a datetime, is in one of these rows; in
        place of it OperatorError if an actor has allocated the batch."""
        if self._open is not None:
            self._close(self.rows if rows is None else rows)
        return self if rows is None else self.slice(0, rows)

    def sealed(self, *, checked: bool = True) -> Batch:
        if self._open is not None:
            self._close(self.rows if checked else 0)
        return self

    def _close(self, rows: int) -> None:
        """Makes the arrays read-only once the values of the first `rows` rows are checked; the others may be undefined."""
        assert self._open is not None
        if self.schema.restricted:
            try:
                for field in self.schema.restricted:
                    check_values(field, self._open[field.name][:rows])
            except SchemaError as error:
                if self._unfit is None:
                    raise
                raise self._unfit(error) from error
        if not self._pooled:
            for array in self._open.values():
                array.setflags(write=False)
        self._open = None


def allocate(
    schema: Schema | type[Event], rows: int, arena: Arena | None = None, plan: int = 0
) -> WritableBatch:
    """A batch of `rows` rows with undefined values, laid out as a jumbo tuple in `arena` (None: on the heap).

    SchemaError if a field has no fixed width or may be null. ResourceError if the arena is full.
    """
    schema = Schema.of(schema)
    if not schema.fixed:
        field = next(field for field in schema.fields if not field.plain)
        raise SchemaError(
            f"rows of {schema.name} cannot be written in place: field {field}; allowed: fixed-width fields without "
            "nulls (build other batches with Batch.of)"
        )
    if rows < 0:
        raise ValueError(f"allocate: {rows} rows; allowed: 0 or more")
    total, head, dtypes, columns = layout_of(schema).prepared(rows, plan)
    block: Any = HeapBlock.allocate(total) if arena is None else arena.allocate(total)
    root = block.view()
    root[: len(head)] = head
    user = schema.user
    jumbo = JumboTuple(block, rows, size=total)
    batch = WritableBatch(user, rows, [None] * len(user.fields), None, jumbo, schema)
    usable = root[:total]
    typed = [usable.view(dtype) for dtype in dtypes]
    batch._open = {name: typed[kind][place] for name, kind, place in columns}
    return batch
