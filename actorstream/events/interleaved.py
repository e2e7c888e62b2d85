"""Rows of several batches in an order that was decided elsewhere. A column is put together when somebody asks for it; what
nobody asks for costs nothing (docs/architecture.md: selections are gathered at the latest moment)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from actorstream.events.batch import Batch, carry_together, system_columns
from actorstream.events.column import Column
from actorstream.native.merge import Gather, Tags

if TYPE_CHECKING:
    from actorstream.events.schema import Schema

Part = tuple[Batch, int]
"""A batch, and the first of its rows that are meant."""


class Interleaving(NamedTuple):
    """Rows in order: for each tag the next row of the part that it names. All interleavings of a batch have as many parts."""

    tags: Tags
    parts: Sequence[Part | None]


class InterleavedBatch(Batch):
    """A batch of the rows of other batches. Made by `interleaved`."""

    gathers: ClassVar[bool] = True
    _tags: Any = None
    _ends: Any = None
    """Where each interleaving ends among the tags, uint64."""
    _parts: Sequence[Part | None] = ()
    """Those of the first interleaving, then those of the next."""
    _wanted: Sequence[str] = ()
    _carried: list[str] | None = None
    _numbers: Any = None
    _batches: list[Batch] | None = None
    _gather: Any = None
    """Made when somebody asks for a column."""

    def _load(self, position: int) -> Column:
        name = self.schema.fields[position].name
        return self._put_together([batch.column(name) for batch in self._sources()])

    def _find_system(self) -> dict[str, Column]:
        batches = self._sources()
        return {name: self._put_together(system_columns(batches, name)) for name in self.carried()}

    def _sources(self) -> list[Batch]:
        """The batches of the parts, each once."""
        if self._batches is None:
            numbers: dict[int, int] = {}
            self._batches = []
            which, firsts = [-1] * len(self._parts), [0] * len(self._parts)
            for at, part in enumerate(self._parts):
                if part is not None:
                    which[at] = numbers.setdefault(id(part[0]), len(self._batches))
                    firsts[at] = part[1]
                    if which[at] == len(self._batches):
                        self._batches.append(part[0])
            self._gather = Gather(self._tags, np.array(which), np.array(firsts), self._ends)
        return self._batches

    def _put_together(self, columns: list[Column]) -> Column:
        """columns: of `_sources`."""
        field = columns[0].field
        if not field.plain:
            return Column.concat(columns).take(self._row_numbers())
        made = self._gather.column([column.data for column in columns])
        made.setflags(write=False)
        return Column(field, self.rows, None, made, None)

    def _row_numbers(self) -> np.ndarray:
        """Of each row in `_sources` laid end to end."""
        if self._numbers is None:
            numbers, first = [], 0
            for batch in self._sources():
                numbers.append(np.arange(first, first + batch.rows, dtype=np.uint32))
                first += batch.rows
            self._numbers = self._gather.column(numbers)
        return self._numbers  # type: ignore[no-any-return]

    def carried(self) -> Collection[str]:
        if self._system is not None:
            return self._system
        if self._carried is None:
            self._carried = [name for name in self._wanted if carry_together(self._sources(), name)]
        return self._carried

    @property
    def nbytes(self) -> int:
        batches = self._sources()
        return (
            self.rows * sum(batch.nbytes for batch in batches) // max(sum(batch.rows for batch in batches), 1)
        )


def interleaved(schema: Schema, interleavings: Sequence[Interleaving], *, as_events: bool = False) -> Batch:
    """The rows of interleavings as one batch, whose entry times are those of all parts.

    schema: of all parts, with the system columns to keep, as far as all parts have them. as_events: whoever gets the batch
    asks it for events."""
    tags = [each.tags for each in interleavings]
    parts = [part for each in interleavings for part in each.parts]
    given = [part for part in parts if part is not None]
    user = schema.user
    made = InterleavedBatch(user, sum(map(len, tags)), [None] * len(user.fields))
    made._tags = tags[0] if len(tags) == 1 else np.concatenate(tags)
    made._ends = np.fromiter(accumulate(map(len, tags)), np.uint64, len(tags))
    made._parts, made._wanted = parts, schema.system
    if as_events and all(part[0].has_events for part in given):
        made._events = [event for each in interleavings for event in _events(each)]
    for batch, _ in given:
        if batch.entry_min and (not made.entry_min or batch.entry_min < made.entry_min):
            made.entry_min = batch.entry_min
        if batch.entry_max > made.entry_max:
            made.entry_max = batch.entry_max
        if batch.began and (not made.began or batch.began < made.began):
            made.began = batch.began
    return made


def runs(
    schemas: Mapping[int, Schema],
    interleaving: Interleaving,
    kinds: Sequence[int],
    *,
    as_events: bool = False,
) -> Iterator[tuple[Batch, int]]:
    """The rows of an interleaving whose parts are of different kinds (inputs, say), as runs of rows of one kind.

    schemas: of each kind, see `interleaved`. kinds: of each part. Yields batches, each with the number of a part of its
    kind."""
    tags, parts = interleaving
    if min(kinds) == max(kinds):
        yield interleaved(schemas[kinds[0]], [interleaving], as_events=as_events), int(tags[0])
        return
    kind_of = np.asarray(kinds)[tags]
    taken = [0 if part is None else part[1] for part in parts]
    cuts = [0, *(np.flatnonzero(kind_of[1:] != kind_of[:-1]) + 1).tolist(), len(tags)]
    for first, end in pairwise(cuts):
        own = tags[first:end]
        only = int(own[0])
        if end - first == 1 or not (own != only).any():
            yield cut(parts[only][0], taken[only], end - first), only  # type: ignore[index] # a tag names it
            taken[only] += end - first
            continue
        some = [None if part is None else (part[0], at) for part, at in zip(parts, taken)]
        counts = np.bincount(own, minlength=len(parts)).tolist()
        some = [part if count else None for part, count in zip(some, counts)]
        taken = [at + count for at, count in zip(taken, counts)]
        kind = int(kind_of[first])
        yield interleaved(schemas[kind], [Interleaving(own, some)], as_events=as_events), only


def cut(batch: Batch, first: int, rows: int) -> Batch:
    """Rows first .. first + rows - 1, with the entry times of the batch."""
    if rows == batch.rows:
        return batch
    part = batch.slice(first, rows)
    part.entry_min, part.entry_max, part.began = batch.entry_min, batch.entry_max, batch.began
    return part


def _events(interleaving: Interleaving) -> list[Any]:
    streams: list[Any] = [
        None if part is None else iter(part[0].events()[part[1] :]) for part in interleaving.parts
    ]
    return [next(streams[tag]) for tag in interleaving.tags.tolist()]
