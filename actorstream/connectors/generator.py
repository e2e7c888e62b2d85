"""generator-source: rows made by rule, the same on every run and every number of workers. Touches no
files."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from actorstream.connectors.checks import common_problems, field_problems
from actorstream.connectors.declared import declared_schema
from actorstream.connectors.distributions import DistributionError, Generated, generated_fields, types_of
from actorstream.connectors.source import NO_MORE, Source
from actorstream.errors import ConfigurationError, Problem
from actorstream.events.event import Event

if TYPE_CHECKING:
    from pathlib import Path

    from actorstream.events.batch import Batch
    from actorstream.events.schema import Schema

CHUNK_ROWS = 4096
"""Shards of one replica take turns after so many rows, whatever the batch size."""


class GeneratorSource(Source):
    """Makes rows by rule. A value is a function of the seed, the field and the number of the row.

    Args:
        schema: field name -> type, or a table with `type`, `distribution` and its keys: uniform (low,
        high), normal
            (mean, std), exponential (mean), zipf (of, exponent), choice (values, weights), constant
            (value), sequence (start, step), bernoulli (p); `prefix` for texts made of numbers, `nulls` the
            share of rows without a value.
        event: the class of the rows; then `schema` only says how its fields are distributed.
        count: rows in all; without end unless set.
        shards: partitions that replicas share out among themselves; row i belongs to shard i modulo `shards`.
        seed: another one gives other values.
    """

    def __init__(
        self,
        *,
        event: type[Event] | None = None,
        schema: dict[str, Any] | None = None,
        event_time: str | None = None,
        time_unit: str | None = None,
        max_out_of_orderness: timedelta | None = None,
        idle_timeout: timedelta | None = None,
        stream: str | None = None,
        streams: list[str] | None = None,
        rate: float | None = None,
        count: int | None = None,
        shards: int = 1,
        seed: int = 0,
    ) -> None:
        super().__init__(
            event=event,
            schema=schema,
            event_time=event_time,
            time_unit=time_unit,
            max_out_of_orderness=max_out_of_orderness,
            idle_timeout=idle_timeout,
            stream=stream,
            streams=streams,
            rate=rate,
            count=count,
        )
        self.shards, self.seed = shards, seed
        self._fields: list[Generated] = []
        self._made: dict[int, int] = {}
        """Shard -> rows made of it."""

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Any]:
        if keys.get("event") is not None:
            return {"default": declared_schema({**keys, "schema": None})}
        try:
            return {"default": declared_schema({**keys, "schema": types_of(keys.get("schema") or {})})}
        except DistributionError as error:
            raise ConfigurationError(_problem(error)) from None

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = common_problems({**keys, "schema": None, "event": None})
        shards = keys.get("shards", 1)
        if shards < 1:
            problems.append(Problem("shards", f"is {shards}", "1 or more"))
        if problems:
            return problems
        try:
            schema = cls.output_types(keys, inputs)["default"]
            generated_fields(schema, keys.get("schema") or {}, keys.get("seed", 0))
            return field_problems(keys, schema)
        except ConfigurationError as error:
            return error.problems
        except DistributionError as error:
            return [_problem(error)]

    def partitions(self) -> list[str]:
        return [f"shard-{number:04d}" for number in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        names = self.partitions()
        self._fields = generated_fields(self.row_schema(), self.schema or {}, self.seed)
        self._made = {names.index(name): 0 for name in partitions}

    def position(self) -> dict[str, int]:
        names = self.partitions()
        return {names[shard]: made for shard, made in self._made.items()}

    def seek(self, positions: dict[str, int]) -> None:
        names = self.partitions()
        self._made = {shard: positions.get(names[shard], 0) for shard in self._made}

    def read(self, max_rows: int) -> Batch | None:
        from actorstream.events.batch import Batch

        open_shards = [
            (made // CHUNK_ROWS, shard) for shard, made in self._made.items() if made < self._rows_of(shard)
        ]
        if not open_shards:
            return None
        shard = min(open_shards)[1]
        made = self._made[shard]
        rows = min(max_rows, self._rows_of(shard) - made)
        if len(self._made) > 1:
            rows = min(rows, CHUNK_ROWS - made % CHUNK_ROWS)
        numbers = (np.arange(made, made + rows, dtype=np.uint64) * np.uint64(self.shards)) + np.uint64(shard)
        self.origin, self.row = shard, made
        self._made[shard] = made + rows
        return Batch.of_columns(
            self.row_schema(), {each.field.name: each.column(numbers) for each in self._fields}
        )

    def lower_bound(self, now_ns: int) -> int | None:
        """The event time of the row that comes next, where event times are an ascending sequence."""
        time = next((each for each in self._fields if each.field.name == self.row_schema().event_time), None)
        following = [
            made * self.shards + shard for shard, made in self._made.items() if made < self._rows_of(shard)
        ]
        if not following:
            return NO_MORE
        if time is None or not time.ascending:
            return None
        return int(time.column(np.array([min(following)], np.uint64)).data[0])

    def _rows_of(self, shard: int) -> int:
        if self.count is None:
            return NO_MORE
        return max(0, -(-(self.count - shard) // self.shards))


def _problem(error: DistributionError) -> Problem:
    return Problem(f"schema.{error.key}", error.message, error.allowed, error.hint)
