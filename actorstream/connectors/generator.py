"""generator-source: rows made by rule, the same on every run and every number of workers. Touches no files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from fractions import Fraction
from math import inf
from typing import TYPE_CHECKING, Any

from actorstream.actors.contract import Contract
from actorstream.connectors.checks import common_problems, field_problems
from actorstream.connectors.declared import declared_schema, with_time
from actorstream.connectors.distributions import (
    EPOCH,
    DistributionError,
    Generated,
    Span,
    generated_fields,
    microseconds,
    types_of,
)
from actorstream.connectors.generator_presets import PRESETS, preset_problems
from actorstream.connectors.generator_rows import FieldRows, RowMaker
from actorstream.connectors.native_rows import NextRows
from actorstream.connectors.source import NO_MORE, Source
from actorstream.errors import ConfigurationError, Problem, SchemaError
from actorstream.events.event import Event
from actorstream.events.fields import Kind
from actorstream.events.schema import TIME_UNITS, Schema
from actorstream.native.generate import ShardNumbering, YsbSource

if TYPE_CHECKING:
    from pathlib import Path

    from actorstream.events.batch import Batch
    from actorstream.native.pieces import Column

MAX_SHARDS = 1 << 16
MOST_IN_A_TURN = 1 << 16
"""Shards of one replica take turns after so many rows, whatever the batch size; a paced source's after those of a
millisecond, so that none falls behind."""
FINEST_RATE = 1000
"""Denominator of an `event_rate` at the most."""


class GeneratorSource(Source):
    """Makes rows by rule. A value is a function of the seed, the field and the number of the row.

    Args:
        schema: field name -> type, or a table with `type`, `distribution` and its keys: uniform (low, high), normal
            (mean, std), exponential (mean), zipf (of, exponent), choice (values, weights), constant (value),
            sequence (start, step), bernoulli (p), words (low, high, of, exponent); `prefix` for texts made of numbers,
            `nulls` the share of rows without a value.
        event: the class of the rows; then `schema` only says how its fields are distributed.
        preset: instead of both, the name of a stream that is known by itself: "ysb" (the events of the Yahoo Streaming
            Benchmark), "ysb-ads" (its table of ads).
        ids: of a preset: "int", "uuid", or "bytes136" (integers in events of 136 bytes).
        count: rows in all; without end unless set (a table: all of it).
        event_rate: rows a second of event time; `rate` unless set. Without either, event time advances by one unit (a
            datetime by 1 ms) a row, and that of "ysb" by 1 s in 10 million rows.
        start: event time of the first row, in its unit, or a datetime.
        shards: partitions that replicas share out among themselves; row i belongs to shard i modulo `shards`.
        seed: another one gives other values.
    """

    def __init__(
        self,
        *,
        event: type[Event] | None = None,
        schema: dict[str, Any] | None = None,
        preset: str | None = None,
        ids: str | None = None,
        event_time: str | None = None,
        time_unit: str | None = None,
        max_out_of_orderness: timedelta | None = None,
        idle_timeout: timedelta | None = None,
        stream: str | None = None,
        streams: list[str] | None = None,
        rate: float | None = None,
        event_rate: float | None = None,
        start: int | datetime | None = None,
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
        self.preset, self.ids = preset, ids
        self.event_rate, self.start = event_rate, start
        self.shards, self.seed = shards, seed
        self.ordered = False
        """Event times never decrease within a shard, so that the runtime need not look."""
        self._maker: RowMaker | None = None
        self._numberings: dict[int, ShardNumbering] = {}
        self._made: dict[int, int] = {}
        """Shard -> rows made of it."""
        self._ends: dict[int, int] = {}
        self._turn = MOST_IN_A_TURN

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        endless = keys.get("count") is None and keys.get("preset") != "ysb-ads"
        return replace(cls.contract, endless=endless)

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default", *cls.outputs)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Any]:
        return {"default": _row_schema(keys)}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = common_problems({**keys, "schema": None, "event": None, "event_time": None})
        shards, event_rate = keys.get("shards", 1), keys.get("event_rate")
        if not 1 <= shards <= MAX_SHARDS:
            problems.append(Problem("shards", f"is {shards}", f"1 to {MAX_SHARDS}"))
        if event_rate is not None and not 1 / FINEST_RATE <= event_rate < inf:
            problems.append(
                Problem(
                    "event_rate", f"is {event_rate}", f"a finite number of {1 / FINEST_RATE} rows/s or more"
                )
            )
        problems += preset_problems(keys)
        if problems:
            return problems
        try:
            schema = _row_schema(keys)
            if keys.get("preset") is None:
                fields = generated_fields(schema, keys.get("schema") or {}, keys.get("seed", 0))
                problems = _end_problems(keys, schema, fields)
            _numbering(keys, schema, 0)
            return problems or field_problems(keys, schema)
        except ConfigurationError as error:
            return error.problems
        except DistributionError as error:
            return [_problem(error)]

    def keys(self) -> dict[str, Any]:
        names = (
            *("event", "schema", "preset", "ids", "event_time", "time_unit"),
            *("rate", "event_rate", "start", "count", "shards", "seed"),
        )
        return {name: getattr(self, name) for name in names}

    def partitions(self) -> list[str]:
        return [f"shard-{number:05d}" for number in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        keys, schema, names = self.keys(), self.row_schema(), self.partitions()
        if self.preset is None:
            self._maker = FieldRows(self, generated_fields(schema, self.schema or {}, self.seed))
        else:
            self._maker = PRESETS[self.preset].rows(self, self.ids)
        self.ordered = self._maker.ordered
        counts = [each for each in (self.count, self._maker.count) if each is not None]
        count = min(counts) if counts else None
        mine = [names.index(name) for name in partitions]
        self._made = dict.fromkeys(mine, 0)
        self._numberings = {shard: _numbering(keys, schema, shard) for shard in mine}
        self._ends = {
            shard: NO_MORE if count is None else max(0, -(-(count - shard) // self.shards)) for shard in mine
        }
        if self.rate:
            self._turn = max(1, min(MOST_IN_A_TURN, int(self.rate / self.shards / 1000)))

    def position(self) -> dict[str, int]:
        names = self.partitions()
        return {names[shard]: made for shard, made in self._made.items()}

    def seek(self, positions: dict[str, int]) -> None:
        names = self.partitions()
        self._made = {shard: positions.get(names[shard], 0) for shard in self._made}

    def read(self, max_rows: int) -> Batch | None:
        shard = self._next_shard()
        if shard < 0:
            return None
        made = self._made[shard]
        rows = min(max_rows, self._left_of_turn(shard))
        self.origin, self.row = shard, made
        self._made[shard] = made + rows
        assert self._maker is not None
        return self._maker.make(self._numberings[shard], made, rows)

    def native_rows(self, rows: int) -> GeneratedRows | None:
        assert self._maker is not None
        made = self._maker.in_c(rows) if self.ordered and self._maker.schema.event_time is not None else None
        return None if made is None else GeneratedRows(self, made)

    def _next_shard(self) -> int:
        """The shard whose turn it is; -1: all have ended."""
        if len(self._made) == 1:
            ((shard, made),) = self._made.items()
            return shard if made < self._ends[shard] else -1
        turns = [
            (made // self._turn, shard) for shard, made in self._made.items() if made < self._ends[shard]
        ]
        return min(turns)[1] if turns else -1

    def _left_of_turn(self, shard: int) -> int:
        """Rows of a shard that may come before another shard has its turn."""
        made = self._made[shard]
        left = self._ends[shard] - made
        return left if len(self._made) == 1 else min(left, self._turn - made % self._turn)

    def lower_bound(self, now_ns: int) -> int | None:
        """The event time of the row that comes next, where event times ascend with the row number."""
        left = any(made < self._ends[shard] for shard, made in self._made.items())
        return None if left and not self.ordered else self._least_time()

    def _least_time(self, besides: int = -1) -> int:
        """The least event time of the rows that come next, but for those of one shard."""
        least = NO_MORE
        for shard, made in self._made.items():
            if shard != besides and made < self._ends[shard]:
                assert self._maker is not None
                least = min(least, self._maker.time_of(self._numberings[shard], made))
        return least


class GeneratedRows:
    """The rows of a generator that C makes (`NativeRows`): those of the shard whose turn it is."""

    def __init__(self, source: GeneratorSource, made: YsbSource) -> None:
        self._source, self._made = source, made
        self._shard = -1
        self.schema = source.row_schema()
        self.make, self.context, self.rows = made.make, made.context, made.rows
        self.columns: Sequence[Column] = made.columns

    def next(self) -> NextRows:
        source = self._source
        shard = source._next_shard()
        if shard < 0:
            return NextRows(0, 0, NO_MORE)
        if shard != self._shard:
            self._made.number(source._numberings[shard])
            self._shard = shard
        made = source._made[shard]
        return NextRows(made, source._left_of_turn(shard), source._least_time(besides=shard))

    def took(self, made: int, latest: int) -> None:
        source = self._source
        source.origin, source.row = self._shard, made - 1
        source._made[self._shard] = made


def _row_schema(keys: dict[str, Any]) -> Schema:
    """The schema of the rows. ConfigurationError lists what is wrong."""
    if keys.get("preset") is not None:
        problems = preset_problems(keys)
        if not problems:
            schema = PRESETS[keys["preset"]].schema(keys.get("ids"))
            if schema.event_time is None:
                return schema
            schema, problems = with_time(schema, keys)
        if problems:
            raise ConfigurationError(problems)
        return schema
    if keys.get("event") is not None:
        found = declared_schema({**keys, "schema": None})
    else:
        try:
            found = declared_schema({**keys, "schema": types_of(keys.get("schema") or {})})
        except DistributionError as error:
            raise ConfigurationError(_problem(error)) from None
    assert found is not None
    return found


def _numbering(keys: dict[str, Any], schema: Schema, shard: int) -> ShardNumbering:
    """The row numbers of a shard and their event times. ConfigurationError if C cannot count so."""
    preset = PRESETS.get(keys.get("preset") or "")
    datetimes = schema.event_time is not None and schema.field(schema.event_time).kind is Kind.DATETIME
    rate = keys.get("event_rate") or keys.get("rate") or (preset.event_rate if preset is not None else None)
    per_row = Fraction(1000 if datetimes else 1)
    if rate is not None:
        second = 1_000_000_000 // TIME_UNITS[schema.time_unit]
        per_row = second / Fraction(rate).limit_denominator(FINEST_RATE)
    start = keys.get("start")
    if start is None and preset is not None:
        start = preset.start_ms * 1_000_000 // TIME_UNITS[schema.time_unit]
    elif start is None:
        start = microseconds(EPOCH) if datetimes else 0
    elif isinstance(start, datetime):
        start = microseconds(start) * 1000 // TIME_UNITS[schema.time_unit]
    try:
        return ShardNumbering(
            seed=keys.get("seed") or 0,
            first=shard,
            stride=keys.get("shards") or 1,
            start=start,
            units=per_row.numerator,
            rows=per_row.denominator,
        )
    except ValueError as error:
        raise ConfigurationError(Problem("event_rate", f"is {rate}, from {start} on: {error}")) from None


def _end_problems(keys: dict[str, Any], schema: Schema, fields: list[Generated]) -> list[Problem]:
    """Of fields that cannot have their value of the first row, or of the last: what ascends or descends without bounds
    shows it there."""
    numbering = _numbering({**keys, "shards": 1}, schema, 0)
    count = keys.get("count")
    ends = [0] if count is None else [0, count - 1][:count]
    problems = []
    for each in fields:
        try:
            for number in ends:
                each.column(Span(numbering, number, 1))
        except (SchemaError, ValueError) as error:  # C's numbers end at 2^63
            problems.append(Problem(f"schema.{each.field.name}", str(error)))
    return problems


def _problem(error: DistributionError) -> Problem:
    return Problem(f"schema.{error.key}", error.message, error.allowed, error.hint)
