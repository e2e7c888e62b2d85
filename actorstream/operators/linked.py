"""A chain of steps (operators/chain.py) that takes batches of one schema: what it is given of a batch, and what comes out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorstream.events.column import Column
from actorstream.native.chain import Chain, ChainRun, addresses, rooms
from actorstream.operators.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from actorstream.events.batch import Batch
    from actorstream.events.fields import Field
    from actorstream.events.schema import Schema
    from actorstream.native.chain import Memory
    from actorstream.native.pieces import Column as Descriptor


class Linked:
    """A chain for batches of one schema.

    Args:
        chain: its steps.
        schema, rows: of the rows that come out, and their set; no schema: the chain takes all rows in.
        given: names of the batch's fields that it is given.
        fields: name of each computed field of `schema` -> the field, and its number among the returned columns.
        renamed: name of each other field of `schema` -> the field of the batch that it is.
        index: the number of the row numbers among the returned columns; None: all rows come out.
        ends: the set of rows that each member leaves.
    """

    def __init__(
        self,
        chain: Chain,
        schema: Schema | None,
        rows: int,
        given: list[str],
        fields: dict[str, tuple[Field, int]],
        renamed: dict[str, str],
        index: int | None,
        ends: list[int],
    ) -> None:
        self._chain, self.schema, self._set = chain, schema, rows
        self._given, self._fields, self._renamed, self._index = given, fields, renamed, index
        self._ends = ends
        self._own: ChainRun | None = None
        """The memory of `run`."""
        self._took = [0] * chain.members

    def run(self, batch: Batch) -> tuple[Batch | None, list[int]] | None:
        """Runs the chain here and now. Returns the rows that come out, or None for none, and how many each member has left; None:
        a row has failed or is late, and nothing has changed. `took_ns` adds up the time of each member. ResourceError: there was
        no memory for the state that takes the rows in."""
        rows, chain, run = batch.rows, self._chain, self._own
        if run is None or run.most < rows:
            self._took = self.took_ns()
            run = self._own = chain.run_for(max(rows, 2 * run.most if run is not None else 0))
        memory = self._memory(rows)
        sizes = run.run(rows, self._described([batch.column(name) for name in self._given], memory))
        if sizes is None:
            return None
        return self._made(batch, memory, sizes[self._set]), [sizes[end] for end in self._ends]

    def took_ns(self) -> list[int]:
        """The time of each member in `run` since the last call of this."""
        found, self._took = self._took, [0] * self._chain.members
        if self._own is None:
            return found
        return [one + other for one, other in zip(found, self._own.took_ns(forget=True))]

    def prepare(self, batch: Batch, count: Callable[[list[int], list[int]], None]) -> Prepared:
        """The chain as a job. Its `finish` returns the rows that come out, or None for none, after it has called `count`
        with the rows that have come to each member and those that came out in the end, and with the time of each."""
        chain, rows = self._chain, batch.rows
        run = chain.run_for(rows)
        columns = [batch.column(name) for name in self._given]
        memory = self._memory(rows)
        run.prepare(rows, self._described(columns, memory))

        def finished() -> Batch | None:
            sizes, took = run.sizes(), run.took_ns()
            columns.clear()
            chain.give_back(run)
            made = self._made(batch, memory, sizes[self._set])
            count([rows, *(sizes[end] for end in self._ends)], took)
            return made

        return Prepared(run.job, finished)

    def _memory(self, rows: int) -> list[Memory]:
        """Memory for the returned columns."""
        return [rooms(rows, room) for room in self._chain.returned]

    def _described(self, given: Sequence[Column], memory: Sequence[Memory]) -> list[Descriptor]:
        """Descriptors of the columns given and returned."""
        found = [column.descriptor for column in given]
        for room, each in zip(self._chain.returned, memory):
            found.append((room.width, 0, 0, *addresses(each, room)))
        return found

    def _made(self, batch: Batch, memory: list[Any], rows: int) -> Batch | None:
        if not rows or self.schema is None:
            return None
        source = batch
        if self._index is not None and rows < batch.rows:
            source = batch.selection(memory[self._index][0].view("u4")[:rows])
        if not self._fields and not self._renamed and self.schema is batch.schema:
            return source
        columns: list[Column | None] = [None] * len(self.schema.fields)
        for name, (field, number) in self._fields.items():
            data, bits = memory[number]
            values = data.view(field.dtype)[:rows]
            values.setflags(write=False)
            columns[self.schema.index(name)] = Column(field, rows, bits, values, None)
        for name, own in self._renamed.items():
            at = self.schema.index(name)
            columns[at] = batch.column(own).renamed(self.schema.fields[at])
        return source.with_made(self.schema, columns)
