"""Rows: what an opened generator-source makes its batches with. Decides nothing about shards and turns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from actorstream.connectors.distributions import Generated, Span
from actorstream.events.batch import Batch

if TYPE_CHECKING:
    from actorstream.connectors.generator import GeneratorSource
    from actorstream.events.schema import Schema
    from actorstream.native.generate import ShardNumbering, YsbSource


class RowMaker(ABC):
    """Makes the batches of one source, of `schema`."""

    schema: Schema
    ordered = True
    """Event times ascend with the row number."""
    count: int | None = None
    """Rows there are; None: without end."""

    @abstractmethod
    def make(self, numbering: ShardNumbering, made: int, rows: int) -> Batch:
        """Rows `made` ... `made + rows - 1` of a shard."""

    def time_of(self, numbering: ShardNumbering, made: int) -> int:
        """The event time of a row, where they ascend."""
        return numbering.event_time(made)

    def in_c(self, rows: int) -> YsbSource | None:
        """The same rows made in C alone, up to `rows` at once or as many as stay small; None: they are not."""
        return None


class FieldRows(RowMaker):
    """Rows whose fields have distributions and are made one by one."""

    def __init__(self, source: GeneratorSource, fields: list[Generated]) -> None:
        self.schema, self.fields = source.row_schema(), fields
        self._time = next((each for each in fields if each.field.name == self.schema.event_time), None)
        self.ordered = self._time is not None and self._time.ascending

    def make(self, numbering: ShardNumbering, made: int, rows: int) -> Batch:
        span = Span(numbering, made, rows)
        return Batch.of_columns(self.schema, {each.field.name: each.column(span) for each in self.fields})

    def time_of(self, numbering: ShardNumbering, made: int) -> int:
        assert self._time is not None
        return int(self._time.column(Span(numbering, made, 1)).data[0])
