"""A running actor: takes messages from its mailbox, calls the hook, answers asks. One hook at a time, never two.

How it starts, restarts and stops is in lifecycle.py; who decides about its failures is in family.py.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Callable
from time import perf_counter
from types import AsyncGeneratorType, GeneratorType
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import Actor
from actorstream.actors.context import ControlContext
from actorstream.actors.mailbox import Entry, Mailbox
from actorstream.actors.signals import STOP, ObituarySignal, Signal, TickSignal
from actorstream.actors.supervision import Supervisor
from actorstream.actors.timers import Timer, Timers
from actorstream.actors.turns import RUN_SECONDS, TURN_MESSAGES
from actorstream.actors.watch import Deathwatch, Watches
from actorstream.errors import ActorDeadError, ActorError

if TYPE_CHECKING:
    from actorstream.actors.family import Family, StepQueue
    from actorstream.actors.ref import LocalRef
    from actorstream.actors.system import System

log = logging.getLogger("actorstream.actors")


class State(enum.Enum):
    """RUNNING is the only state that takes messages; in all but STOPPING and DEAD the mailbox accepts them."""

    STARTING = "starting"
    RUNNING = "running"
    FAILED = "failed"
    """A hook raised; the family has not decided yet."""
    SUSPENDED = "suspended"
    """Between two instances, or about to stop."""
    STOPPING = "stopping"
    DEAD = "dead"


RUNNING = State.RUNNING


class Cell:
    """Everything about one actor that outlives its instance: name, ref, mailbox, children, restart budget.

    `asleep` is true only while the cell runs, has no message and no turn is queued: then whoever queues a message
    calls `wake`. `in_flight` is the awaitable of an async hook and its entry; no turn runs meanwhile.
    """

    __slots__ = (
        "actor",
        "asleep",
        "cancelled",
        "context",
        "deathwatch",
        "doomed",
        "failure",
        "family",
        "hook",
        "idle",
        "in_flight",
        "incarnation",
        "kin",
        "lane",
        "mailbox",
        "make",
        "name",
        "parked",
        "reason",
        "ref",
        "side_task",
        "state",
        "stop_asked",
        "supervisor",
        "system",
        "task",
        "timers",
        "watching",
    )

    def __init__(
        self,
        system: System,
        name: str,
        make: Callable[[], Actor],
        supervisor: Supervisor,
        mailbox_bytes: int,
    ) -> None:
        self.system = system
        self.name = name
        self.make = make
        self.supervisor = supervisor
        self.mailbox = Mailbox(mailbox_bytes)
        self.context = ControlContext(self)
        self.timers = Timers(system.clock, self._ring)
        self.ref: LocalRef
        self.kin: Family  # the group this actor is a member of
        self.family: Family  # its own children
        self.lane: StepQueue
        self.actor: Actor | None = None
        self.hook: Callable[[Any], Any] = _nothing
        self.state = State.STARTING
        self.incarnation = 0
        self.asleep = False
        self.stop_asked = False
        self.doomed: Exception | None = None  # a child escalated while this one was starting
        self.failure: Exception | None = None  # what on_failure has not been told yet
        self.reason = ""
        self.watching = Watches()
        self.deathwatch = Deathwatch()
        self.in_flight: tuple[Any, Entry] | None = None
        self.task: asyncio.Task[None] | None = None  # awaits async hooks, one after the other
        self.side_task: asyncio.Task[Any] | None = None  # awaits an async on_start, on_stop or on_failure
        self.parked: asyncio.Future[None] | None = None
        self.idle: asyncio.Future[None] | None = None
        self.cancelled = False

    # -- messages in ----------------------------------------------------------------------------------------------

    def wake(self) -> None:
        """Queues a turn. Call it only while `asleep`."""
        self.asleep = False
        self.system.turns.ready(self)

    def signal(self, signal: Signal, message: Any = None) -> None:
        self.mailbox.force((message, 0, signal, None))
        if self.asleep:
            self.wake()

    def run(self) -> None:
        """The instance is started: takes messages from now on."""
        self.state = RUNNING
        if self.mailbox.queue:
            self.asleep = False
            self.system.turns.ready(self)
        else:
            self.asleep = True

    def request_stop(self) -> None:
        """Stops after the messages that are in the mailbox now; a failed or suspended actor at once."""
        self.stop_asked = True
        if self.state in (State.FAILED, State.SUSPENDED):
            self.kin.bury_soon(self, "stopped")
        elif self.state in (State.STARTING, RUNNING):
            self.signal(STOP)

    def fail(self, error: Exception) -> None:
        """A child's failure became this actor's own."""
        if self.state is State.STARTING:
            self.doomed = error
        elif self.state is RUNNING:
            self._fail(error)

    def _ring(self, timer: Timer) -> None:
        self.signal(TickSignal(timer))

    # -- turns ----------------------------------------------------------------------------------------------------

    def turn(self, end: float) -> bool:
        """Processes up to `TURN_MESSAGES` messages, or until `end` (perf_counter); True if more are waiting."""
        if self.state is not RUNNING or self.in_flight is not None:
            return False
        mailbox = self.mailbox
        queue = mailbox.queue
        if mailbox.used > mailbox.peak:
            mailbox.peak = mailbox.used
        hook = self.hook
        left = TURN_MESSAGES
        try:
            while queue and left:
                left -= 1
                entry = queue.popleft()
                message, size, reply, source = entry
                if reply is None:
                    try:
                        result = hook(message)
                        if result is not None:
                            result = self.resolve(result, False)
                            if hasattr(result.__class__, "__await__"):
                                self._begin(result, entry)
                                return False
                    except BaseException as error:
                        self._finish(entry, None, error)
                        return False
                    if source is None:
                        mailbox.used -= size
                        if mailbox.waiting:
                            self.admit()
                    else:
                        source.processed(size)
                elif not self._special(entry):
                    return False
                if perf_counter() >= end:
                    break
        finally:
            mailbox.processed += TURN_MESSAGES - left
        if queue:
            return True
        self.asleep = True
        return False

    def _special(self, entry: Entry) -> bool:
        """An ask or a signal. False if the turn ends here."""
        argument, _, reply, _ = entry
        hook = self.hook
        ask = not isinstance(reply, Signal)
        if isinstance(reply, TickSignal):
            if not self.timers.took(reply.timer):
                return True
            hook, argument = self.actor.on_timer, reply.timer.name  # type: ignore[union-attr]
        elif isinstance(reply, ObituarySignal):
            if not reply.watch.live:
                return True
            self.watching.told(argument.name, reply.watch)
        elif reply is STOP:
            self.state = State.SUSPENDED
            self.kin.bury_soon(self, "stopped")
            return False
        try:
            result = hook(argument)
            if result is not None:
                result = self.resolve(result, ask)
                if hasattr(result.__class__, "__await__"):
                    self._begin(result, entry)
                    return False
        except BaseException as error:
            return self._finish(entry, None, error)
        return self._finish(entry, result, None)

    def resolve(self, result: Any, ask: bool) -> Any:
        """A hook's result, generators run to their end: a list for an ask, else what they yield is emitted."""
        kind = result.__class__
        if kind is GeneratorType:
            if ask:
                return list(result)
            for item in result:
                if item is not None:
                    self.context.emit(item, "default")
            return None
        if kind is AsyncGeneratorType:
            return self._exhaust(result, ask)
        return result

    async def _exhaust(self, items: Any, ask: bool) -> list[Any] | None:
        if ask:
            return [item async for item in items]
        async for item in items:
            if item is not None:
                self.context.emit(item, "default")
        return None

    def _begin(self, awaitable: Any, entry: Entry) -> None:
        """Has an async hook awaited. One task per actor does that, and is kept from one message to the next."""
        self.in_flight = (awaitable, entry)
        if self.task is None:
            # not `create_task`: an eager one would run a hook within the turn that found it
            self.task = asyncio.Task(self._serve(), loop=self.system.loop, name=f"actor {self.name}")
        else:
            self.unpark()

    def unpark(self) -> None:
        """Lets the parked task look again: it awaits what is in flight, or ends."""
        if self.parked is not None:
            if not self.parked.done():
                self.parked.set_result(None)
            self.parked = None

    async def _serve(self) -> None:
        me = asyncio.current_task()
        end = perf_counter() + RUN_SECONDS
        while self.in_flight is not None:
            awaitable, entry = self.in_flight
            result: Any = None
            error: BaseException | None = None
            try:
                if perf_counter() >= end:
                    await asyncio.sleep(0)
                    end = perf_counter() + RUN_SECONDS
                result = await awaitable
            except asyncio.CancelledError as cancelled:
                if not self.cancelled and me is not None and me.cancelling():
                    raise  # not by us: the event loop is going down
                error = ActorError(f"actor {self.name!r}: its hook was cancelled").with_traceback(
                    cancelled.__traceback__
                )
            except BaseException as raised:
                error = raised
            if self.task is not me:
                return  # abandoned by `quiesce`: too late
            self.in_flight = None
            self._finish(entry, result, error)
            if self.cancelled:
                break
            if self.turn(end):
                self.system.turns.ready(self)
            if self.in_flight is None:
                self._idle()
                parked = self.parked = self.system.loop.create_future()
                await parked
                end = perf_counter() + RUN_SECONDS
        if self.task is me:
            self.task = None
            self.cancelled = False
            self._idle()

    def _idle(self) -> None:
        if self.idle is not None:
            if not self.idle.done():
                self.idle.set_result(None)
            self.idle = None

    # -- after a hook ---------------------------------------------------------------------------------------------

    def _finish(self, entry: Entry, result: Any, error: BaseException | None) -> bool:
        """Returns the entry's credit, answers its ask, reports its failure. True if the turn may go on."""
        _, size, reply, source = entry
        if source is None:
            self.mailbox.used -= size
            if self.mailbox.waiting:
                self.admit()
        else:
            source.processed(size)
        ask = reply is not None and not isinstance(reply, Signal)
        if error is None:
            if ask and not reply.done():
                reply.set_result(result)
            return True
        if not isinstance(error, Exception):
            if ask and not reply.done():
                reply.set_exception(self.dead_error(f"{error!r} stopped the system"))
            self.state = State.FAILED
            self.system.fatal(error, self.name)
            return False
        if ask:
            if not reply.done():
                reply.set_exception(settable(error))
            else:
                log.warning("actor %r: an ask whose asker is gone failed: %r", self.name, error)
            return True
        if self.state is RUNNING:
            self._fail(error)
        else:
            level = logging.INFO if self.cancelled else logging.ERROR  # who cancels a hook knows
            log.log(level, "actor %r failed while %s", self.name, self.state.value, exc_info=error)
        return False

    def _fail(self, error: Exception) -> None:
        self.state = State.FAILED
        self.asleep = False
        self.failure = error
        self.kin.failed(self)

    def admit(self) -> None:
        """Lets senders in that wait for credit."""
        for room in self.mailbox.admit():
            room.set_result(None)
        if self.asleep and self.mailbox.queue:
            self.wake()

    def abort(self) -> None:
        """Cancels whatever hook is being awaited."""
        if self.side_task is not None:
            self.side_task.cancel()
        if self.in_flight is not None and self.task is not None:
            self.cancelled = True
            self.system.loop.call_soon(self.task.cancel)  # not before it has taken up what is in flight

    def dead_error(self, reason: str = "") -> ActorDeadError:
        return ActorDeadError(
            f"actor {self.name!r} of system {self.system.name!r} is dead ({reason or self.reason or 'stopped'}): "
            "spawn it again, or watch it to learn when it stops"
        )


def settable(error: Exception) -> Exception:
    """A future refuses StopIteration."""
    if isinstance(error, StopIteration):
        wrapped = RuntimeError("a hook raised StopIteration")
        wrapped.__cause__ = error
        return wrapped
    return error


def _nothing(message: Any) -> None:
    raise ActorError("a message reached an actor that has no instance")
