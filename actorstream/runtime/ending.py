"""How replicas end: what sinks have prepared, at barriers and at the end, is committed or undone (two phases), and the last hooks
are called. When each of it happens is the worker's part."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from actorstream.actors.awaited import Awaited
from actorstream.actors.operator_errors import operator_error
from actorstream.connectors.sink import END

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.runtime.replica import Replica


class TwoPhase:
    """The tokens of a worker's sinks, by replica and barrier. Errors of sinks become OperatorErrors that name them.
    kept: whether a checkpoint has them too, so that a resumed run commits what was decided and this one did not."""

    def __init__(self, *, kept: bool = False) -> None:
        self._tokens: dict[Replica, dict[int, Any]] = {}
        self._kept, self._decided = kept, 0

    def prepare(self, replica: Replica, barrier: int) -> Any:
        """Makes what the sink received so far safe; returns its token."""
        token = named(replica, replica.actor.prepare, barrier)  # type: ignore[attr-defined]
        self._tokens.setdefault(replica, {})[barrier] = token
        return token

    def commit(self, barrier: int) -> None:
        """Makes visible what was prepared up to `barrier`, oldest first: a barrier that never came in everywhere is
        part of the next one that did."""
        self.keep(barrier)
        for replica, tokens in self._tokens.items():
            for each in sorted(number for number in tokens if number <= barrier):
                token = tokens.pop(each)
                if token is not None:
                    named(replica, replica.actor.commit, token)  # type: ignore[attr-defined]

    def keep(self, barrier: int = END) -> None:
        """Has `abort` leave what was prepared up to `barrier` to a resumed run: its commit is decided, or may be."""
        prepared = [each for tokens in self._tokens.values() for each in tokens if each <= barrier]
        self._decided = max(prepared, default=self._decided) if self._kept else 0

    def abort(self, replica: Replica) -> None:
        """Undoes what the sink prepared, as far as no commit of it was decided, and drops what it received since.
        OperatorError: the first that failed; the rest was done nevertheless."""
        tokens = self._tokens.pop(replica, {})
        undecided = sorted((each for each in tokens if each > self._decided), reverse=True)
        failed: BaseException | None = None
        for token in [*map(tokens.get, undecided), *([None] if self._decided < END else [])]:
            try:
                named(replica, replica.actor.abort, token)  # type: ignore[attr-defined]
            except Exception as error:
                failed = failed or error
        if failed is not None:
            raise failed


def named(replica: Replica, method: Callable[..., Any], *arguments: Any) -> Any:
    """Calls a method of an actor; OperatorError, which names its replica, in place of what it raises."""
    try:
        return method(*arguments)
    except BaseException as error:  # a panic of Rust is no Exception
        raise operator_error(replica.name, replica.replica, None, error) from error


async def stop_replica(
    replica: Replica, failure: BaseException | None, sinks: TwoPhase
) -> BaseException | None:
    """The hooks of a replica's end: a failed run aborts what a sink did not commit and calls on_failure; on_stop where
    on_start was called. What they emit goes nowhere. Returns the first error; each is called nevertheless."""
    actor = replica.actor
    calls: list[Callable[[], Any]] = []
    if failure is not None:
        if replica.is_sink:
            calls.append(lambda: sinks.abort(replica))
        if replica.started:
            calls.append(lambda: actor.on_failure(failure))
    if replica.started:
        calls.append(actor.on_stop)
    first: BaseException | None = None
    for call in calls:
        try:
            result = call()
            if inspect.isawaitable(result):
                with Awaited():
                    await result
        except Exception as error:
            first = first or operator_error(replica.name, replica.replica, None, error)
    return first
