"""Runs a worker's units in turns on its event loop: which unit is next, how long to look for more work, when to sleep."""

from __future__ import annotations

import random
from collections import deque
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.runtime.schedule.schedule import Schedule
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.unit import Status, Unit
from actorstream.scheduling.spin import Spin

if TYPE_CHECKING:
    from actorstream.native.alarms import Alarm
    from actorstream.native.doorbell import Doorbell
    from actorstream.runtime.ports import WatchingUnit, WorkerPort
    from actorstream.topology.deploy import DeploySpec

LOOP_NS = 5_000_000
"""Longest time between two looks at the event loop."""
LONG_SPIN_NS = 1_000_000
PUBLISH_S = 0.02


class Delays:
    """Draws random delays of the hand-overs of one process, as `[testing]` of a deployment says, so that races show."""

    def __init__(self, deploy: DeploySpec, process: int) -> None:
        testing = deploy.testing
        self.longest_s = testing.delay.total_seconds() if testing is not None else 0.0
        self._random = random.Random(testing.seed + process if testing is not None else 0)

    def draw_s(self) -> float:
        return self._random.random() * self.longest_s

    def draw_ns(self) -> int:
        return int(self.draw_s() * 1e9)


class Turns:
    """Runs the units of one worker in turns, between `open` and `close`."""

    def __init__(self, worker: WorkerPort, bell: Doorbell | None) -> None:
        job = worker.job
        self.worker, self.bell = worker, bell
        self.by_bit: dict[int, Unit] = {}
        self.schedule = None if job.deploy.schedule == "none" else Schedule(worker)
        self.ready: deque[Unit] | Schedule = deque() if self.schedule is None else self.schedule
        self.watched: WatchingUnit | None = None
        """The unit that last took a single event or message. While the worker waits, it takes the unit's next one at once."""
        self.delays = Delays(job.deploy, worker.process)
        self.watches = not self.delays.longest_s and self.schedule is None
        """Whether a single event goes before everything else."""
        self._taken: WatchingUnit | None = None
        """The watched unit, if it has just had such a turn."""
        self._turning = self._scheduled = self._open = self._publishing = False
        self._parked, self._parked_at = False, 0
        self._spin = Spin(job.spins)
        self._always_spins = job.always_spin

    def open(self) -> None:
        """Units may run from now on, and each gets a first turn."""
        worker = self.worker
        if self.bell is not None:
            worker.loop.add_reader(self.bell.eventfd, self._woken)
            worker.alarms.polled = self._always_spins
        if self.schedule is not None:
            self.schedule.open(worker.units, self._woken)
        self._open = True
        for unit in worker.units:
            self.mark(unit)

    def end(self) -> None:
        """No unit gets another turn."""
        self._open = False

    def close(self) -> None:
        """Waits for the kernels that threads still run."""
        if self.schedule is not None:
            self.schedule.close()
            self.schedule.publish(self.worker.units)
        if self.bell is not None:
            self.worker.loop.remove_reader(self.bell.eventfd)

    def ring(self, bit: int) -> None:
        """The doorbell of channels inside this process."""
        (self.mark_late if self.delays.longest_s else self.mark)(self.by_bit[bit])

    def mark_late(self, unit: Unit) -> None:
        """Marks a unit after a random delay, as `[testing]` says."""
        self.mark_later(unit, self.delays.draw_s())

    def mark(self, unit: Unit) -> None:
        """Puts a unit into the ready queue. Before `open`, which marks all, and after `end` nothing has to be done."""
        if self._open and not unit.ready and not unit.done:
            unit.ready = True
            self.ready.append(unit)
            if not self._turning and not self._scheduled:
                self._scheduled = True
                self.worker.loop.call_soon(self._turns)

    def mark_later(self, unit: Unit, seconds: float) -> Alarm:
        """Marks a unit after a while."""
        return self.worker.alarms.call_later(seconds, self.mark, unit)

    def _turns(self) -> None:
        """Runs ready units until none is left or the event loop must run; then spins a little, and parks."""
        self._scheduled = False
        if not self._open:
            return
        if self.schedule is not None:
            self.schedule.unpark()
        self._turning = True
        try:
            bell, deadline = self.bell, monotonic_ns() + LOOP_NS
            if bell is not None:
                self._listen(bell, 0)  # first, so that an event reaches a parked worker soon
                if self._always_spins:
                    self.worker.alarms.run_due()  # also where units are ready all the time
            ready = self.ready
            woken, self._parked = self._parked, False
            while True:
                unit: Any = self._taken
                if unit is not None or ready:
                    if unit is not None:
                        status, self._taken, first = unit.status, None, False
                    else:
                        first = True
                        unit = ready.popleft()
                        unit.ready = False
                        status = unit.step()
                    if status is Status.READY and not unit.ready:
                        if self.delays.longest_s:
                            self.mark_late(unit)
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
            self.worker.loop.call_soon(self._turns)
        except BaseException as error:
            self.worker.fail(error)
        finally:
            self._turning = False

    def _listen(self, bell: Doorbell, ns: int, *, first: bool = False) -> None:
        """Marks the units whose bits ring within `ns`, or notes in `_taken` that the watched unit has taken a single event.
        With `first` that event goes before units that are ready; else only if none is."""
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
            self.ring(bit)

    def others_wait(self, unit: Unit) -> bool:
        """Whether an operator but `unit`, whose turn it is, could run. Sources do not count: their rows wait in no ring."""
        if isinstance(self.ready, Schedule):
            return False
        if self.bell is not None:
            self.mark_rung(self.bell.collect())
        return any(each is not unit and not isinstance(each, SourceUnit) for each in self.ready)

    def _unpark(self, woken: int) -> None:
        """Rings need not wake this worker any more. `woken`: when it was."""
        self.bell.unpark()  # type: ignore[union-attr]
        self._spin.slept(woken - self._parked_at)

    def _rest(self) -> bool:
        """No unit is ready. Returns whether to look again; False: the worker sleeps until it is woken."""
        self._publish_soon()
        for unit in self.worker.units:
            if unit.blocked:
                unit.flush()  # rows for consumers other than the one whose channel is full
        bell = self.bell
        if self.ready or bell is None:
            return bool(self.ready) or not self._kernels_park()
        if self._always_spins:
            # the loop is looked at about once a millisecond
            self._listen(bell, min(LONG_SPIN_NS, self._alarm_ns()))
            if self._taken is None and not self.ready:
                self.worker.alarms.run_due()
                if not self.ready:
                    self._scheduled = True
                    self.worker.loop.call_soon(self._turns)
                    return False
            return True
        if self._spin.ns and self._hopes():
            self._listen(bell, min(self._spin.ns, self._alarm_ns()))
            if self._taken is None and not self.ready:
                self.worker.alarms.run_due()
            else:
                self._spin.found()
        if self._taken is not None or self.ready or not bell.park():
            return True
        self._parked, self._parked_at = True, monotonic_ns()
        return not self._kernels_park()

    def _kernels_park(self) -> bool:
        """Whether the loop may sleep: threads will wake it when kernels are done."""
        return self.schedule is None or self.schedule.park()

    def _alarm_ns(self) -> int:
        """How long until the next alarm is due."""
        return max(0, self.worker.alarms.next_ns() - monotonic_ns())

    def _hopes(self) -> bool:
        """Whether another worker may soon have something for this one. A worker that only waits for time does not spin: the
        kernel often wakes a consumer on its producer's core, where a spinning producer would keep it from running."""
        if self.schedule is not None and self.schedule.is_waiting_for_kernels():
            return False
        return any(
            unit.blocked or not isinstance(unit, SourceUnit) for unit in self.worker.units if not unit.done
        )

    def _publish_soon(self) -> None:
        if not self._publishing:
            self._publishing = True
            self.worker.loop.call_later(PUBLISH_S, self._publish)

    def _publish(self) -> None:
        """Publishes counters that changed since the last turn published them, so that a resting worker shows no old figures."""
        self._publishing = False
        if not self._open:
            return
        for unit in self.worker.units:
            if unit.dirty and not unit.done:
                unit.publish()
        if self.schedule is not None:
            self.schedule.publish(self.worker.units)

    def _woken(self) -> None:
        if not self._turning:
            self._turns()
