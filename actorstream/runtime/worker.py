"""A worker process: builds its replicas from the plan, runs them in turns on one loop, ends orderly or says why not.

No worker is special and none asks anybody on the data path (AIR section 3.3). The launcher only starts workers,
hears of failures, and relays that all have prepared.
"""

from __future__ import annotations

import asyncio
import gc
import random
from collections import deque
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.connectors.sink import END
from actorstream.errors import ActorDeadError
from actorstream.runtime.alarms import Alarm, Alarms
from actorstream.runtime.barriers import Barriers
from actorstream.runtime.build import build_units
from actorstream.runtime.control import Aborted, ControlPipe, Finished, Started, failed_message, obey
from actorstream.runtime.ending import Ending
from actorstream.runtime.fuse import takes_messages
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.spin import Spin
from actorstream.runtime.state_writer import StateWriter
from actorstream.runtime.two_phase import TwoPhase
from actorstream.runtime.unit import Status, Unit

if TYPE_CHECKING:
    from actorstream.native.doorbell import Doorbell
    from actorstream.runtime.compile import Job
    from actorstream.runtime.dependency.unit import ProgramUnit
    from actorstream.runtime.messages import Messages
    from actorstream.runtime.operator_unit import OperatorUnit
    from actorstream.runtime.replica import Replica
    from actorstream.transports.base import Transport

LOOP_NS = 5_000_000
"""Longest time between two looks at the event loop."""
LONG_SPIN_NS = 1_000_000
PUBLISH_S = 0.02
CANCEL_S = 1.0
"""How long an async hook that was cancelled may take to come to its end."""


class Worker:
    """Runs the replicas of one process.

    Args:
        job: what is run: graph, plan, settings, counters.
        process: which of the plan's processes this is.
        transport: this process's end of the transport; None if no channel leaves the process.
        control: pipe to the launcher; None when embedded (then `drain`, `commit` are called directly).
    """

    def __init__(
        self, job: Job, process: int, transport: Transport | None, control: ControlPipe | None
    ) -> None:
        self.job, self.process, self.transport, self.control = job, process, transport, control
        self.bell: Doorbell | None = transport.doorbell if transport is not None else None
        self.units: list[Unit] = []
        self.by_bit: dict[int, Unit] = {}
        self.ready: deque[Unit] = deque()
        self.watched: OperatorUnit | ProgramUnit | None = None
        """The unit that took an event or a message by itself last: a worker that waits takes its next one at once."""
        self._taken: OperatorUnit | ProgramUnit | None = None  # that unit, if it has: its turn is over
        self._turning = self._scheduled = False
        self._parked, self._parked_at = False, 0
        self.messages: Messages | None = None
        self._publishing = self._drained = False
        self._running = 0
        self._ended = asyncio.Event()
        self._open = False  # whether units may run: after every on_start, before the first on_stop
        self._starting: asyncio.Task[None] | None = None
        self._error: BaseException | None = None
        self._sinks = TwoPhase()
        spec = job.deploy.checkpoint
        writer = None if spec is None else StateWriter(spec.path, self.fail)
        self.barriers = Barriers(process, control, self._sinks, writer)
        self._ending = Ending(process, control, self._sinks, self.barriers, keeps=spec is not None)
        self._spin = Spin(job.spins)
        self.turn_ns = round(job.deploy.slice.total_seconds() * 1e9)
        """How long a unit may run before another one gets the loop."""
        testing = job.deploy.testing
        self.delay_s = testing.delay.total_seconds() if testing is not None else 0.0
        self.watches = not self.delay_s  # an event by itself waits for nobody
        self._random = random.Random(testing.seed + process if testing is not None else 0)

    # -- what units ask of their worker

    @property
    def starting(self) -> bool:
        """Whether some on_start may still be due, so that no rows flow."""
        return self._starting is not None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return self._loop

    def ring(self, bit: int) -> None:
        """The doorbell of channels inside this process."""
        if self.delay_s:
            self._mark_late(self.by_bit[bit])
        else:
            self.mark(self.by_bit[bit])

    def _mark_late(self, unit: Unit) -> None:
        """A hand-over is delayed, as `[testing]` says."""
        self.mark_later(unit, self._random.random() * self.delay_s)

    def mark(self, unit: Unit) -> None:
        """Puts a unit into the ready queue."""
        if not unit.ready and not unit.done:
            unit.ready = True
            self.ready.append(unit)
            if self._open and not self._turning and not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._turns)

    def mark_later(self, unit: Unit, seconds: float) -> Alarm:
        """Marks a unit after a while."""
        return self.alarms.call_later(seconds, self.mark, unit)

    def ref(self, name: str) -> Any:
        """An ActorRef of a replica of this run that takes messages ("actor" or "actor/INDEX"), in any worker."""
        if self.messages is None:
            raise ActorDeadError(
                f"no actor of topology {self.job.graph.name!r} takes messages: none defines on_message"
            )
        return self.messages.ref(name)

    def fail(self, error: BaseException) -> None:
        """Ends the run with `error`. The launcher hears of it at once, whatever the hooks of the end will take."""
        if self._error is None:
            self._error = error
            if self.control is not None and not isinstance(error, Aborted):
                self.control.send(failed_message(self.process, error))
        self._open = False
        self._ended.set()
        self._ending.prepare()
        if self._starting is not None:
            self._starting.cancel()

    def unit_done(self, unit: Unit) -> None:
        self.barriers.unit_done(unit)
        self._running -= 1
        if self._running == 0:
            self._ended.set()

    def pass_on(self) -> None:
        """Between two jumbo tuples: another thread of the process may go first."""

    # -- turns

    def _turns(self) -> None:
        """Runs ready units until none is left or the loop must be looked at; then spins a little, and parks."""
        self._scheduled = False
        if not self._open:
            return
        self._turning = True
        try:
            bell, deadline = self.bell, monotonic_ns() + LOOP_NS
            if bell is not None:
                self._listen(
                    bell, 0
                )  # before all else: the way of an event to a parked worker is cold as it is
            ready = self.ready
            woken, self._parked = self._parked, False
            while True:
                unit: Unit | None = self._taken
                if unit is not None or ready:
                    if unit is not None:
                        status, self._taken, first = unit.status, None, False
                    else:
                        first = True
                        unit = ready.popleft()
                        unit.ready = False
                        status = unit.step()
                    if status is Status.READY and not unit.ready:
                        if self.delay_s:
                            self._mark_late(unit)
                        else:
                            unit.ready = True
                            ready.append(unit)
                    if woken:  # only now: what woke the worker is dealt with first
                        woken = False
                        self._unpark(deadline - LOOP_NS)
                    if monotonic_ns() > deadline or not self._open:
                        break
                elif woken:
                    woken = first = False
                    self._unpark(deadline - LOOP_NS)
                else:
                    first = False
                    if not self._rest():
                        return
                if bell is not None and self._taken is None:
                    self._listen(bell, 0, first=first)
            self._scheduled = True
            self._loop.call_soon(self._turns)
        except BaseException as error:
            self.fail(error)
        finally:
            self._turning = False

    def _listen(self, bell: Doorbell, ns: int, *, first: bool = False) -> None:
        """Marks the units that ring within `ns`, or notes the one that has taken an event that came by itself: one of that
        goes before units that are ready if it is `first`, after one of these."""
        watched = self.watched
        if watched is not None and (first or not self.ready):
            rung = watched.wait(bell, ns)
        else:
            rung = bell.wait(ns) if ns else bell.collect()
        if rung is None:
            self._taken = watched
        elif rung:
            self.mark_rung(rung)

    def mark_rung(self, rung: list[int]) -> None:
        """Marks the units of bits of the doorbell."""
        for bit in rung:
            unit = self.by_bit[bit]
            if not unit.ready and not unit.done:
                if self.delay_s:
                    self._mark_late(unit)
                else:
                    unit.ready = True
                    self.ready.append(unit)

    def _unpark(self, woken: int) -> None:
        """Rings need not wake this worker any more. `woken`: when it was."""
        self.bell.unpark()  # type: ignore[union-attr]
        self._spin.slept(woken - self._parked_at)

    def _rest(self) -> bool:
        """Nothing is ready. Whether the worker is to look again; else it sleeps until told."""
        self._publish_soon()
        for unit in self.units:
            if unit.blocked:
                unit.flush()  # what waits for other consumers than the one that is full
        bell = self.bell
        if self.ready or bell is None:
            return bool(self.ready)
        if self.job.always_spin:
            # the loop is looked at about once a millisecond
            self._listen(bell, min(LONG_SPIN_NS, self._alarm_ns()))
            if self._taken is None and not self.ready:
                self.alarms.run_due()
                if not self.ready:
                    self._scheduled = True
                    self._loop.call_soon(self._turns)
                    return False
            return True
        if self._spin.ns and self._hopes():
            self._listen(bell, min(self._spin.ns, self._alarm_ns()))
            if self._taken is None and not self.ready:
                self.alarms.run_due()
        if self._taken is not None or self.ready or not bell.park():
            return True
        self._parked, self._parked_at = True, monotonic_ns()
        return False

    def _alarm_ns(self) -> int:
        """How long until the next alarm is due."""
        return max(0, self.alarms.next_ns() - monotonic_ns())

    def _hopes(self) -> bool:
        """Whether another worker may soon have something for this one. One that only waits for time does not spin: the
        kernel likes to wake a consumer on its producer's core, where it would have to wait for the end of it."""
        return any(unit.blocked or not isinstance(unit, SourceUnit) for unit in self.units if not unit.done)

    def _publish_soon(self) -> None:
        if not self._publishing:
            self._publishing = True
            self._loop.call_later(PUBLISH_S, self._publish)

    def _publish(self) -> None:
        """Publishes what changed and was not published by a turn, so that a resting worker shows no old figures."""
        self._publishing = False
        if not self._open:
            return
        for unit in self.units:
            if unit.dirty and not unit.done:
                unit.publish()

    def _woken(self) -> None:
        if not self._turning:
            self._turns()

    # -- the run

    async def run(self) -> None:
        """From on_start to on_stop. Raises what ended the run early."""
        self._loop = asyncio.get_running_loop()
        self.alarms = Alarms(self._loop)
        control = self.control
        if control is not None:
            control.listen(self._loop, self._on_control)
        try:
            self._starting = self._loop.create_task(self._start())
            await self._starting
            self._starting = None
            await self._ended.wait()
            if self._error is None:
                await self._ending.run(self._replicas(), lambda: self._error is not None)
        except BaseException as error:
            self._starting = None
            self.fail(error)
        finally:
            self._open = False
            await self._stop()
            if control is not None:
                control.leave()
        if self._error is not None:
            raise self._error
        if control is not None:
            control.send(Finished(self.process))

    async def _start(self) -> None:
        if self.transport is not None:
            await self.transport.start()
        self.units = build_units(self)
        self._running = len(self.units)
        if any(takes_messages(actor.cls) for actor in self.job.graph.actors.values()):
            from actorstream.runtime.messages import Messages

            self.messages = Messages(self.job, self.process)
            await self.messages.start(self._replicas(), self.job.mesh)
        for unit in reversed(self.units):  # consumers are ready before their producers speak
            for replica in unit.members:
                await replica.start()
        if self.control is not None:
            gc.collect()
            gc.freeze()  # what was built stays; only what flows is looked at
            self.control.send(Started(self.process))
        if not self.units:
            self._ended.set()
        if self.bell is not None:
            self._loop.add_reader(self.bell.eventfd, self._woken)
        self._open = True
        self.barriers.open(self.units)
        if self._drained:
            self.drain()
        for unit in self.units:
            self.mark(unit)
        self._scheduled = True
        self._loop.call_soon(self._turns)

    async def _stop(self) -> None:
        """Cancels what still awaits, aborts what was not committed, calls on_failure and on_stop."""
        self.alarms.close()
        if self.bell is not None:
            self._loop.remove_reader(self.bell.eventfd)
        tasks = [task for unit in self.units for task in unit.stop()]
        if tasks:
            await asyncio.wait(tasks, timeout=CANCEL_S)
        if self.messages is not None:
            await self.messages.stop()
        for replica in self._replicas():
            error = await replica.stop(self._error, self._sinks)
            if error is not None and self._error is None:
                self.fail(error)
        if self.transport is not None:
            await self.transport.close()

    def replicas(self, actor: str) -> list[Replica]:
        """The replicas of an actor that run here."""
        return [replica for replica in self._replicas() if replica.name == actor]

    def _replicas(self) -> list[Replica]:
        return [replica for unit in self.units for replica in unit.members]

    # -- control

    def drain(self) -> None:
        """Sources end now; the rest runs to its orderly end."""
        self._drained = True
        for unit in self.units:
            if isinstance(unit, SourceUnit):
                unit.drain()

    def barrier(self, barrier: int) -> None:
        """Every source of this worker starts `barrier`; what has ended keeps its last state."""
        if not self._ending.prepares:  # at the end all is prepared under END
            self.barriers.ask(barrier)

    def prepare(self) -> None:
        """The units of all workers have ended."""
        self._ending.prepare()

    def commit(self, barrier: int) -> None:
        """All workers have prepared `barrier`."""
        if barrier == END:
            self._ending.decide()
        elif self._error is None:
            self._sinks.commit(barrier)

    def suspend(self) -> None:
        """Stops where the last checkpoint is; sinks leave what they have prepared to the run that goes on from there."""
        self._open = False
        self._ended.set()
        self._ending.suspend()

    def abort(self, why: str) -> None:
        """Stops without a commit, unless it was decided already."""
        if not self._ending.decided:
            self.fail(Aborted(why))
            self._ending.decide()

    def _on_control(self) -> None:
        assert self.control is not None
        for message in self.control.receive():
            try:
                obey(self, message)
            except Exception as error:  # of a sink that prepares or commits, of a state
                self.fail(error)
        if self.control.closed:
            self._loop.remove_reader(self.control.fileno())
            self.abort("the launcher is gone")
