"""The start of one replica: its on_start runs once, whoever asks for it first, and the others wait for its end."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from actorstream.errors import RunError

if TYPE_CHECKING:
    from actorstream.runtime.ports import Startable


class Start:
    """Called by the worker for each replica, and before by who is asked by an on_start that runs earlier."""

    __slots__ = ("_done", "_replica")

    def __init__(self, replica: Startable) -> None:
        self._replica = replica
        self._done: asyncio.Future[None] | None = None

    async def __call__(self) -> None:
        """Runs on_start; if somebody else does already, waits for its end. Raises what it raised."""
        if self._done is not None:
            await asyncio.shield(self._done)
            return
        done = self._done = asyncio.get_running_loop().create_future()
        self._replica.started = True
        try:
            coroutine = self._replica.call("on_start")
            if coroutine is not None:
                await coroutine
        except BaseException as error:
            done.set_exception(error if isinstance(error, Exception) else RunError("on_start was cancelled"))
            done.exception()  # if nobody waits for it, the caller has it
            raise
        done.set_result(None)
