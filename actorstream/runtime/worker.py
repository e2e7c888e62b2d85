"""The life of a worker process: it builds its replicas from the plan, runs them on one event loop, and ends orderly or says
why it did not.

No worker is special, and none asks another one on the data path (AIR section 3.3). A coordinator, in whatever process, hears
of failures and of what has been prepared, and decides how the run ends.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import msgspec

from actorstream.checkpoint.state_writer import StateWriter
from actorstream.connectors.sink import END
from actorstream.control.controlled import obey
from actorstream.control.counter_reports import CounterReports
from actorstream.control.failures import Aborted, failed_message
from actorstream.control.messages import Collected, Ended, Finished, Prepared, Started
from actorstream.errors import ActorDeadError
from actorstream.native.alarms import Alarms
from actorstream.plan.fuse import takes_messages
from actorstream.runtime.barriers import Barriers
from actorstream.runtime.build import build_units
from actorstream.runtime.ending import TwoPhase, named, stop_replica
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.turns import Turns
from actorstream.runtime.unit import Unit

if TYPE_CHECKING:
    from actorstream.actors.peer_end import PeerEnd
    from actorstream.control.link import ControlLink
    from actorstream.plan.job import Job
    from actorstream.runtime.messages import Messages
    from actorstream.runtime.replica import Replica
    from actorstream.transports.base import Transport

CANCEL_S = 1.0
"""How long an async hook that was cancelled may take to come to its end."""


class Worker:
    """Runs the replicas of one process.

    Args:
        job: what is run: graph, plan, settings, counters.
        process: which of the plan's processes this is.
        transport: this process's end of the transport; None if no channel leaves the process.
        control: link to the coordinator; None when embedded (then `drain`, `commit` are called directly).
        peers: ways to the other processes, by number, for control actors.
    """

    def __init__(
        self,
        job: Job,
        process: int,
        transport: Transport | None,
        control: ControlLink | None,
        peers: Mapping[int, PeerEnd] = MappingProxyType({}),
    ) -> None:
        self.job, self.process, self.transport, self.control = job, process, transport, control
        self._peers = peers
        self.units: list[Unit] = []
        self.turn_ns = round(job.deploy.slice.total_seconds() * 1e9)
        """How long a unit may run before another one gets the loop."""
        self.turns = Turns(self, transport.doorbell if transport is not None else None)
        self.by_bit, self.ring = self.turns.by_bit, self.turns.ring
        self.mark, self.mark_later = self.turns.mark, self.turns.mark_later
        self.messages: Messages | None = None
        self._drained = self._suspended = False
        self._running = 0
        self._ended = asyncio.Event()
        self._prepares = asyncio.Event()
        """Set when the units of all workers have ended, or the run has: no barrier follows."""
        self._decided = asyncio.Event()
        """Set when all workers have prepared the end, or the run is given up."""
        self._starting: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        self._sinks = TwoPhase(kept=job.deploy.checkpoint is not None)
        self._counting: CounterReports | None = None
        if control is not None and not job.counters.is_shared:
            here = [each.id for each in job.plan.replicas if job.process_of(each) == process]
            self._counting = CounterReports(process, control, job.counters, here)
        spec = job.deploy.checkpoint
        writer = None if spec is None else StateWriter(spec.path, self.fail)
        self.barriers = Barriers(process, control, self._sinks, writer)

    # -- what units ask of their worker

    @property
    def starting(self) -> bool:
        """Whether some on_start may still be due, so that no rows flow."""
        return self._starting is not None

    def ref(self, name: str) -> Any:
        """An ActorRef of a replica of this run that takes messages ("actor" or "actor/INDEX"), in any worker."""
        if self.messages is None:
            raise ActorDeadError(
                f"no actor of topology {self.job.graph.name!r} takes messages: none defines on_message"
            )
        return self.messages.ref(name)

    def fail(self, error: BaseException) -> None:
        """Ends the run with `error`. The coordinator hears of it at once, however long the hooks of the end take."""
        if self._error is None:
            self._error = error
            if self.control is not None and not isinstance(error, Aborted):
                self.control.send(failed_message(self.process, error))
        self.turns.end()
        self._ended.set()
        self._prepares.set()
        if self._starting is not None:
            self._starting.cancel()

    def message_failed(self, error: BaseException) -> None:
        """Ends the run with the error of a hook for a message, unless its end is decided. Once this worker may have prepared, the
        coordinator decides: it may have decided to commit already."""
        if self._decided.is_set() or self._error is not None:
            pass
        elif self.control is not None and self._prepares.is_set():
            self.control.send(failed_message(self.process, error))
        else:
            self.fail(error)

    def unit_done(self, unit: Unit) -> None:
        self.barriers.unit_done(unit)
        self._running -= 1
        if self._running == 0:
            self._ended.set()

    # -- the run

    async def run(self) -> None:
        """From on_start to on_stop. Raises what ended the run early."""
        self.loop: asyncio.AbstractEventLoop = asyncio.get_running_loop()
        self.alarms = Alarms(self.loop)
        control = self.control
        if control is not None:
            control.listen(self.loop, self._on_control)
        try:
            if self._counting is not None:
                self._counting.open(self.loop)
            self._starting = self.loop.create_task(self._start())
            await self._starting
            self._starting = None
            await self._ended.wait()
            if self._error is None:
                await self._end()
        except BaseException as error:
            self._starting = None
            self.fail(error)
        finally:
            self.turns.end()
            await self._stop()
            if self._counting is not None:
                self._counting.close()
            if control is not None:
                control.leave()
        if self._error is not None:
            raise self._error
        if control is not None:
            control.send(Finished(self.process))

    async def _start(self) -> None:
        if self.control is not None:
            # To look at what the launcher's program holds would copy its pages into every worker.
            gc.freeze()
            gc.disable()  # it would look at everything that is built again and again
        if self.transport is not None:
            await self.transport.start()
        self.units = build_units(self)
        self._running = len(self.units)
        if any(takes_messages(actor.cls) for actor in self.job.graph.actors.values()):
            from actorstream.runtime.messages import Messages

            self.messages = Messages(self.job, self.process)
            await self.messages.start(self.replicas(), self._peers)
        for unit in reversed(self.units):  # consumers are ready before their producers speak
            for replica in unit.members:
                await replica.start()
        if self.control is not None:
            gc.freeze()  # the collector looks only at what is made from now on
            gc.enable()
            self.control.send(Started(self.process))
        if not self.units:
            self._ended.set()
        self.turns.open()
        self.barriers.open(self.units)
        if self._drained:
            self.drain()

    async def _end(self) -> None:
        """The units have ended: the sinks prepare once no barrier follows, and commit when those of all workers have prepared,
        unless the run has failed or was suspended meanwhile. Where nothing is kept, they need not wait to prepare."""
        control, keeps = self.control, self.job.deploy.checkpoint is not None
        await self.barriers.wait_written()
        if keeps and control is not None and not self._has_stopped():
            control.send(Ended(self.process))
            await self._prepares.wait()
        if self._has_stopped():
            return
        self._prepares.set()
        sinks = [each for each in self.replicas() if each.is_sink]
        prepared = {each: self._sinks.prepare(each, END) for each in sinks}
        if control is not None:
            kept = prepared.items() if keeps else ()
            tokens = {each.id: named(each, msgspec.msgpack.encode, token) for each, token in kept}
            control.send(Prepared(self.process, tokens))
            await self._decided.wait()
            if self._has_stopped():
                return
        self._decided.set()
        self._sinks.commit(END)
        if control is None:
            return
        for sink in sinks:
            for part in sink.actor.collected():  # type: ignore[attr-defined]
                control.send(Collected(self.process, sink.name, part))

    def _has_stopped(self) -> bool:
        """Whether nothing is prepared or committed any more."""
        return self._error is not None or self._suspended

    async def _stop(self) -> None:
        """Cancels what still awaits, aborts what was not committed, calls on_failure and on_stop."""
        self.alarms.close()
        self.turns.close()
        tasks = [task for unit in self.units for task in unit.stop()]
        if tasks:
            await asyncio.wait(tasks, timeout=CANCEL_S)
        if self.messages is not None:
            await self.messages.stop(CANCEL_S if self._has_stopped() else None)
        if self._error is not None and self.control is not None and self.job.deploy.checkpoint is not None:
            await self._decided.wait()  # a checkpoint that is being written may name what an abort would undo
        for replica in self.replicas():
            error = await stop_replica(replica, self._error, self._sinks)
            if error is not None and self._error is None:
                self.fail(error)
        if self.transport is not None:
            await self.transport.close()

    def replicas(self, actor: str | None = None) -> list[Replica]:
        """The replicas that run here, of all actors or of one."""
        return [each for unit in self.units for each in unit.members if actor in (None, each.name)]

    # -- control

    def drain(self) -> None:
        """Sources end now; the rest runs to its orderly end."""
        self._drained = True
        for unit in self.units:
            if isinstance(unit, SourceUnit):
                unit.drain()

    def barrier(self, barrier: int) -> None:
        """Every source of this worker starts `barrier`; what has ended keeps its last state."""
        if not self._prepares.is_set():  # at the end all is prepared under END
            self.barriers.ask(barrier)

    def prepare(self) -> None:
        """The units of all workers have ended."""
        self._prepares.set()

    def commit(self, barrier: int) -> None:
        """All workers have prepared `barrier`."""
        self._sinks.keep(barrier)  # also where this worker has failed
        if barrier == END:
            self._decided.set()
        elif self._error is None:
            self._sinks.commit(barrier)

    def suspend(self) -> None:
        """Stops at the last checkpoint. The run that resumes from it commits what sinks have prepared."""
        self._suspended = True
        self.turns.end()
        for event in (self._ended, self._prepares, self._decided):
            event.set()

    def abort(self, why: str) -> None:
        """Stops without a commit, unless it was decided already."""
        if not self._decided.is_set():
            self.fail(Aborted(why))
            self._decided.set()

    def lose(self, worker: int, why: str) -> None:
        """Another worker is lost."""
        if self.transport is not None:
            self.transport.lose(worker, why)

    def _on_control(self) -> None:
        assert self.control is not None
        for message in self.control.receive():
            try:
                obey(self, message)
            except BaseException as error:  # of a sink that prepares or commits, of a state
                self.fail(error)
        if self.control.closed:
            self.control.leave()
            self._sinks.keep()
            self.abort("the launcher is gone")
