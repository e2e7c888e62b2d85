"""Source: the base class of what brings rows into a dataflow. Knows nothing of files, and nothing of the
runtime."""

from __future__ import annotations

import inspect
import typing
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.actor import Actor, _event_in
from actorstream.actors.contract import Contract
from actorstream.connectors.dead_rows import DeadRows
from actorstream.connectors.declared import declared_schema
from actorstream.connectors.event_reader import EventReader
from actorstream.connectors.position import Places, says_position

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping
    from pathlib import Path

    from actorstream.connectors.live import Pump
    from actorstream.errors import Problem
    from actorstream.events.batch import Batch
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema

NO_MORE = 2**63 - 1
"""The event-time promise of a source that has ended: nothing will follow."""
ONLY = "0"
"""The name of the one partition of a source that has no others."""


class Source(Actor):
    """Base class of sources. The least that one needs is a way to get at rows, in one of three forms::

        class Sensors(Source):
            def events(self) -> Iterator[Reading]:          # plain: one event after the other
                for value in measure():
                    yield Reading(value)

        class Feed(Source):
            async def events(self) -> AsyncIterator[Tick]:  # live: waits without holding up the worker
                async for message in connect(self.url):
                    yield Tick(message.price)

        class Table(Source):
            outputs = {"default": Row}
            def read(self, max_rows: int) -> Batch | None:  # fast: many rows at once, as columns
                ...                                         # None when there is no more

    The class of the rows comes from the return annotation, from `outputs`, or from the keys `event` or
    `schema`.

    A source that is split over replicas overrides `partitions` and `open`. After a failure `events` starts again
    and the rows that were read before are skipped, so it must repeat the same rows; a source that can begin in
    the middle overrides `seek`, and yields a `Position` between its rows (or overrides `position`). `on_start`
    and `on_stop` are called in the worker before the first and after the last read.

    Keys that every source has unless its own constructor says otherwise: `event` ("module:Class") or
    `schema` (field name -> type); `event_time` (the field that is the event time) and `time_unit` (s, ms,
    us, ns); the runtime's `rate` (events/s), `max_out_of_orderness`, `idle_timeout`; `stream` and
    `streams` (the field that tells the input streams of a DGS program apart, and its values); `repeat`
    (passes over the input; 0: without end), `count` (at most so many rows in all).

    A live source whose event times are when things happened, by the wall clock, says `clocked = True`: rows come at most
    `max_out_of_orderness` after that, and it promises the clock less as much, so that it holds nobody up while
    nothing happens.

    Attributes that the runtime reads after each `read`:
        origin: index in `partitions()` of the partition that the rows came from.
        row: position in that partition of the first of the rows; the others follow without a gap.
    And one that it sets before `open`:
        on_bad_row: "fail", "skip" or "dead-letter", what to do with a row that does not parse.
    """

    role: ClassVar[str] = "source"
    clocked: ClassVar[bool] = False
    is_merged: ClassVar[bool] = False
    """Whether its partitions come as one sequence."""

    event: Any = None
    schema: Any = None
    event_time: str | None = None
    time_unit: str | None = None
    max_out_of_orderness: timedelta | None = None
    idle_timeout: timedelta | None = None
    stream: str | None = None
    streams: list[str] | None = None
    rate: float | None = None
    repeat: int = 1
    count: int | None = None

    origin: int = 0
    row: int = 0
    on_bad_row: str = "fail"
    bad_rows: int = 0
    """Rows that did not parse and were dropped so far."""

    _opened: list[str] | None = None
    _event_reader: EventReader | Pump | None = None
    _read_rows: int = 0
    """Rows that `events` has given and `read` has returned, in all runs."""
    _to_skip: int = 0
    _kept_position: Mapping[str, Any] | None = None
    _held_position: Mapping[str, Any] | None = None
    _row_places: Places | None = None
    _made_schema: Schema | None = None
    _dead: DeadRows | None = None

    def __init__(
        self,
        *,
        event: type | str | None = None,
        schema: dict[str, Any] | None = None,
        event_time: str | None = None,
        time_unit: str | None = None,
        max_out_of_orderness: timedelta | None = None,
        idle_timeout: timedelta | None = None,
        stream: str | None = None,
        streams: list[str] | None = None,
        rate: float | None = None,
        repeat: int = 1,
        count: int | None = None,
    ) -> None:
        self.event, self.schema = event, schema
        self.event_time, self.time_unit = event_time, time_unit
        self.max_out_of_orderness, self.idle_timeout = max_out_of_orderness, idle_timeout
        self.stream, self.streams = stream, streams
        self.rate, self.repeat, self.count = rate, repeat, count

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "events" in vars(cls) and "read" not in vars(cls):
            # the runtime tells live sources by `read` being a coroutine function
            live = inspect.isasyncgenfunction(cls.events)
            cls.read = Source._read_live if live else Source._read_events  # type: ignore[method-assign]

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return replace(cls.contract, endless=keys.get("repeat") == 0 and keys.get("count") is None)

    # -- what a source of rows offers; override what does not fit -----------------------------------------

    def events(self) -> Iterator[Event] | AsyncIterator[Event]:
        """The events, one after the other, from the beginning; `async def` for a live source."""
        raise NotImplementedError(f"{type(self).__name__} defines neither events() nor read()")

    def partitions(self) -> list[str]:
        """Names of the parts that replicas share out among themselves, in the order of the input; always
        the same for the same input. Called for planning and in each worker, before `open`."""
        return [ONLY]

    def open(self, partitions: list[str]) -> None:
        """The partitions that this replica reads; none if there are fewer than replicas. Before the first
        `read`."""
        self._opened = list(partitions)

    def read(self, max_rows: int) -> Batch | Event | Coroutine[Any, Any, Batch | Event | None] | None:
        """The next rows of one partition, at least one and at most `max_rows`; None when all have ended. Where
        rows come one at a time it may answer the event itself: the shortest way to another process. A
        live source may be `async def`, and may then answer an empty batch for "nothing yet"."""
        return self._read_events(max_rows)

    def position(self) -> dict[str, int]:
        """How far each partition was read: rows, those that did not parse included. What `seek` takes.

        With `events` it is asked at each `yield`. What it says counts the row that is yielded if the source sets its
        position before the `yield`, and does not if it sets it behind: the first row shows which, by whether the position
        has moved. Where a source may pass over input before its first row, it should yield a `Position` instead."""
        if self._names_places() and self._row_places is not None:
            return self._row_places.before(self._read_rows)[0]
        return dict.fromkeys(self._opened or [], self._read_rows)

    def seek(self, positions: dict[str, int]) -> None:
        """Goes on after the row at which `position` answered `positions`. Before the first `read`, after
        `open`."""
        self._to_skip = max((positions.get(name, 0) for name in self._opened or []), default=0)
        self._event_reader, self._row_places, self._read_rows = None, None, self._to_skip

    def kept_position(self) -> Mapping[str, Any]:
        """What a checkpoint keeps of how far the source was read: the rows that `read` has returned, no more and no less.
        The runtime calls it, and `take_back` in the run that goes on; a source overrides `position` and `seek`."""
        if self._held_position is not None:
            return self._held_position
        if self._row_places is None and self._kept_position is not None:
            return self._kept_position
        kept: dict[str, Any] = {"rows": self._read_rows, "between": 0, "counts": None}
        if self._row_places is None:
            return {**kept, "positions": self.position()}
        kept["positions"], kept["between"] = self._row_places.before(self._read_rows)
        return {**kept, "counts": self._row_places.counts}

    def take_back(self, kept: Mapping[str, Any]) -> None:
        """Goes on where `kept_position` was asked. Before the first `read`, after `open`."""
        self.seek(dict(kept["positions"]))
        if self._seeks():
            self._kept_position = {name: kept[name] for name in ("positions", "rows", "between", "counts")}
            self._read_rows, self._to_skip = kept["rows"], kept["between"]

    def hold_position(self, *, held: bool) -> None:
        """A `read` that is awaited begins, or what it returned is about to be sent: between, the position counts
        nothing of it."""
        self._held_position = None
        if held and self._event_reader is None:
            self._held_position = self.kept_position()

    def lower_bound(self, now_ns: int) -> int | None:
        """The event-time promise at wall-clock time `now_ns`, in the schema's unit: no row below it will
        follow. None: nothing can be promised yet. `NO_MORE` once the input has ended.

        A `clocked` source promises the clock less `max_out_of_orderness`, any other nothing unless it overrides this.
        Rows below what was promised are behind it, as rows below their partition's watermark are."""
        schema = self.row_schema() if self.clocked else None
        if schema is None or schema.event_time is None:
            return None
        slack = self.max_out_of_orderness or timedelta(0)
        return (now_ns - slack // timedelta(microseconds=1) * 1000) // schema.time_unit_ns

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes in all) of the input as it is stored; (0, 0): unknown."""
        return (0, 0)

    def take_dead(self) -> Batch | None:
        """The rows that did not parse since the last call, as dead letters (event, error, operator); None:
        none."""
        return self._dead.take() if self._dead is not None else None

    def take_late(self) -> Batch | None:
        """The rows since the last call that came too late to be put in order; None: none."""
        return None

    def on_stop(self) -> Any:
        self._close_events()

    # -- the class of the rows ----------------------------------------------------------------------------

    def row_schema(self) -> Schema:
        """The schema of the rows that this source makes."""
        if self._made_schema is None:
            from actorstream.events.schema import Schema

            self._made_schema = Schema.of(type(self).output_types(self.keys(), [])["default"])
        return self._made_schema

    def keys(self) -> dict[str, Any]:
        """The keys that `output_types` needs to tell the class of the rows."""
        names = ("event", "schema", "event_time", "time_unit")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def output_names(cls, keys: dict[str, Any]) -> Iterable[str]:
        return ("default", *cls.outputs)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        """From the keys `event` or `schema`, else `outputs`, else the return annotation of `events` or
        `read`."""
        found: dict[str, Any] = dict(cls.outputs)
        declared = declared_schema(keys)
        if declared is None and "default" not in found:
            for hook in (cls.events, cls.read):
                annotated = _annotated_rows(hook)
                if annotated is not None:
                    found["default"] = annotated
                    break
        if declared is not None:
            found["default"] = declared
        elif "default" in found and (keys.get("event_time") or keys.get("time_unit")):
            found["default"] = declared_schema({**keys, "event": found["default"]})
        return found

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        from actorstream.connectors.checks import clock_problems, common_problems

        return common_problems(keys) + (clock_problems(cls, keys) if cls.clocked else [])

    # -- rows from events() -------------------------------------------------------------------------------

    def _read_events(self, max_rows: int) -> Batch | None:
        """`read` of a source that defines a plain `events`."""
        if self._event_reader is None:
            self._event_reader = EventReader(self._passes(), self.row_schema(), *self._begin())
        return self._batch_of_events(
            typing.cast("EventReader", self._event_reader).take(self._still_wanted(max_rows))
        )

    async def _read_live(self, max_rows: int) -> Batch | None:
        """`read` of a source whose `events` is async: waits for one event, then takes what is there."""
        from actorstream.connectors.live import Pump

        if self._event_reader is None:
            self._event_reader = Pump(typing.cast("AsyncIterator[Event]", self.events()), *self._begin())
        made = await typing.cast("Pump", self._event_reader).take(self._still_wanted(max_rows))
        if not made:
            self._close_events()
        return self._batch_of_events(made)

    def _batch_of_events(self, made: list[Event]) -> Batch | None:
        from actorstream.events.batch import Batch

        if not made:
            return None
        self.row = self._read_rows
        self._read_rows += len(made)
        if self._row_places is not None:
            self._row_places.before(self._read_rows)  # forgets those that lie further back
        return Batch.of_events(self.row_schema(), made)

    def _begin(self) -> tuple[int, Places | None, str]:
        """Rows to drop first, who is told of places, and the name of the only partition."""
        asks = type(self).position is not Source.position
        if self._seeks() and (asks or self._names_places()):
            kept = self._kept_position or {}
            self._row_places = Places(
                self._read_rows - self._to_skip,
                kept.get("positions", None if asks else {}),
                self.position if asks else None,
                kept.get("counts"),
            )
        return self._to_skip, self._row_places, next(iter(self._opened or ()), ONLY)

    def _seeks(self) -> bool:
        """Whether the source goes back by itself, though its rows come from `events`."""
        cls = type(self)
        reads = cls.read is Source._read_events or cls.read is Source._read_live
        return reads and cls.seek is not Source.seek

    def _names_places(self) -> bool:
        """Whether `events` yields a `Position`, as its annotation says."""
        try:
            return says_position(typing.get_type_hints(type(self).events).get("return"))
        except (NameError, TypeError):
            return False

    def _passes(self) -> Iterator[Event]:
        done = 0
        while self._opened != [] and (self.repeat == 0 or done < self.repeat):
            some = False
            for event in typing.cast("Iterator[Event]", self.events()):
                some = True
                yield event
            if not some:
                return
            done += 1

    def _still_wanted(self, max_rows: int) -> int:
        if self._opened == []:
            return 0
        return max_rows if self.count is None else min(max_rows, self.count - self._read_rows)

    def _close_events(self) -> None:
        from actorstream.connectors.live import Pump

        if isinstance(self._event_reader, Pump):
            self._event_reader.close()


def batch_of(source: Source, rows: Batch | Event | None) -> Batch | None:
    """What `read` of a source has answered, as a batch."""
    from actorstream.events.batch import BATCHES, Batch

    if rows is None or type(rows) in BATCHES:
        return typing.cast("Batch | None", rows)
    return Batch.of_events(source.row_schema(), [typing.cast("Event", rows)])


def _annotated_rows(hook: Any) -> type[Event] | None:
    from actorstream.events.event import Event

    try:
        annotation = typing.get_type_hints(hook).get("return")
    except (NameError, TypeError):
        return None
    found: type[Event] | None = _event_in(annotation, Event)
    return None if found is Event else found
