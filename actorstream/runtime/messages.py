"""Control messages to operators: every replica that defines `on_message` can be told and asked, from any worker.

Joins a worker's replicas to a `System`, and the workers' systems to each other by ways that the host of the run has made.
Nothing on the data path passes here.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from actorstream.actors.actor import Actor
from actorstream.actors.awaited import Awaited
from actorstream.actors.operator_errors import operator_error
from actorstream.actors.system import System
from actorstream.errors import ActorDeadError
from actorstream.plan.fuse import takes_messages

if TYPE_CHECKING:
    from actorstream.actors.peer_end import PeerEnd
    from actorstream.actors.ref import ActorRef
    from actorstream.plan.job import Job
    from actorstream.runtime.replica import Replica
    from actorstream.runtime.unit import Unit


class Inlet(Actor):
    """The mailbox of one replica: its messages run between the replica's turns, never within one."""

    def __init__(self, replica: Replica) -> None:
        self.target = replica

    async def on_message(self, message: Any) -> Any:
        """Hands the message to the operator; what it emits meanwhile flows on, what it returns is the answer."""
        try:
            return await self._answer(message)
        except (Exception, asyncio.CancelledError):
            raise
        except BaseException as error:  # sys.exit, whoever asked: the system would stop, and the run go on
            self.on_failure(error)
            raise ActorDeadError(f"operator {self.target.name!r} has ended the run: {error!r}") from error

    def on_failure(self, error: BaseException) -> None:
        """Ends the run by an error that nobody else hears of: that of a `tell`. If that came too late for rows, they are lost."""
        replica = self.target
        if not (replica.ended and isinstance(error, ActorDeadError)):
            worker: Any = replica.unit.worker  # type: ignore[union-attr]
            worker.message_failed(operator_error(replica.name, replica.replica, None, error))

    async def _answer(self, message: Any) -> Any:
        replica = self.target
        unit: Any = replica.unit
        if unit.worker.starting:  # the on_start of somebody asks
            await replica.start()
        if not replica.started or replica.busy:
            answered: asyncio.Future[Any] = unit.worker.loop.create_future()
            unit.async_hooks.due.append(self._in_turn(message, answered))
            unit.worker.mark(unit)
            return await answered
        answer = replica.actor.on_message(message)  # type: ignore[attr-defined]
        if inspect.isawaitable(answer):
            done = unit.worker.loop.create_future()
            unit.async_hooks.beside.add(done)  # the unit takes no input meanwhile
            replica.busy += 1
            try:
                answer = await answer
            finally:
                replica.busy -= 1
                unit.async_hooks.beside.discard(done)
                done.set_result(None)
                unit.worker.mark(unit)
        self._dispatch(unit)
        return answer

    async def _in_turn(self, message: Any, answered: asyncio.Future[Any]) -> None:
        """Runs the hook for a message that came while another hook of the replica was at work."""
        try:
            answer = self.target.actor.on_message(message)  # type: ignore[attr-defined]
            if inspect.isawaitable(answer):
                with Awaited():
                    answer = await answer
            self._dispatch(self.target.unit)  # type: ignore[arg-type]
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if not answered.done():
                answered.set_exception(error)
        if not answered.done():
            answered.set_result(answer)

    def _dispatch(self, unit: Unit) -> None:
        """Sends on what the hook emitted. ActorDeadError: the operator has sent its last row before."""
        replica = self.target
        if replica.ended:
            if replica.outbox.clear():
                who = f"operator {replica.name!r} (replica {replica.replica}) has ended: it still answers, but sends no"
                raise ActorDeadError(f"{who} more rows, so what it emitted for this message is lost")
        elif unit.worker.starting or any(member.busy for member in unit.members):
            # the emitted rows may be theirs to take, or of an actor downstream that has not started
            unit.async_hooks.due.append(self._dispatch_later(unit))
            unit.worker.mark(unit)
        else:
            try:
                replica.dispatch_of("on_message")
            except Exception as error:  # of an actor downstream, not of the one that asked
                unit.worker.fail(error)
                raise
            unit.worker.mark(unit)

    async def _dispatch_later(self, unit: Unit) -> None:
        self._dispatch(unit)


class Messages:
    """One worker's system, with an actor "NAME/INDEX" for each of its replicas that takes messages."""

    def __init__(self, job: Job, process: int) -> None:
        self.job = job
        self.system = System(_system_name(process))

    async def start(self, replicas: list[Replica], peers: Mapping[int, PeerEnd]) -> None:
        """Spawns the inlets of this worker's replicas, and joins the other workers' systems, by process."""
        await self.system.start()
        for replica in replicas:
            if takes_messages(type(replica.actor)):
                name = f"{replica.name}/{replica.replica}"
                await self.system.spawn(Inlet, name=name, supervision="resume", replica=replica)
        joining = [self.system.adopt(end, peer=_system_name(peer)) for peer, end in peers.items()]
        await asyncio.gather(*joining)

    def ref(self, name: str) -> ActorRef:
        """The ref of "actor" (its replica 0) or "actor/INDEX". ActorDeadError: no such replica takes messages."""
        actor, _, index = name.partition("/")
        for planned in self.job.plan.replicas:
            if planned.actor == actor and str(planned.index) == (index or "0"):
                if not takes_messages(self.job.graph.actors[actor].cls):
                    raise ActorDeadError(f"actor {actor!r} takes no messages: its class has no on_message")
                home = _system_name(self.job.process_of(planned))
                return self.system.ref(f"{home}/{actor}/{planned.index}")
        known = ", ".join(f"{planned.actor}/{planned.index}" for planned in self.job.plan.replicas)
        raise ActorDeadError(f"the topology has no replica {name!r}; it has {known}")

    async def stop(self, patience: float | None) -> None:
        """Ends the inlets, each after the messages it has. patience: seconds; then hooks that await are cancelled at once."""
        await self.system.stop(patience=patience)


def _system_name(process: int) -> str:
    return f"worker-{process}"
