"""Rowless hooks: calls the hooks of a replica that get no rows of the input, such as on_timer, on_heartbeat and on_end, and
passes on what they return or yield."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from actorstream.actors.operator_errors import operator_error
from actorstream.plan.hook_shapes import is_async
from actorstream.runtime.portions import result_portions, widths_of

if TYPE_CHECKING:
    from actorstream.runtime.replica import Replica


class RowlessHooks:
    """Those of one replica."""

    __slots__ = ("_replica",)

    def __init__(self, replica: Replica) -> None:
        self._replica = replica

    def call(self, hook: str, *arguments: Any) -> Any:
        """Calls a hook that may return or yield events. Returns a coroutine that does the same if the hook is async."""
        replica = self._replica
        method = getattr(replica.actor, hook)
        if is_async(method):
            replica.busy += 1
            return self._await(lambda: method(*arguments), hook)
        self._begins(hook)
        try:
            result = method(*arguments)
            if inspect.iscoroutine(result):
                replica.busy += 1
                return self._await(lambda: result, hook)
            at_once = not inspect.isgenerator(result)
            if at_once:
                self.take(result)
        except Exception as error:
            raise operator_error(replica.name, replica.replica, None, error) from error
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
        try:
            yield from result_portions(results, replica.outbox, widths, self.take)
        except Exception as error:
            raise operator_error(replica.name, replica.replica, None, error) from error

    async def _await(self, answer: Callable[[], Any], hook: str) -> None:
        """Takes what an async hook returns or yields; `answer` calls the hook."""
        replica = self._replica
        self._begins(hook)
        try:
            result = answer()
            if inspect.isasyncgen(result):
                async for item in result:
                    self.take(item)
            else:
                self.take(await result)
        except Exception as error:
            raise operator_error(replica.name, replica.replica, None, error) from error
        finally:
            replica.busy -= 1
        self.dispatch(hook)

    def take(self, result: Any) -> None:
        """Puts what a hook has returned into the outbox: events, batches, or several of them."""
        if result is None:
            return
        if isinstance(result, (list, tuple)) or inspect.isgenerator(result):
            for item in result:
                self.take(item)
        else:
            self._replica.outbox.emit(result, "default")
