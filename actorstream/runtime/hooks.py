"""Calls an actor's input hooks for whole batches: the only place where Python runs once an event.

Knows nothing of channels or turns: events or a batch in, outputs appended to an `Outbox`, errors decided by `on_error`.
Where the hook says what it returns, the loops are driven from C (`map`, `filter`, `chain`), so that an event costs its hook and
little more.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from types import GeneratorType
from typing import Any

from actorstream.actors.awaited import Awaited
from actorstream.actors.operator_errors import operator_error, stopped
from actorstream.errors import ActorstreamError, SchemaError
from actorstream.events.batch import BATCHES, Batch
from actorstream.events.event import Event
from actorstream.events.event_columns import EventColumns, Loop, loop_of
from actorstream.events.feed import Feed, is_over, taken
from actorstream.events.schema import Schema
from actorstream.native.emitter import Emitter
from actorstream.plan.hook_shapes import collector, is_async, shape_of
from actorstream.runtime.failures import Failures
from actorstream.runtime.portions import BYTES, Widths, metered, result_portions
from actorstream.topology.suggestions import no_output

NO_SEVERAL = (Event, Batch, str, bytes)
"""Types of results that count as one result, although Python can iterate over some of them."""


class Outbox(Emitter):
    """What one call of a hook produced, by output name; event lists are filled from C, batches come in order.

    `events` has for each output its list, or a Gathered. `touched`: whether something was emitted since it was emptied
    (what the loops over events append does not count)."""

    __slots__ = ("actor", "batches")

    def __init__(self, outputs: Iterable[str], actor: str) -> None:
        super().__init__({name: [] for name in ("default", *outputs)}, Event)
        self.actor = actor
        self.batches: list[tuple[str, Any]] = []  # a batch, or events that came before one

    def _emit(self, item: Any, to: str = "default") -> None:
        """Takes what `emit` leaves to it: a batch, or an event for what is no list."""
        self.touched = True
        try:
            events = self.events[to]
        except KeyError:
            raise ActorstreamError(no_output(f"actor {self.actor!r}", to, self.events)) from None
        if type(item) in BATCHES:
            if events:  # the order of events and batches that are emitted to the same output is kept
                self.batches.append((to, events.copy()))
                events.clear()  # a hook's results may be on their way into this very list
            self.batches.append((to, item))
        else:
            events.append(item)

    def gather(self, result: Any) -> None:
        """Takes what a hook has returned: an event, a batch, several of them, or nothing."""
        if result is None:
            return
        if type(result) in BATCHES or isinstance(result, NO_SEVERAL) or not isinstance(result, Iterable):
            self.emit(result, "default")
        else:
            for item in result:
                self.gather(item)

    async def gather_awaited(self, result: Any) -> None:
        """The same for what a hook that awaits has returned: its coroutine, or what it yields."""
        with Awaited():
            if isinstance(result, AsyncIterator):
                async for item in result:
                    self.gather(item)
            else:
                self.gather(await result)

    def mark(self) -> tuple[int, dict[str, int]]:
        """A point to go back to with `rollback`."""
        return len(self.batches), {to: len(events) for to, events in self.events.items()}

    def rollback(self, mark: tuple[int, dict[str, int]]) -> None:
        """Forgets what was emitted since `mark` (a stateless batch hook is then called again with parts of it)."""
        batches, lengths = mark
        settled: dict[str, list[Any]] = {}
        for to, item in self.batches[batches:]:
            if isinstance(item, list):
                settled.setdefault(to, item)  # the first begins with what was there at the mark
        del self.batches[batches:]
        for to, events in self.events.items():
            events[:] = settled.get(to, events)[: lengths.get(to, 0)]

    def take(self, to_batch: Callable[[str, Any], Batch]) -> list[tuple[str, Batch]]:
        """Everything produced, as (output, batch) in order, and empties the box."""
        out: list[tuple[str, Batch]] = []
        self.touched = False
        if self.batches:
            for to, item in self.batches:
                out.append((to, item if type(item) in BATCHES else to_batch(to, item)))
            self.batches.clear()
        for to, events in self.events.items():
            if events:
                out.append((to, to_batch(to, events)))
                self.events[to] = []
        return out

    def clear(self) -> bool:
        """Empties the box; whether there was something in it."""
        found = bool(self.batches) or any(self.events.values())
        self.touched = False
        self.batches.clear()
        for events in self.events.values():
            events.clear()
        return found


class EventCall:
    """A per-event hook over lists of events.

    Attributes:
        in_portions: whether `portions` must run it: a single event, or few, may make very many bytes.
        left: bytes that `portions` had left at its end.
    """

    takes_batch = whole = in_portions = False
    left = BYTES

    def __init__(self, hook: Callable[..., Any], outbox: Outbox, failures: Failures) -> None:
        self.hook, self.outbox, self.failures = hook, outbox, failures
        self.is_async = is_async(hook)
        self.collect = collector(shape_of(hook))
        self._yields = shape_of(hook) == "generator"
        self._widths: Widths = {}
        self._each = 0
        self._loop: Loop | None = None
        self._schema: Schema | None = None

    def gather(self, schema: Schema) -> None:
        """Nobody downstream takes the results of the hook, which are of `schema`, as events."""
        self._loop = None if self.is_async else loop_of(self.hook, shape_of(self.hook), schema)
        self._schema = schema

    def bound(self, widths: Widths) -> None:
        """Somebody takes these outputs. The hook runs in portions if it yields, or a row may have any number of bytes."""
        self._widths = widths
        width = widths.get("default")
        self._each = width.each if width is not None and self._yields and not width.names else 0
        wide = any(width.names for width in widths.values())
        self.in_portions = not self.is_async and (wide or self._each > 0)

    def run(self, events: list[Any] | Feed) -> None:
        """Calls the hook for each event, in order. A hook that raises costs the others nothing."""
        for _ in self.portions(events, None):
            """What is not bounded comes in one portion."""

    def portions(self, events: list[Any] | Feed, room: int | None = BYTES) -> Iterator[None]:
        """The same, which yields whenever the outbox should be emptied; the first time after `room` bytes. None: never."""
        return self._portions(events, iter(events), room)

    def _portions(
        self, events: Any, rest: Iterator[Any], room: int | None, results: Iterator[Any] | None = None
    ) -> Iterator[None]:
        """`rest`: the events that the hook has not been called for. `results`: what the hook has yielded so far for the last
        event, where it has been called already."""
        outbox, loop = self.outbox, None if type(events) is list else self._loop
        begun = partial(taken, rest, len(events))
        failed, goes_on = 0, results is not None
        while True:
            if results is None:  # of a hook that yields what it yields; else the events
                results = chain.from_iterable(map(self.hook, rest)) if self._yields else rest
            out: Any = outbox.events["default"]
            if loop is not None and not out and type(out) is not EventColumns:
                assert self._schema is not None
                out = outbox.events["default"] = EventColumns(self._schema)
            some: Any = results if room is None else metered(results, room, self._each, outbox, self._widths)
            try:
                if type(out) is EventColumns:
                    assert loop is not None
                    out.gather(loop, some)
                elif self._yields:
                    out.extend(some)
                else:
                    self.collect(out, map(self.hook, some))
            except Exception as error:
                if type(out) is EventColumns:
                    self._level(out, error, events, begun)
                failed = self._failed(events, begun(), failed, error)
                results = None
                continue
            if room is None or not some.full:
                if not (goes_on or is_over(rest)):
                    failed = self._failed(events, begun(), failed, stopped())
                    results = None
                    continue
                if type(out) is EventColumns and not out:
                    outbox.events["default"] = []  # what comes next may be events that are not gathered
                if room is not None:
                    self.left = some.room
                return
            yield
            room = BYTES

    def _failed(self, events: Any, begun: int, before: int, error: Exception) -> int:
        """Decides about the event that made the hook raise, the last of `begun`, and returns `begun`. `before`: how many
        had begun at the error before this one; an error that no further event has caused is not the hook's."""
        if begun <= before:
            raise error
        self.failures.failed(events[begun - 1], error)
        return begun

    def run_one(self, event: Any) -> Iterator[None] | None:
        """`run` for an event that came by itself: 0.4 us less (benchmark `latency`). Of a hook that yields more than a
        portion, the other portions are returned."""
        try:
            result = self.hook(event)
            if result is None:
                return None
            out = self.outbox.events["default"]
            if not (self._yields and self.in_portions):
                self.collect(out, (result,))
                return None
            some = metered(result, BYTES, self._each, self.outbox, self._widths)
            out.extend(some)
        except Exception as error:
            self.failures.failed(event, error)
            return None
        return self._portions([event], iter(()), BYTES, result) if some.full else None

    def _level(self, gathered: EventColumns, error: Exception, events: Any, begun: Callable[[], int]) -> None:
        """Forgets the row that was read when `error` was raised; OperatorError if a row was of another class."""
        gathered.level()
        stranger = gathered.stranger_in(error)
        if stranger is not None:
            # of a SchemaError nobody knows which event it was
            event = None if isinstance(error, SchemaError) else events[begun() - 1]
            raise operator_error(self.failures.actor, self.failures.replica, event, stranger) from None

    async def run_async(self, events: list[Any]) -> None:
        """The same for a hook that awaits; one event at a time, in order."""
        for event in events:
            try:
                await self.outbox.gather_awaited(self.hook(event))
            except Exception as error:
                self.failures.failed(event, error)


class BatchCall:
    """A per-batch hook; an actor that says it is `stateless` has a failing batch split until the row is found.

    Attributes:
        rest: what the hook yields, to be taken by `portions`; None: everything is in the outbox.
        whole: whether nothing may be sent before the hook has ended: a batch may be split, and its rows are sent only once.
    """

    takes_batch = True

    def __init__(self, hook: Callable[..., Any], outbox: Outbox, failures: Failures, stateless: bool) -> None:
        self.hook, self.outbox, self.failures, self.stateless = hook, outbox, failures, stateless
        self.is_async = is_async(hook)
        self.rest: Iterator[Any] | None = None
        self.whole = stateless and failures.mode != "fail"
        self._widths: Widths = {}

    def bound(self, widths: Widths) -> None:
        """Somebody takes these outputs."""
        self._widths = widths

    def portions(self, batch: Batch) -> Iterator[None]:
        """Takes what the hook has yielded for a batch; yields whenever the outbox should be emptied."""
        results, self.rest = self.rest, None
        assert results is not None
        try:
            yield from result_portions(results, self.outbox, self._widths, self.outbox.gather)
        except Exception as error:
            self.failures.failed(batch, error)

    def run(self, batch: Batch) -> None:
        mark = self.outbox.mark() if self.stateless else None
        try:
            self.outbox.gather(self.hook(batch))
        except Exception as error:
            for half in self._halves(batch, mark, error):
                self.run(half)

    def result(self, batch: Batch) -> Batch | None:
        """`run` for an outbox with nothing in it. What comes out is one batch nearly always: then it is returned, and the
        outbox left alone (a third of what a call costs otherwise)."""
        outbox = self.outbox
        try:
            made = self.hook(batch)
            if made is None or (type(made) in BATCHES and not outbox.touched):
                return made  # type: ignore[no-any-return]
            if type(made) is GeneratorType and not self.whole:
                self.rest = made
                return None
            self.outbox.gather(made)
        except Exception as error:
            for half in self._halves(batch, (0, {}) if self.stateless else None, error):
                self.run(half)
        return None

    def finished(self, batch: Batch, finish: Callable[[], Any]) -> Batch | None:
        """`result` of an actor with a state that has worked on a batch elsewhere: `finish` returns or raises what its
        hook would have."""
        try:
            made = finish()
            if made is None or (type(made) in BATCHES and not self.outbox.touched):
                return made  # type: ignore[no-any-return]
            self.outbox.gather(made)
        except Exception as error:
            self.failures.failed(batch, error)
        return None

    def _halves(self, batch: Batch, mark: tuple[int, dict[str, int]] | None, error: Exception) -> list[Batch]:
        """Returns the halves of a batch that made the hook raise, for it to run on; nothing, once `on_error` has decided."""
        if mark is not None:
            self.outbox.rollback(mark)
            if batch.rows > 1:
                half = batch.rows // 2
                return [batch.slice(0, half), batch.slice(half, batch.rows - half)]
        self.failures.failed(batch, error)
        return []

    async def run_async(self, batch: Batch) -> None:
        """The same for a hook that awaits. Where rows may have been sent meanwhile, the batch is not split."""
        mark = self.outbox.mark() if self.whole else None
        try:
            await self.outbox.gather_awaited(self.hook(batch))
        except Exception as error:
            for half in self._halves(batch, mark, error):
                await self.run_async(half)
