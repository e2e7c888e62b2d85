"""The children of one actor (or of the system): who is a member, what their failures lead to, in which order they stop.

Life-cycle steps of actors that depend on each other run one after the other, on a `StepQueue`.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from actorstream.actors.cell import Cell, State
from actorstream.actors.lifecycle import bury, report, retire, revive
from actorstream.actors.supervision import Decision, Grouping, affected

if TYPE_CHECKING:
    from actorstream.actors.system import System

log = logging.getLogger("actorstream.actors")


class StepQueue:
    """Runs steps in the order they were posted, one at a time; no task exists while there is none."""

    __slots__ = ("_steps", "_task")

    def __init__(self) -> None:
        self._steps: deque[Callable[[], Awaitable[None]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def post(self, step: Callable[[], Awaitable[None]]) -> None:
        self._steps.append(step)
        if self._task is None:
            # not `create_task`: an eager one would run steps before `_task` is set
            self._task = asyncio.Task(self._run(), loop=asyncio.get_running_loop())

    async def _run(self) -> None:
        try:
            while self._steps:
                step = self._steps.popleft()
                try:
                    await step()
                except Exception:
                    log.exception("a life-cycle step failed")
        finally:
            self._task = None


class Family:
    """A group of siblings under one parent. `parent` is None for the actors that the system itself holds."""

    __slots__ = ("_closed", "_grouping", "_lane", "_system", "members", "parent")

    def __init__(self, system: System, parent: Cell | None, grouping: Grouping) -> None:
        self._system = system
        self._grouping = grouping
        self._lane = StepQueue()
        self._closed = False
        self.parent = parent
        self.members: dict[str, Cell] = {}

    @property
    def closed(self) -> bool:
        return self._closed

    def open(self) -> None:
        self._closed = False

    def join(self, cell: Cell) -> None:
        cell.kin = self
        cell.lane = StepQueue() if self._grouping == "one_for_one" else self._lane
        self.members[cell.name] = cell

    def leave(self, cell: Cell) -> None:
        self.members.pop(cell.name, None)

    # -- failures -------------------------------------------------------------------------------------------------

    def failed(self, cell: Cell) -> None:
        """`cell` is FAILED; decides and acts as soon as no other step of its lane is under way."""
        cell.lane.post(partial(self._settle, cell))

    async def _settle(self, cell: Cell) -> None:
        error = cell.failure
        if cell.state is not State.FAILED or error is None:  # a sibling's restart, or a stop, came first
            return
        healthy = await report(cell)
        if cell.state is not State.FAILED:  # stopped meanwhile
            return
        if healthy and not cell.stop_asked:
            decision = cell.supervisor.decide(error, self._system.clock.time())
        else:
            decision = Decision(
                "stop", why="it was asked to stop" if healthy else "on_failure raised as well"
            )
        why = f" ({decision.why})" if decision.why else ""
        log.error("actor %r failed, will %s%s", cell.name, decision.strategy, why, exc_info=error)
        if decision.strategy == "resume":
            cell.run()
        elif decision.strategy == "stop":
            await bury(cell, f"failed: {error!r}")
        elif decision.strategy == "escalate":
            await bury(cell, f"failed: {error!r}{why}")
            self._escalate(cell, error)
        else:
            await self._restart(cell, decision.delay)

    async def _restart(self, failed: Cell, delay: float) -> None:
        names = affected(self._grouping, list(self.members), failed.name)
        cells = [self.members[name] for name in names]
        cells = [cell for cell in cells if cell.state in (State.RUNNING, State.FAILED, State.SUSPENDED)]
        for cell in reversed(cells):
            await retire(cell)
        if delay:
            for cell in reversed(cells):
                if cell.stop_asked:  # it does not wait for an instance that would stop at once
                    await bury(cell, "stopped")
            clock = self._system.clock
            clock.call_at(clock.time() + delay, failed.lane.post, partial(self._revive, cells))
        else:
            await self._revive(cells)

    async def _revive(self, cells: list[Cell]) -> None:
        for cell in cells:
            if cell.state is State.SUSPENDED:
                await revive(cell)

    def _escalate(self, cell: Cell, error: Exception) -> None:
        error.add_note(f"escalated by actor {cell.name!r} of system {self._system.name!r}")
        if self.parent is not None:
            self.parent.fail(error)
        else:
            self._system.fatal(error, cell.name)

    # -- stopping -------------------------------------------------------------------------------------------------

    def bury_soon(self, cell: Cell, reason: str) -> None:
        cell.lane.post(partial(bury, cell, reason))

    def abort(self, cell: Cell) -> None:
        """Stops a member at once: it takes no more messages, and the hook that it awaits is cancelled."""
        if cell.state is State.RUNNING:
            cell.state = State.SUSPENDED
        cell.abort()
        self.bury_soon(cell, "stopped")

    async def stop_all(self, graceful: bool) -> None:
        """Stops the members, the last started first; gracefully: each after the messages it has.

        Nobody can join from now until `open`."""
        self._closed = True
        while self.members:
            name = next(reversed(self.members))
            await self._stop(self.members[name], graceful)

    async def _stop(self, cell: Cell, graceful: bool) -> None:
        dead: asyncio.Future[None] = self._system.loop.create_future()
        cancel = cell.ref.on_termination(lambda reason: None if dead.done() else dead.set_result(None))
        clock, limit = self._system.clock, self._system.stop_timeout
        alarm = clock.call_at(clock.time() + limit, self._lose_patience, cell)
        try:
            if graceful:
                cell.request_stop()
            else:
                cell.stop_asked = True
                self.bury_soon(cell, "stopped")
            await dead
        finally:
            alarm.cancel()
            cancel()

    def _lose_patience(self, cell: Cell) -> None:
        log.error(
            "actor %r does not stop within %g s: its hook is cancelled", cell.name, self._system.stop_timeout
        )
        cell.abort()
        self.bury_soon(cell, "stopped, a hook was cancelled")
