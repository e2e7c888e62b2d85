"""How a worker ends: its sinks prepare once no barrier follows, and commit when those of all workers have (two phases); and what
they have prepared at barriers before."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.actors.operator_errors import operator_error
from actorstream.connectors.sink import END
from actorstream.control.messages import Collected, Ended, Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from actorstream.control.link import ControlLink
    from actorstream.runtime.barriers import Barriers
    from actorstream.runtime.replica import Replica


class TwoPhase:
    """The tokens of a worker's sinks, by replica and barrier. Errors of sinks become OperatorErrors that name them."""

    def __init__(self) -> None:
        self._tokens: dict[Replica, dict[int, Any]] = {}

    def prepare(self, replica: Replica, barrier: int) -> Any:
        """Makes what the sink received so far safe; returns its token."""
        token = named(replica, replica.actor.prepare, barrier)  # type: ignore[attr-defined]
        self._tokens.setdefault(replica, {})[barrier] = token
        return token

    def prepare_end(self, replicas: Iterable[Replica], *, encoded: bool) -> dict[int, bytes]:
        """All input has ended: every sink prepares. Returns the tokens by replica as msgpack, if they are to be `encoded`."""
        tokens: dict[int, bytes] = {}
        for replica in replicas:
            if replica.is_sink:
                token = self.prepare(replica, END)
                if encoded:
                    tokens[replica.id] = named(replica, msgspec.msgpack.encode, token)
        return tokens

    def commit(self, barrier: int) -> None:
        """Makes visible what was prepared up to `barrier`, oldest first: a barrier that never came in everywhere is
        part of the next one that did."""
        for replica, tokens in self._tokens.items():
            for each in sorted(number for number in tokens if number <= barrier):
                token = tokens.pop(each)
                if token is not None:
                    named(replica, replica.actor.commit, token)  # type: ignore[attr-defined]

    def abort(self, replica: Replica) -> None:
        """Undoes what the sink prepared and did not commit, and drops what it received since. OperatorError: the first
        that failed; the rest was done nevertheless."""
        tokens = self._tokens.pop(replica, {})
        failed: BaseException | None = None
        for token in [*(tokens[each] for each in sorted(tokens, reverse=True)), None]:
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


class Ending:
    """The end of one worker's run, as far as it needs the others'.

    Args:
        process: which of the plan's processes the worker is.
        control: link to the coordinator; None when embedded (then nobody else has to prepare).
        sinks: what prepares and commits. barriers: whose snapshots must have reached the coordinator before the end.
        keeps: whether there are checkpoints, so that all workers' units must have ended before anybody prepares.
    """

    def __init__(
        self, process: int, control: ControlLink | None, sinks: TwoPhase, barriers: Barriers, *, keeps: bool
    ) -> None:
        self.process, self.control, self.sinks, self.keeps = process, control, sinks, keeps
        self.barriers = barriers
        self._preparing = asyncio.Event()
        self._committed = asyncio.Event()
        self._suspended = False

    @property
    def prepares(self) -> bool:
        """Whether the sinks prepare the end: no barrier follows."""
        return self._preparing.is_set()

    @property
    def decided(self) -> bool:
        """Whether it was decided how the run ends."""
        return self._committed.is_set()

    def prepare(self) -> None:
        """The units of all workers have ended, or the run has failed."""
        self._preparing.set()

    def decide(self) -> None:
        """All workers have prepared the end, or the run is given up."""
        self._committed.set()

    def suspend(self) -> None:
        """The run stops where its last checkpoint is: nothing is prepared or committed any more."""
        self._suspended = True
        self.prepare()
        self.decide()

    async def run(self, replicas: list[Replica], failed: Callable[[], bool]) -> None:
        """The units of this worker have ended: its sinks prepare and, unless the run has `failed` meanwhile, commit."""
        await self.barriers.wait_written()
        if self.keeps and self.control is not None and not (failed() or self._suspended):
            self.control.send(Ended(self.process))
            await self._preparing.wait()
        if failed() or self._suspended:
            return
        self._preparing.set()
        tokens = self.sinks.prepare_end(replicas, encoded=self.keeps)
        if self.control is not None:
            self.control.send(Prepared(self.process, tokens))
            await self._committed.wait()
            if failed() or self._suspended:
                return
        self.sinks.commit(END)
        for replica in replicas:
            if replica.is_sink and self.control is not None:
                for part in replica.actor.collected():  # type: ignore[attr-defined]
                    self.control.send(Collected(self.process, replica.name, part))


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
                await result
        except Exception as error:
            first = first or operator_error(replica.name, replica.replica, None, error)
    return first
