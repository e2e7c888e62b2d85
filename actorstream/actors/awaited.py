"""The await of a hook. If a hook is cancelled, the task that awaits it must not end as if the run had stopped that task."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Any

from actorstream.errors import OperatorError


class Awaited:
    """`with Awaited(): await hook`. RuntimeError in place of a CancelledError where nobody has asked this task to end meanwhile:
    the hook has raised it, or what the hook awaits."""

    __slots__ = ("_requests", "_task")

    def __enter__(self) -> None:
        task: Any = asyncio.current_task()
        self._task, self._requests = task, task.cancelling()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, asyncio.CancelledError) and self._task.cancelling() <= self._requests:
            raise RuntimeError("the hook was cancelled, by itself or by what it awaits").with_traceback(
                trace
            ) from None


def failure(task: asyncio.Task[Any], actor: Any) -> BaseException | None:
    """The error that ended a task in which hooks of `actor` run. If a hook cancelled the task, the error names the actor."""
    if not task.cancelled():
        return task.exception()
    said = "an async hook, of it or of an actor that it calls, cancelled the task that awaits the hook"
    return OperatorError(actor.name, actor.replica, said)
