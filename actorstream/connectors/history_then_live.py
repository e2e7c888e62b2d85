"""history-then-live: the rows of one source up to an event time, then those of another from there on. Knows nothing of what
the two read."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.actors.contract import Contract
from actorstream.connectors.source import Source, batch_of
from actorstream.connectors.source_table import SourceTable
from actorstream.errors import ActorstreamError, ConfigurationError, Problem
from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.events.fields import Kind

if TYPE_CHECKING:
    from actorstream.actors.actor import ActorContext
    from actorstream.events.schema import Schema

HISTORY, LIVE = "history", "live"
ALONE = "several replicas share the partitions of the history and need `cut`, since none of them knows where all of it ends"
_OWN = ("rate", "idle_timeout")
"""Keys that the runtime reads at the source as a whole."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class HistoryThenLive(Source):
    """Reads `history` to its end, then `live`. No row is given twice and none is left out if `live` begins at or before the
    cut: of the history the rows before the cut are taken, and of the live source those at or after it.

    Args:
        history, live: two sources, each a table with its `type` and its keys.
        cut: an event time, as a date and time or in the unit of the rows. Without it, all of the history is taken, and the
            live rows later than the last row of the history.
        event, schema, event_time, time_unit: of both sources, unless their tables say otherwise.
        rate, idle_timeout: of the source as a whole.

    Several replicas share the partitions of both sources and need `cut`, since none of them knows where the whole history
    ends.
    """

    def __init__(
        self,
        history: SourceTable,
        live: SourceTable,
        *,
        cut: datetime | int | None = None,
        event: type[Event] | None = None,
        schema: dict[str, str] | None = None,
        event_time: str | None = None,
        time_unit: str | None = None,
        rate: float | None = None,
        idle_timeout: timedelta | None = None,
    ) -> None:
        super().__init__(
            event=event,
            schema=schema,
            event_time=event_time,
            time_unit=time_unit,
            rate=rate,
            idle_timeout=idle_timeout,
        )
        self.tables = _tables({**self.keys(), HISTORY: history, LIVE: live})
        self.cut = cut
        self.history, self.live = (table.make() for table in self.tables)
        slack = [each.max_out_of_orderness for each in (self.history, self.live)]
        self.max_out_of_orderness = max(filter(None, slack), default=None)
        self._low: int | None = None
        """The least event time of live rows; None: not known yet, or every row."""
        self._is_live = False
        self._end: int | None = None
        """The greatest event time of the history so far."""
        self._latest: int | None = None
        """The greatest event time of the source that is being read."""
        self._given: dict[str, int] = {}
        """Partition -> rows given."""
        self._to_pass: dict[str, int] = {}
        """Partition -> rows that were given before a `seek` and come again."""
        self._names: list[str] | None = None

    # -- what the topology asks

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        history, live = (
            None if (table := keys.get(name)) is None else table.cls.contract_of(dict(table.keys))
            for name in (HISTORY, LIVE)
        )
        if history is None or live is None:  # missing or wrong, which is reported already
            return cls.contract
        meet = history.replicas_meet or live.replicas_meet
        return replace(live, replicas_meet=meet, alone="" if keys.get("cut") is not None else ALONE)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": _tables(keys)[0].schema()}

    @classmethod
    def files_read(cls, keys: dict[str, Any]) -> list[str]:
        return [path for table in _tables(keys) for path in table.files_read()]

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = super().check(
            {"rate": keys.get("rate"), "idle_timeout": keys.get("idle_timeout")}, [], base
        )
        tables = _tables(keys)
        for name, table in zip((HISTORY, LIVE), tables):
            problems += table.problems(name, base)
            problems += [
                Problem(f"{name}.{key}", "belongs to the source as a whole", f"{key} beside `{name}`")
                for key in _OWN
                if table.keys.get(key) is not None
            ]
        if tables[0].cls.contract_of(dict(tables[0].keys)).endless:
            problems.append(
                Problem("history", "has no end", "a source that ends, such as one with repeat = 1")
            )
        if problems:
            return problems
        try:
            return _unlike(tables[0].schema(), tables[1].schema(), keys.get("cut"))
        except ConfigurationError as error:
            return [*error.problems]
        except ActorstreamError as error:
            return [Problem("history", str(error))]

    # -- the source protocol

    def _bind(self, context: ActorContext | None) -> None:
        super()._bind(context)
        for each in (self.history, self.live):
            each._bind(context)

    def row_schema(self) -> Schema:
        return self.history.row_schema()

    def partitions(self) -> list[str]:
        if self._names is None:
            both = ((HISTORY, self.history), (LIVE, self.live))
            self._names = [f"{side}:{name}" for side, source in both for name in source.partitions()]
        return self._names

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        if self.cut is None and partitions and len(partitions) < len(self.partitions()):
            what = "is not given, and several replicas share the partitions"
            hint = "without it, the live rows begin behind the last row of the whole history"
            raise ConfigurationError(Problem("cut", what, "an event time, or one replica", hint))
        self._low = None if self.cut is None else cut_time(self.cut, self.row_schema())
        self._given = dict.fromkeys(partitions, 0)
        for side, source in ((HISTORY, self.history), (LIVE, self.live)):
            source.on_bad_row = self.on_bad_row
            mine = [name.removeprefix(f"{side}:") for name in partitions if name.startswith(f"{side}:")]
            source.open(mine)

    async def on_start(self) -> None:
        """Both sources start, so that one which receives rows misses none while the history is read."""
        for each in (self.history, self.live):
            await _done(each.on_start())

    async def on_stop(self) -> None:
        for each in (self.history, self.live):
            await _done(each.on_stop())

    async def read(self, max_rows: int) -> Batch | None:  # type: ignore[override]
        while True:
            if not self._is_live and self._history_is_over():
                self._begin_live()
            source = self.live if self._is_live else self.history
            found: Any = source.read(max_rows)
            batch = batch_of(source, await found if inspect.isawaitable(found) else found)
            if batch is None:
                if self._is_live:
                    return None
                await _done(source.on_stop())
                self._begin_live()
                continue
            rows = self._taken(source, batch)
            if rows.rows or not batch.rows:
                return rows
            await asyncio.sleep(0)  # the rows beyond the cut may be many, and others have work to do

    def position(self) -> dict[str, int]:
        return dict(self._given)

    def seek(self, positions: dict[str, int]) -> None:
        """Reads both from their beginnings and passes over the rows that were given; a checkpoint goes on where it was."""
        self._to_pass = {name: positions.get(name, 0) for name in self._given}

    def kept_position(self) -> Mapping[str, Any]:
        if (held := self._event_rows.held) is not None:
            return held
        return {
            **{"positions": dict(self._given), "to_pass": dict(self._to_pass)},
            **{"is_live": self._is_live, "low": self._low, "end": self._end, "latest": self._latest},
            "cut": None if self.cut is None else cut_time(self.cut, self.row_schema()),
            HISTORY: None if self._is_live else self.history.kept_position(),
            LIVE: self.live.kept_position() if self._is_live else None,
        }

    def take_back(self, kept: Mapping[str, Any]) -> None:
        cut = None if self.cut is None else cut_time(self.cut, self.row_schema())
        if kept["cut"] != cut:
            what = f"is {cut}, and was {kept['cut']} in the run that is resumed"
            raise ConfigurationError(Problem("cut", what, "the same cut, or a start without --resume"))
        self._given = {name: kept["positions"].get(name, 0) for name in self._given}
        self._to_pass = {name: kept["to_pass"].get(name, 0) for name in self._given}
        self._is_live, self._low = kept["is_live"], kept["low"]
        self._end, self._latest = kept["end"], kept["latest"]
        (self.live if self._is_live else self.history).take_back(kept[LIVE if self._is_live else HISTORY])

    def snapshot(self) -> Any:
        return [self.history.snapshot(), self.live.snapshot()]

    def restore(self, snapshot: Any) -> None:
        for source, kept in zip((self.history, self.live), snapshot):
            if kept is not None:
                source.restore(kept)

    def lower_bound(self, now_ns: int) -> int | None:
        source = self.live if self._is_live else self.history
        bound = source.lower_bound(now_ns)
        if bound is None and len(source._opened or ()) == 1 and self._latest is not None:
            # nobody promises for a source of one partition but its rows
            slack = source.max_out_of_orderness or timedelta(0)
            bound = self._latest - source.row_schema().time_units_in(slack)
        if self._is_live:
            return bound if self._low is None or bound is None else max(bound, self._low)
        if bound is not None and self._low is not None:
            return min(bound, self._low)
        if bound is None or self._end is None:
            return None
        return min(bound, self._end + 1)  # the live rows begin there if the history ends here

    def progress(self) -> tuple[int, int]:
        return (self.live if self._is_live else self.history).progress()

    @property
    def bad_rows(self) -> int:  # type: ignore[override]
        return self.history.bad_rows + self.live.bad_rows

    def take_dead(self) -> Batch | None:
        found = [batch for each in (self.history, self.live) if (batch := each.take_dead()) is not None]
        return Batch.concat(found) if found else None

    # -- inside

    def _history_is_over(self) -> bool:
        """Whether the history promises that no row before the cut follows, so that what is left of it is not read."""
        bound = self.history.lower_bound(0) if self._low is not None and not self.history.clocked else None
        return bound is not None and self._low is not None and bound >= self._low

    def _begin_live(self) -> None:
        self._is_live, self._latest = True, None
        if self.cut is None and self._end is not None:
            self._low = self._end + 1

    def _taken(self, source: Source, batch: Batch) -> Batch:
        """The rows of a batch that are on their source's side of the cut, with their place in the input."""
        times = batch.event_times()
        if times is not None and len(times):
            greatest = int(times.max())
            self._latest = greatest if self._latest is None else max(self._latest, greatest)
            if not self._is_live:
                self._end = greatest if self._end is None else max(self._end, greatest)
            if self._low is not None:
                mine = times >= self._low if self._is_live else times < self._low
                batch = batch if mine.all() else batch.take(mine)
        self.origin = source.origin + (len(self.history.partitions()) if self._is_live else 0)
        name = self.partitions()[self.origin]
        passed = min(self._to_pass.get(name, 0), batch.rows)
        if passed:
            self._to_pass[name] -= passed
            batch = batch.slice(passed, batch.rows - passed)
            self._given[name] += passed
        self.row = self._given[name]
        self._given[name] += batch.rows
        return batch.cast(self.row_schema())


def cut_time(cut: datetime | int, schema: Schema) -> int:
    """A cut as an event time of a schema: the least one at or after it. A date and time without a zone is UTC."""
    if not isinstance(cut, datetime):
        return cut
    aware = cut if cut.tzinfo is not None else cut.replace(tzinfo=UTC)
    nanoseconds = (aware - _EPOCH) // timedelta(microseconds=1) * 1000
    return -(-nanoseconds // schema.time_unit_ns)


def _tables(keys: Mapping[str, Any]) -> tuple[SourceTable, SourceTable]:
    """The two sources with the keys that are said for both."""
    shared = {name: keys.get(name) for name in ("event", "schema", "event_time", "time_unit")}
    both = (SourceTable.of_table(keys[name], Path.cwd()) for name in (HISTORY, LIVE))
    history, live = (table.with_defaults(shared) for table in both)
    return history, live


def _unlike(history: Schema, live: Schema, cut: datetime | int | None) -> list[Problem]:
    """The problems of a history and live rows of these schemas, if the one is to be followed by the other at an event time."""
    if history.event_time is None or live.event_time is None:
        name = HISTORY if history.event_time is None else LIVE
        return [
            Problem(f"{name}.event_time", "is missing", "the field that is the event time of both sources")
        ]
    if history.fingerprint != live.fingerprint:
        told = " and ".join(
            f"({', '.join(map(str, each.fields))}; {each.event_time} in {each.time_unit})"
            for each in (live, history)
        )
        hint = "`schema` and `event_time` beside `history` and `live` count for both"
        return [Problem("live", f"has other rows than the history: {told}", "rows of one schema", hint)]
    if isinstance(cut, int) and history.field(history.event_time).kind is Kind.DATETIME:
        return [Problem("cut", f"is {cut}, and the event time is a date and time", "a date and time")]
    return []


async def _done(found: Any) -> None:
    if inspect.isawaitable(found):
        await found
