"""map-async: awaits I/O for each event with many in flight, and sends results on in the order of the events.

It knows nothing of what is awaited; it starts, bounds, orders and cancels.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from actorstream.actors.actor import Actor
from actorstream.actors.contract import Contract
from actorstream.errors import Problem
from actorstream.events.batch import Batch
from actorstream.events.saved import save_rows, saved_rows
from actorstream.events.schema import Schema
from actorstream.operators.failed_rows import fail_event
from actorstream.operators.functions import returned_type

if TYPE_CHECKING:
    from actorstream.events.event import Event

WAKE = "map-async"
"""The timer that brings results on their way while no input comes."""


class Flight:
    """One event whose result is awaited. `task` is done before it is sent on; `input`, `batch` and `row` say where it
    stood."""

    __slots__ = ("batch", "event", "input", "row", "task")
    task: asyncio.Task[Any]

    def __init__(self, name: str, batch: Batch, row: int, event: Event) -> None:
        self.input, self.batch, self.row, self.event = name, batch, row, event


class MapAsync(Actor):
    """Awaits a function of each event. To be used with `function`, or as a base class that overrides `call`.

    Args:
        function: an `async def` of one event that answers an event, a list of events, or None for nothing.
        max_in_flight: events that were started and whose results were not sent on yet; input waits beyond it.
        ordered: results go on in the order of the events, so one that takes long holds up those behind it; False: as
            they come, unless an input downstream asks for an order.
        timeout: how long one event may take; beyond it has failed with a TimeoutError.

    An event that fails is decided by `on_error`, when its turn has come. When the run is aborted, what is in flight is
    cancelled and waited for. A checkpoint keeps the events in flight, which are then asked for again.

    Where a serial edge downstream needs the rows of a number together, it has answered a whole batch before it takes
    the next; with one replica behind a source it has not, because it numbers anew itself.
    """

    contract: ClassVar[Contract] = Contract(emits_in_order=True)

    function: Callable[[Any], Awaitable[Any]] | None = None
    max_in_flight: int = 64
    ordered: bool = True
    timeout: timedelta | None = None

    def __init__(
        self,
        function: Callable[..., Any] | None = None,
        *,
        max_in_flight: int | None = None,
        ordered: bool | None = None,
        timeout: timedelta | None = None,
    ) -> None:
        if function is not None:
            self.function = function
        if max_in_flight is not None:
            self.max_in_flight = max_in_flight
        if ordered is not None:
            self.ordered = ordered
        if timeout is not None:
            self.timeout = timeout

    async def call(self, event: Any) -> Any:
        """What becomes of one event: an event, a list of events, or None. Many of these run at a time."""
        assert self.function is not None
        return await self.function(event)

    # -- hooks

    _flights: Any = ()
    """A deque of flights that were started and not sent on, in the order of the events; the keys of a dict where any of
    them may be the next to go."""
    _restored: tuple[tuple[str, Batch], ...] = ()
    """Input and rows of what was in flight when a checkpoint was made."""

    def on_start(self) -> Any:
        self.ordered = self.ordered or bool(getattr(self.context, "in_order", False))
        self._flights = deque() if self.ordered else {}
        self._ready: deque[Flight] = deque()  # where the order does not matter: done and not sent on
        self._landed = asyncio.Event()
        self._taking = self._woken = False
        self._settles = bool(getattr(self.context, "settles", False))
        return self._start_again() if self._restored else None

    async def _start_again(self) -> None:
        """Asks again for what was in flight when a checkpoint was made."""
        restored, self._restored = self._restored, ()
        for self.context.input, batch in restored:
            await self.on_batch(batch)

    async def on_batch(self, batch: Batch) -> None:
        self._taking = True
        name = self.input
        try:
            for row, event in enumerate(batch.events()):
                while len(self._flights) >= self.max_in_flight:
                    await self._land()
                self._start(Flight(name, batch, row, event))
            if self._settles:
                await self._drain()
            self._send()
        finally:
            self._taking = False

    def on_timer(self, name: str) -> Any:
        if name == WAKE:
            self._woken = False
            self._send()

    async def on_end(self) -> None:
        await self._drain()

    async def on_stop(self) -> None:
        left = [flight.task for flight in self._flights]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def promise(self, frontier: int) -> int:
        """Nothing below the event times that are in flight."""
        for group in _by_batch(self._flights):
            times = group[0].batch.event_times()
            if times is not None:
                frontier = min(frontier, *(int(times[flight.row]) for flight in group))
        return frontier

    def snapshot(self) -> Any:
        """The state, and the events in flight."""
        waiting = [(group[0].input, save_rows(_rows_of(group))) for group in _by_batch(self._flights)]
        return {"state": self.state, "in_flight": waiting}

    def restore(self, snapshot: Any) -> None:
        self.state = snapshot["state"]
        inputs = self.context.inputs
        self._restored = tuple((name, saved_rows(inputs[name], rows)) for name, rows in snapshot["in_flight"])

    # -- flights

    def _start(self, flight: Flight) -> None:
        flight.task = asyncio.get_running_loop().create_task(self._limited(flight.event))
        flight.task.add_done_callback(partial(self._done, flight))
        if self.ordered:
            self._flights.append(flight)
        else:
            self._flights[flight] = None

    async def _limited(self, event: Any) -> Any:
        if self.timeout is None:
            return await self.call(event)
        limit = asyncio.timeout(self.timeout.total_seconds())
        try:
            async with limit:
                return await self.call(event)
        except TimeoutError as error:
            if not limit.expired():
                raise  # the call's own
            # what it cancelled says where the call was waiting
            raise TimeoutError(
                f"the call took longer than timeout = {_shown(self.timeout)}"
            ) from error.__cause__

    def _done(self, flight: Flight, task: asyncio.Task[Any]) -> None:
        """A result has come: whoever waits for one is told; if nobody does, a timer brings it on its way."""
        if not task.cancelled():
            task.exception()  # is known then: where the run ends before its turn, asyncio must not tell it
        if not self.ordered:
            self._ready.append(flight)
        self._landed.set()
        if not self._taking and not self._woken and self._may_send():
            self._woken = True
            self.set_timer(WAKE, after=1e-6)

    def _may_send(self) -> bool:
        """Whether something is done whose turn it is."""
        if not self.ordered:
            return bool(self._ready)
        return bool(self._flights) and self._flights[0].task.done()

    async def _drain(self) -> None:
        while self._flights:
            await self._land()

    async def _land(self) -> None:
        """Waits until something can be sent on, and emits it."""
        while not self._may_send():
            self._landed.clear()
            await self._landed.wait()
        self._send()

    def _send(self) -> None:
        """Emits what is done: as far as the order goes, or all of it."""
        going: list[Flight] = []
        while self._may_send():
            if self.ordered:
                going.append(self._flights.popleft())
            else:
                going.append(self._ready.popleft())
                self._flights.pop(going[-1])
        for group in _by_batch(going):
            self._emit(group)

    def _emit(self, flights: list[Flight]) -> None:
        """Emits the results of flights of one batch."""
        made: list[Any] = []
        rows: list[int] = []
        for flight in flights:
            error = _error_of(flight.task)
            if error is not None:
                fail_event(self, flight.event, error)
                continue
            found = flight.task.result()
            found = found if isinstance(found, list | tuple) else () if found is None else (found,)
            made.extend(found)
            rows.extend([flight.row] * len(found))
        if made:
            batch = Batch.of_events(Schema.of(type(made[0])), made)
            self.emit(batch.inherit(flights[0].batch, np.array(rows, np.uint32)))

    # -- what the topology asks of the class

    @classmethod
    def contract_of(cls, keys: dict[str, Any]) -> Contract:
        ordered = cls.ordered if keys.get("ordered") is None else keys["ordered"]
        return replace(cls.contract, order_sensitive=not ordered, timely=not ordered)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        if "default" in cls.outputs:
            return dict(cls.outputs)
        function = keys.get("function") or cls.function
        found = returned_type(function) if function is not None and cls.call is MapAsync.call else None
        return {"default": found or returned_type(cls.call) or inputs[0]}

    @classmethod
    def check(cls, keys: dict[str, Any], inputs: list[Schema], base: Path) -> list[Problem]:
        problems = []
        function = keys.get("function") or cls.function
        if cls.call is MapAsync.call and function is None:
            problems.append(Problem("function", "is missing", '"package.module:function", an async def'))
        elif cls.call is MapAsync.call and not iscoroutinefunction(function):
            problems.append(Problem("function", f"{function!r} awaits nothing", "an async def of one event"))
        flights = keys.get("max_in_flight", cls.max_in_flight)
        if flights < 1:
            problems.append(Problem("max_in_flight", f"is {flights}", "at least 1"))
        timeout = keys.get("timeout", cls.timeout)
        if timeout is not None and timeout <= timedelta(0):
            problems.append(
                Problem("timeout", f"is {timeout.total_seconds():g} s", "a duration longer than 0")
            )
        return problems


def map_async(
    max_in_flight: int = 64, ordered: bool = True, timeout: timedelta | None = None
) -> Callable[[Callable[..., Any]], type[MapAsync]]:
    """Makes an actor class of an `async def` of one event::

        @map_async(max_in_flight=100)
        async def enrich(click: Click) -> Profile | None:
            return await look_up(click.user)

    The class takes the function's place in its module, so a topology names it as "package.module:enrich"."""

    def made(function: Callable[..., Any]) -> type[MapAsync]:
        attributes = {
            "__module__": function.__module__,
            "__qualname__": function.__qualname__,
            "__doc__": function.__doc__,
            "function": staticmethod(function),
            "max_in_flight": max_in_flight,
            "ordered": ordered,
            "timeout": timeout,
        }
        return type(function.__name__, (MapAsync,), attributes)

    return made


def _shown(duration: timedelta) -> str:
    seconds = duration.total_seconds()
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms"


def _error_of(task: asyncio.Task[Any]) -> Exception | None:
    if task.cancelled():
        return RuntimeError("the call was cancelled, by itself or by what it called")
    error = task.exception()
    if error is not None and not isinstance(error, Exception):
        raise error
    return error


def _by_batch(flights: Iterable[Flight]) -> list[list[Flight]]:
    """Flights that follow each other, by the batch that they came in, and its input."""
    groups: list[list[Flight]] = []
    for flight in flights:
        if groups and groups[-1][0].batch is flight.batch and groups[-1][0].input == flight.input:
            groups[-1].append(flight)
        else:
            groups.append([flight])
    return groups


def _rows_of(flights: list[Flight]) -> Batch:
    return flights[0].batch.take(np.array([flight.row for flight in flights], np.uint32))
