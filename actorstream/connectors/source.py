"""Source: the base class of what brings rows into a dataflow. Knows nothing of files, and nothing of the
runtime."""

from __future__ import annotations

import inspect
import typing
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from actorstream.actors.actor import Actor, _event_in
from actorstream.actors.contract import Contract
from actorstream.connectors.dead_rows import DeadRows
from actorstream.connectors.declared import declared_schema
from actorstream.connectors.event_rows import ONLY, EventRows

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from actorstream.connectors.dead_rows import BadRow
    from actorstream.connectors.native_rows import NativeRows
    from actorstream.connectors.position import Position
    from actorstream.errors import Problem
    from actorstream.events.batch import Batch
    from actorstream.events.event import Event
    from actorstream.events.schema import Schema

NO_MORE = 2**63 - 1
"""The event-time promise of a source that has ended: nothing will follow."""
GO_ON = 'correct it, or leave such rows out by on_error = "skip" or "dead-letter" at the source'


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
    the middle overrides `seek`, and yields a `Position` between its rows (or overrides `position`). A source with
    its own `read` overrides both; `--resume` refuses it otherwise. `on_start` and `on_stop` are called in the worker
    before the first and after the last read.

    Keys that every source has unless its own constructor says otherwise: `event` ("module:Class") or
    `schema` (field name -> type); `event_time` (the field that is the event time) and `time_unit` (s, ms,
    us, ns); the runtime's `rate` (events/s), `max_out_of_orderness`, `idle_timeout`; `stream` and
    `streams` (the field that tells the input streams of a DGS program apart, and its values); `repeat`
    (passes over the input; 0: without end), `count` (at most so many rows in all). A source with its own `read` applies
    the last two itself.

    A live source whose event times are when things happened, by the wall clock, says `clocked = True`: rows come at most
    `max_out_of_orderness` after that, and it promises the clock less as much, so that it holds nobody up while
    nothing happens.

    Attributes that the runtime reads after each `read`:
        origin: index in `partitions()` of the partition that the rows came from.
        row: position in that partition of the first of the rows; the others follow without a gap.
    And two that it sets before `open`:
        on_bad_row: "fail", "skip" or "dead-letter", what to do with a row that does not parse.
        share: the partitions that `open` is called with; a checkpoint keeps their names.
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
    share: Sequence[str] = ()
    bad_rows: int = 0
    """Rows that did not parse and were dropped so far."""

    _most_passes: int = 1
    _most_rows: int | None = None
    """`repeat` and `count` as this constructor got them: a subclass may use those names for something else."""
    _opened: list[str] | None = None
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
        self._most_passes, self._most_rows = repeat, count

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "events" in vars(cls) and "read" not in vars(cls):
            # the runtime tells live sources by `read` being a coroutine function
            live = inspect.isasyncgenfunction(cls.events)
            cls.read = read_live if live else read_events  # type: ignore[method-assign, assignment]

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        return replace(cls.contract, endless=keys.get("repeat") == 0 and keys.get("count") is None)

    # -- what a source of rows offers; override what does not fit -----------------------------------------

    def events(self) -> Iterator[Event | Position] | AsyncIterator[Event | Position]:
        """The events, one after the other, from the beginning; `async def` for a live source. A `Position` may
        stand between them."""
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
        return self._event_rows.read(max_rows)

    def position(self) -> dict[str, int]:
        """How far each partition was read: rows, those that did not parse included. What `seek` takes.

        With `events` it is asked at each `yield`. What it says counts the row that is yielded if the source sets its
        position before the `yield`, and does not if it sets it behind: the first row shows which, by whether the position
        has moved. Where a source may pass over input before its first row, it should yield a `Position` instead."""
        return self._event_rows.position()

    def seek(self, positions: dict[str, int]) -> None:
        """Goes on after the row at which `position` answered `positions`. Before the first `read`, after
        `open`. ConfigurationError: rows were read, and neither `events` nor this method is overridden."""
        self._event_rows.seek(positions)

    def kept_position(self) -> Mapping[str, Any]:
        """What a checkpoint keeps of how far the source was read: the rows that `read` has returned, no more and no less.
        The runtime calls it, and `take_back` in the run that goes on; a source overrides `position` and `seek`."""
        return self._event_rows.kept_position()

    def take_back(self, kept: Mapping[str, Any]) -> None:
        """Goes on where `kept_position` was asked. Before the first `read`, after `open`."""
        self._event_rows.take_back(kept)

    def hold_position(self, *, held: bool) -> None:
        """A `read` that is awaited begins, or what it returned is about to be sent: between, the position counts
        nothing of it."""
        self._event_rows.hold(held=held)

    def lower_bound(self, now_ns: int) -> int | None:
        """The event-time promise at wall-clock time `now_ns`, in the schema's unit: no row below it will
        follow. None: nothing can be promised yet. `NO_MORE` once the input has ended.

        A `clocked` source promises the clock less `max_out_of_orderness`, any other nothing unless it overrides this.
        Rows below what was promised are behind it, as rows below their partition's watermark are."""
        schema = self.row_schema() if self.clocked else None
        if schema is None or schema.event_time is None:
            return None
        slack = self.max_out_of_orderness or timedelta(0)
        if (since := self._event_rows.waits_since) is not None:
            now_ns = min(now_ns, since)  # rows wait here because the output is full: they came in time
        return (now_ns - slack // timedelta(microseconds=1) * 1000) // schema.time_unit_ns

    def native_rows(self, rows: int) -> NativeRows | None:
        """The rows that `read` would return next, made by C alone and up to `rows` at once (fewer if these would have many
        bytes), for a chain of operators that takes them without Python; None: they are not. Called after `open`."""
        return None

    def progress(self) -> tuple[int, int]:
        """(bytes read, bytes in all) of the input as it is stored; (0, 0): unknown."""
        return (0, 0)

    def leave_out(self, bad: BadRow, file: str) -> None:
        """Leaves out a row that does not parse, as `on_bad_row` says. DataError: that is "fail"."""
        if self.on_bad_row == "fail":
            raise bad._replace(error=f"{bad.error} ({GO_ON})").raised(file)
        self.bad_rows += 1
        if self.on_bad_row == "dead-letter":
            if self._dead is None:
                self._dead = DeadRows(
                    self._context.name if self._context is not None else type(self).__name__
                )
            self._dead.add(file, bad)

    def take_dead(self) -> Batch | None:
        """The rows that did not parse since the last call, as dead letters (event, error, operator); None:
        none."""
        return self._dead.take() if self._dead is not None else None

    def take_late(self) -> Batch | None:
        """The rows since the last call that came too late to be put in order; None: none."""
        return None

    def on_stop(self) -> Any:
        self._event_rows.close()

    @cached_property
    def _event_rows(self) -> EventRows:
        """The rows of `events`, and how far they were read; a subclass need not call `__init__`."""
        return EventRows(self)

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
        from actorstream.connectors.checks import clock_problems, common_problems, live_problems

        problems = common_problems(keys) + (clock_problems(cls, keys) if cls.clocked else [])
        return problems + (live_problems(cls, keys) if cls.read is read_live else [])


def read_events(self: Source, max_rows: int) -> Batch | None:
    """`read` of a source that defines a plain `events`."""
    return self._event_rows.read(max_rows)


async def read_live(self: Source, max_rows: int) -> Batch | None:
    """`read` of a source whose `events` is async: waits for one event, then takes what is there."""
    return await self._event_rows.read_live(max_rows)


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
