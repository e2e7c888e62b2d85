"""The async hooks of a unit's members. One of them runs at a time, and the unit takes no input meanwhile."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from actorstream.actors.awaited import failure

if TYPE_CHECKING:
    from actorstream.runtime.ports import UnitPort


class AsyncHooks:
    """Those of one unit.

    Attributes:
        task: the hook that awaits, or the end of the unit; None: nothing does.
        due: hooks that run before the next input, in this order.
        beside: hooks for messages that await while another member's hook does.
    """

    __slots__ = ("_unit", "beside", "due", "task")

    def __init__(self, unit: UnitPort) -> None:
        self._unit = unit
        self.task: asyncio.Task[None] | None = None
        self.due: deque[Coroutine[Any, Any, None]] = deque()
        self.beside: set[asyncio.Future[Any]] = set()

    def start(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine now. The unit gets a turn when it has ended; an error of it ends the run."""
        self.task = self._unit.worker.loop.create_task(coroutine)
        self.task.add_done_callback(self._ended)

    async def run_due(self) -> None:
        """Runs the hooks that are due, one after the other."""
        while self.due:
            await self.due.popleft()

    async def wait_beside(self) -> None:
        """Waits until no hook for a message awaits."""
        while self.beside:
            await asyncio.wait(self.beside)

    def stop(self) -> list[asyncio.Task[Any]]:
        """Drops the hooks that are due and cancels the one that awaits; returns its task, to be waited for."""
        while self.due:
            self.due.popleft().close()
        task, self.task = self.task, None
        return [task] if task is not None and task.cancel() else []

    def _ended(self, task: asyncio.Task[None]) -> None:
        stopped, self.task = self.task is None, None
        if stopped and task.cancelled():
            return
        error = failure(task, self._unit.head)
        if error is not None:
            self._unit.worker.fail(error)
        else:
            self._unit.publish()
            self._unit.worker.mark(self._unit)
