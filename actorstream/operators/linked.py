"""A chain whose rows come out, as a job: what it is given of a batch, and the batch that is made of what it has computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.events.column import Column
from actorstream.native.chain import addresses, rooms
from actorstream.operators.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.events.batch import Batch
    from actorstream.events.fields import Field
    from actorstream.events.schema import Schema
    from actorstream.native.chain import Chain


class Linked:
    """A chain for batches of one schema.

    Args:
        chain: its steps.
        schema, number: of the rows that come out, and of their set.
        given: the batch's fields that it is given.
        fields: of what comes out: (field, number among the answered columns) of each that is computed.
        renamed: of what comes out: which of the batch's fields it is.
        index: number among the answered columns of the row numbers; None: all rows come out.
        ends: the set that each member leaves.
    """

    def __init__(
        self,
        chain: Chain,
        schema: Schema,
        number: int,
        given: list[str],
        fields: dict[str, tuple[Field, int]],
        renamed: dict[str, str],
        index: int | None,
        ends: list[int],
    ) -> None:
        self._chain, self.schema, self._set = chain, schema, number
        self._given, self._fields, self._renamed, self._index = given, fields, renamed, index
        self._ends = ends

    def prepare(self, batch: Batch, count: Callable[[list[int], list[int]], None]) -> Prepared:
        """The chain as a job. Its `finish` answers the rows that come out, or None for none, after it has called `count`
        with the rows that have come to each member and those that came out in the end, and with the time of each."""
        chain, rows = self._chain, batch.rows
        run = chain.run_for(rows)
        columns = [batch.column(name) for name in self._given]
        memory = [rooms(rows, room) for room in chain.answered]
        described = [column.descriptor for column in columns]
        described += [
            (room.width, 0, 0, *addresses(each, room)) for room, each in zip(chain.answered, memory)
        ]
        run.prepare(rows, described)

        def finished() -> Batch | None:
            sizes, took = run.sizes(), run.took_ns()
            columns.clear()
            chain.give_back(run)
            made = self._made(batch, memory, sizes[self._set])
            count([rows, *(sizes[end] for end in self._ends)], took)
            return made

        return Prepared(run.job, finished)

    def _made(self, batch: Batch, memory: list[Any], rows: int) -> Batch | None:
        if not rows:
            return None
        source = batch
        if self._index is not None and rows < batch.rows:
            source = batch.selection(memory[self._index][0].view("u4")[:rows])
        if not self._fields and not self._renamed and self.schema is batch.schema:
            return source
        columns: dict[str, Any] = {}
        for name, (field, number) in self._fields.items():
            data, bits = memory[number]
            values = data.view(field.dtype)[:rows]
            values.setflags(write=False)
            columns[name] = Column(field, rows, bits, values, None)
        for name, own in self._renamed.items():
            columns[name] = batch.column(own).renamed(self.schema.field(name))
        return source.with_columns(event=self.schema, **columns)
