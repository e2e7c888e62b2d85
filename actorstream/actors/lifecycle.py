"""How one actor starts, is taken down for a restart, comes back, and stops. Who decides which is in family.py.

Every wait here ends: a hook that does not is cancelled after the system's `stop_timeout`, and abandoned after twice.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from actorstream.actors.awaited import Awaited
from actorstream.actors.cell import State
from actorstream.actors.signals import Signal
from actorstream.errors import ActorError

if TYPE_CHECKING:
    from actorstream.actors.actor import Actor
    from actorstream.actors.cell import Cell

log = logging.getLogger("actorstream.actors")


async def start(cell: Cell) -> None:
    """Starts the first instance, which `cell.actor` is already. What on_start raises goes to who spawned it."""
    try:
        await _on_start(cell)
    except BaseException as error:
        if not isinstance(error, Exception | asyncio.CancelledError):
            cell.system.fatal(error, cell.name)
        # `fatal` cancels its owner, and others may cancel who spawns: a burial comes to its end nevertheless
        await asyncio.shield(bury(cell, f"on_start raised {error!r}"))
        raise
    if cell.state is not State.STARTING:
        raise cell.dead_error("stopped while it was starting")
    cell.run()


async def revive(cell: Cell) -> None:
    """Starts the next instance of a suspended actor; a failure of its constructor or on_start is the actor's."""
    cell.state = State.STARTING
    cell.incarnation += 1
    cell.family.open()
    try:
        cell.actor = cell.make()
        await _on_start(cell)
    except Exception as error:
        if cell.state is State.STARTING:
            cell.state = State.FAILED
            cell.failure = error
            cell.kin.failed(cell)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        cell.state = State.FAILED
        cell.system.fatal(error, cell.name)
    else:
        if cell.state is State.STARTING:
            cell.run()


async def _on_start(cell: Cell) -> None:
    actor = cell.actor
    assert actor is not None
    actor._bind(cell.context)
    cell.hook = message_hook(actor)
    cell.doomed = None
    with Awaited():
        result = actor.on_start()
        if result is not None:
            await _await(cell, cell.resolve(result, False))
    if cell.doomed is not None:
        raise cell.doomed


async def retire(cell: Cell) -> None:
    """Takes the instance down for a restart. The mailbox keeps its messages, the ref stays good."""
    cell.state = State.SUSPENDED
    cell.asleep = False
    await _undo(cell, graceful=False)


async def bury(cell: Cell, reason: str) -> None:
    """Stops an actor for good. What is left in its mailbox is answered or dropped; at the end watchers are told."""
    if cell.state in (State.STOPPING, State.DEAD):
        return
    cell.state = State.STOPPING
    cell.asleep = False
    cell.reason = reason
    empty_mailbox(cell)
    await _undo(cell, graceful=True)
    cell.state = State.DEAD
    cell.unpark()
    cell.system.forget(cell)
    cell.deathwatch.tell(reason)


def empty_mailbox(cell: Cell) -> None:
    """Closes the mailbox of an actor that is no more: who waits for room or an answer gets ActorDeadError."""
    left, rooms = cell.mailbox.close()
    for room in rooms:
        if not room.done():
            room.set_exception(cell.dead_error())
    for _, size, reply, source in left:
        if source is not None:
            source.processed(size)
        if isinstance(reply, Signal):
            continue
        cell.mailbox.dropped += 1
        if reply is not None and not reply.done():
            reply.set_exception(cell.dead_error())


async def _undo(cell: Cell, graceful: bool) -> None:
    await report(cell)
    cell.timers.cancel_all()
    cell.watching.end_all()
    await cell.family.stop_all(graceful)
    if cell.actor is not None:
        await _last_hook(cell, cell.actor.on_stop, "on_stop")
        cell.actor._bind(None)
        cell.actor = None


async def report(cell: Cell) -> bool:
    """Calls on_failure of an instance that has failed, once; False if that failed as well."""
    await quiesce(cell)
    error, cell.failure = cell.failure, None
    if error is None or cell.actor is None:
        return True
    return await _last_hook(cell, cell.actor.on_failure, "on_failure", error)


async def _last_hook(cell: Cell, hook: Callable[..., Any], name: str, *args: Any) -> bool:
    try:
        with Awaited():
            result = hook(*args)
            if result is not None:
                await _await(cell, cell.resolve(result, False), cell.system.stop_timeout)
    except Exception as error:
        log.error("actor %r: %s raised %r", cell.name, name, error, exc_info=error)
        return False
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        cell.system.fatal(error, cell.name)
        return False
    return True


async def _await(cell: Cell, result: Any, limit: float | None = None) -> None:
    """Awaits an async life-cycle hook, in a task of its own, so that `abort` and `limit` (seconds) can end it."""
    if not hasattr(result.__class__, "__await__"):
        return
    task = cell.side_task = asyncio.ensure_future(result)
    alarm = None
    if limit is not None:
        alarm = cell.system.clock.call_at(cell.system.clock.time() + limit, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        me = asyncio.current_task()
        if me is not None and me.cancelling():
            raise
        raise ActorError(
            f"actor {cell.name!r}: a life-cycle hook was cancelled: it did not end in time"
        ) from None
    finally:
        cell.side_task = None
        if alarm is not None:
            alarm.cancel()


async def quiesce(cell: Cell) -> None:
    """Waits until no hook is being awaited."""
    clock, limit = cell.system.clock, cell.system.stop_timeout
    task = cell.side_task
    if cell.in_flight is None and (task is None or task is asyncio.current_task()):
        return
    patience = clock.call_at(clock.time() + limit, cell.abort)
    try:
        if task is not None:
            await asyncio.wait([task])
        if cell.in_flight is not None:
            idle = cell.idle = cell.system.loop.create_future()
            abandon = clock.call_at(clock.time() + 2 * limit, _abandon, cell, idle)
            try:
                await idle
            finally:
                abandon.cancel()
    finally:
        patience.cancel()


def _abandon(cell: Cell, idle: asyncio.Future[None]) -> None:
    if idle.done():
        return
    log.error("actor %r: a hook ignored its cancellation and is abandoned", cell.name)
    entry = cell.in_flight[1] if cell.in_flight is not None else None
    cell.in_flight = cell.task = cell.idle = None
    cell.cancelled = False
    idle.set_result(None)
    if (
        entry is not None
        and entry[2] is not None
        and not isinstance(entry[2], Signal)
        and not entry[2].done()
    ):
        entry[2].set_exception(cell.dead_error("its hook did not end"))


def message_hook(actor: Actor) -> Callable[[Any], Any]:
    """What takes control messages: `on_message` if defined, else `on_event`."""
    hook: Callable[[Any], Any] | None = getattr(actor, "on_message", None) or getattr(actor, "on_event", None)
    if hook is not None:
        return hook
    name = actor.context.name

    def refuse(message: Any) -> None:
        raise ActorError(
            f"actor {name!r}: {type(actor).__name__} takes no messages (got a {type(message).__name__}): "
            "define on_message or on_event"
        )

    return refuse
