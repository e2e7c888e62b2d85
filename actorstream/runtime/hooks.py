"""Calls an actor's input hooks for whole batches: the only place where Python runs once an event.

Knows nothing of channels or turns: events or a batch in, outputs appended to an `Outbox`, errors decided by `on_error`.
The loops are driven from C (`map`, `filter`, `chain`), so that an event costs its hook and little more.
"""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from typing import Any

from actorstream.errors import ActorstreamError, OperatorError, SchemaError
from actorstream.events.batch import BATCHES, Batch
from actorstream.events.event import Event
from actorstream.events.feed import Feed, taken
from actorstream.events.schema import Schema
from actorstream.native.emitter import Emitter
from actorstream.runtime.event_columns import EventColumns, Loop, loop_of
from actorstream.runtime.hook_shapes import answerer, collector, flatten, is_async, shape_of
from actorstream.topology.suggestions import no_output

EVENT_PREVIEW = 2000


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
            raise self._unknown(to) from None
        if type(item) in BATCHES:
            self._settle(to)
            self.batches.append((to, item))
        else:
            events.append(item)

    def _unknown(self, to: str) -> ActorstreamError:
        return ActorstreamError(no_output(f"actor {self.actor!r}", to, self.events))

    def _settle(self, to: str) -> None:
        """Keeps the order of events and batches emitted to the same output."""
        events = self.events[to]
        if events:
            self.batches.append((to, events.copy()))
            events.clear()  # a hook's results may be on their way into this very list

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
            events[:] = settled.get(to, events)[: lengths[to]]

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


class Failures:
    """`on_error` of one actor: raise, count and skip, or make dead letters."""

    __slots__ = ("actor", "dead", "given", "mode", "outbox", "replica")

    def __init__(self, actor: str, replica: int, mode: str, outbox: Outbox) -> None:
        self.actor, self.replica, self.mode, self.outbox = actor, replica, mode, outbox
        self.dead = 0
        self.given: tuple[Schema, Callable[[Exception], Exception] | None] | None = None
        """What the hook works on: the schema it should be of, and how to blame who made it."""

    def failed(self, what: Any, error: Exception) -> None:
        """Decides about one event (or batch) that made a hook raise; OperatorError under `on_error = "fail"`, and always
        one of the actor upstream if `what` is not what it says to emit."""
        if isinstance(error, OperatorError):
            raise error
        self._blame_maker(what, error)
        if self.mode == "fail":
            raise operator_error(self.actor, self.replica, what, error) from error
        self.dead += what.rows if isinstance(what, Batch) else 1
        if self.mode == "dead-letter":
            letters = what.events() if isinstance(what, Batch) else [what]
            text = described(error)
            for event in letters:
                self.outbox.emit(DeadLetter(preview(event), text, self.actor), "dead")

    def _blame_maker(self, what: Any, error: Exception) -> None:
        schema, unfit = self.given or (None, None)
        if schema is None or unfit is None or isinstance(what, Batch):  # a batch finds out itself
            return
        try:
            Batch.of_events(schema, [what]).columns()
        except SchemaError as wrong:
            raise unfit(wrong) from error


class DeadLetter(Event):
    """A row of every actor's `.dead` output: the event as text, the error, the operator that raised."""

    event: str
    error: str
    operator: str


def preview(item: Any) -> str:
    """An event or batch as text of bounded length."""
    if item is None:
        return ""
    try:
        if isinstance(item, Batch) and item.rows:
            text = f"a batch of {item.rows} rows, the first {item.slice(0, 1).events()[0]!r}"
        else:
            text = repr(item)
    except Exception as error:
        text = f"a {type(item).__name__} that cannot be shown: {error}"
    return text if len(text) <= EVENT_PREVIEW else f"{text[:EVENT_PREVIEW]}... ({len(text)} characters)"


def described(error: BaseException) -> str:
    """An error as one text, whatever its own methods do."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception as wrong:
        return f"{name} (its text cannot be shown: {type(wrong).__name__})"


def operator_error(actor: str, replica: int, what: Any, error: BaseException) -> OperatorError:
    """The typed error of a hook that raised, with the traceback from the user's code on."""
    if isinstance(error, OperatorError):
        return error
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/actorstream/runtime/" not in frame.filename]
    lines = traceback.format_list(own or frames) + traceback.format_exception_only(error)
    title = str(error) if isinstance(error, ActorstreamError) else described(error)
    return OperatorError(actor, replica, title, preview(what), "".join(lines))


class EventCall:
    """A per-event hook over lists of events."""

    takes_batch = False

    def __init__(self, hook: Callable[..., Any], outbox: Outbox, failures: Failures) -> None:
        self.hook, self.outbox, self.failures = hook, outbox, failures
        self.is_async = is_async(hook)
        self.collect = collector(hook)
        self._answer = answerer(shape_of(hook))
        self._loop: Loop | None = None
        self._schema: Schema | None = None

    def gather(self, schema: Schema) -> None:
        """Nobody downstream takes the hook's answers, which are of `schema`, as events."""
        self._loop = None if self.is_async else loop_of(self.hook, shape_of(self.hook), schema)
        self._schema = schema

    def run(self, events: list[Any] | Feed) -> None:
        """Calls the hook for each event, in order. A hook that raises costs the others nothing."""
        out = self.outbox.events["default"]
        if type(events) is list:
            rest = iter(events)
            begun: Callable[[], int] = partial(taken, rest, len(events))
        else:
            rest, begun = events.start()  # type: ignore[union-attr]
            if self._loop is not None and not out:
                self._run_gathered(self._loop, events, rest, begun)
                return
        failed = 0
        while True:
            try:
                self.collect(out, rest)
                return
            except Exception as error:
                failed = self._failed(events, begun(), failed, error)
                out = self.outbox.events["default"]

    def _failed(self, events: Any, begun: int, before: int, error: Exception) -> int:
        """Decides about the event that made the hook raise, the last of `begun`, and returns `begun`. `before`: how many
        had begun at the error before this one; an error that no further event has caused is not the hook's."""
        if begun <= before:
            raise error
        self.failures.failed(events[begun - 1], error)
        return begun

    def run_one(self, event: Any) -> None:
        """`run` for an event that came by itself: 0.4 us less (benchmark `latency`)."""
        try:
            result = self.hook(event)
            if result is not None:
                self._answer(self.outbox.events["default"], result)
        except Exception as error:
            self.failures.failed(event, error)

    def _run_gathered(self, loop: Loop, events: Any, rest: Iterator[Any], begun: Callable[[], int]) -> None:
        assert self._schema is not None
        outbox, failures = self.outbox, self.failures
        gathered = outbox.events["default"] = EventColumns(self._schema)
        failed = 0
        while True:
            try:
                loop(rest, *gathered.values)
                break
            except Exception as error:
                gathered.level()
                stranger = gathered.stranger_in(error)
                if stranger is not None:
                    event = events[begun() - 1]
                    raise operator_error(failures.actor, failures.replica, event, stranger) from None
                failed = self._failed(events, begun(), failed, error)
        if not gathered:
            outbox.events["default"] = []  # what comes next may be events that are not gathered

    async def run_async(self, events: list[Any]) -> None:
        """The same for a hook that awaits; one event at a time, in order."""
        emit = self.outbox.emit
        for event in events:
            try:
                result = self.hook(event)
                if isinstance(result, AsyncIterator):
                    async for item in result:
                        emit(item, "default")
                    continue
                result = await result
                for item in flatten((result,)):
                    emit(item, "default")
            except Exception as error:
                self.failures.failed(event, error)


class BatchCall:
    """A per-batch hook; an actor that says it is `stateless` has a failing batch split until the row is found."""

    takes_batch = True

    def __init__(self, hook: Callable[..., Any], outbox: Outbox, failures: Failures, stateless: bool) -> None:
        self.hook, self.outbox, self.failures, self.stateless = hook, outbox, failures, stateless
        self.is_async = is_async(hook)

    def run(self, batch: Batch) -> None:
        mark = self.outbox.mark() if self.stateless else None
        try:
            self._gather(self.hook(batch))
        except Exception as error:
            self._failed(batch, mark, error)

    def answer(self, batch: Batch) -> Batch | None:
        """`run` for an outbox with nothing in it. What comes out is one batch nearly always: then it is answered, and the
        outbox left alone (a third of what a call costs otherwise)."""
        outbox = self.outbox
        try:
            made = self.hook(batch)
            if made is None:
                return None
            if type(made) in BATCHES and not outbox.touched:
                return made  # type: ignore[no-any-return]
            self._gather(made)
        except Exception as error:
            self._failed(batch, (0, dict.fromkeys(outbox.events, 0)) if self.stateless else None, error)
        return None

    def finished(self, batch: Batch, finish: Callable[[], Any]) -> Batch | None:
        """`answer` of an actor with a state that has worked on a batch elsewhere: `finish` answers or raises what its
        hook would have."""
        try:
            made = finish()
            if made is None or (type(made) in BATCHES and not self.outbox.touched):
                return made  # type: ignore[no-any-return]
            self._gather(made)
        except Exception as error:
            self.failures.failed(batch.events()[0] if batch.rows == 1 else batch, error)
        return None

    def _failed(self, batch: Batch, mark: tuple[int, dict[str, int]] | None, error: Exception) -> None:
        if mark is not None:
            self.outbox.rollback(mark)
        if mark is not None and batch.rows > 1:
            self._split(batch)
        else:
            self.failures.failed(batch.events()[0] if batch.rows == 1 else batch, error)

    def _split(self, batch: Batch) -> None:
        half = batch.rows // 2
        self.run(batch.slice(0, half))
        self.run(batch.slice(half, batch.rows - half))

    def _gather(self, result: Any) -> None:
        if result is None:
            return
        if isinstance(result, Batch):
            self.outbox.emit(result, "default")
            return
        for item in result:
            if item is not None:
                self.outbox.emit(item, "default")

    async def run_async(self, batch: Batch) -> None:
        try:
            result = self.hook(batch)
            if isinstance(result, AsyncIterator):
                async for item in result:
                    self.outbox.emit(item, "default")
            else:
                self._gather(await result)
        except Exception as error:
            self.failures.failed(batch, error)
