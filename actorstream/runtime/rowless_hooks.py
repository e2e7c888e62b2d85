"""Rowless hooks: calls the hooks of a replica that get no rows of the input, such as on_timer, on_heartbeat and on_end, and
passes on what they return or yield."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from actorstream.actors.operator_errors import HookOf
from actorstream.errors import RunError
from actorstream.plan.hook_shapes import is_async
from actorstream.runtime.portions import result_portions, widths_of

if TYPE_CHECKING:
    from actorstream.runtime.ports import ReplicaPort


class RowlessHooks:
    """Those of one replica."""

    __slots__ = ("_replica", "_started")

    def __init__(self, replica: ReplicaPort) -> None:
        self._replica = replica
        self._started: asyncio.Future[None] | None = None

    async def start(self) -> None:
        """Runs on_start once: the worker asks for it, and before that an on_start that runs earlier and asks this actor. The
        others wait for its end. Raises what it raised."""
        if self._started is not None:
            await asyncio.shield(self._started)
            return
        done = self._started = asyncio.get_running_loop().create_future()
        self._replica.started = True
        try:
            coroutine = self.call("on_start")
            if coroutine is not None:
                await coroutine
        except BaseException as error:
            done.set_exception(error if isinstance(error, Exception) else RunError("on_start was cancelled"))
            done.exception()  # if nobody waits for it, the caller has it
            raise
        done.set_result(None)

    def call(self, hook: str, *arguments: Any) -> Any:
        """Calls a hook that may return or yield events. Returns a coroutine that does the same if the hook is async."""
        replica = self._replica
        method = getattr(replica.actor, hook)
        if is_async(method):
            replica.busy += 1
            return self._await(lambda: method(*arguments), hook)
        self._begins(hook)
        with HookOf(replica):
            result = method(*arguments)
            if inspect.iscoroutine(result):
                replica.busy += 1
                return self._await(lambda: result, hook)
            at_once = not inspect.isgenerator(result)
            if at_once:
                replica.outbox.gather(result)
        if at_once:
            self.dispatch(hook)
        else:
            replica.pausing.run(self._portions(result), partial(self.dispatch, hook))
        return None

    def _begins(self, hook: str) -> None:
        if self._replica.stamp is not None:
            self._replica.stamp.begins(hook)

    def dispatch(self, hook: str) -> None:
        """Pushes what a hook without rows has emitted."""
        stamp = self._replica.stamp
        if stamp is None:
            self._replica.dispatch()
            return
        stamp.begins(hook)  # another one may have begun while it awaited
        self._replica.dispatch()
        stamp.ends(hook)

    def _portions(self, results: Iterator[Any]) -> Iterator[None]:
        """Takes what a generator yields in portions, so that the rows of a large window never exist all at once."""
        replica = self._replica
        widths = widths_of(replica.schemas, replica.edges)
        with HookOf(replica):
            yield from result_portions(results, replica.outbox, widths, replica.outbox.gather)

    async def _await(self, begin: Callable[[], Any], hook: str) -> None:
        """Takes what an async hook returns or yields; `begin` calls the hook."""
        replica = self._replica
        self._begins(hook)
        try:
            with HookOf(replica):
                await replica.outbox.gather_awaited(begin())
        finally:
            replica.busy -= 1
        self.dispatch(hook)
