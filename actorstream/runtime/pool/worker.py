"""A worker whose next turn is chosen by a heuristic (ordered-multicore section 6), on its loop and on a pool of threads.

What runs is that of `Worker`; this only replaces its ready queue, and takes what other threads have to say.
"""

from __future__ import annotations

from collections import deque
from functools import partial
from threading import get_ident
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, NamedTuple

from actorstream.metrics.counters import Counter
from actorstream.native import baton
from actorstream.runtime.operator_unit import OperatorUnit
from actorstream.runtime.pool.kernels import Kernels
from actorstream.runtime.pool.operators_of import operators_of
from actorstream.runtime.pool.pool import SPIN_NS, Pool
from actorstream.runtime.pool.unit import PooledUnit
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.unit import Status, Unit
from actorstream.runtime.worker import Worker
from actorstream.scheduling import SCHEDULES
from actorstream.scheduling.scheduler import Allotment, Scheduler

if TYPE_CHECKING:
    from collections.abc import Callable

    from actorstream.runtime.compile import Job
    from actorstream.runtime.control import ControlPipe
    from actorstream.scheduling.base import Operator
    from actorstream.transports.base import Transport

QUEUE_BATCHES = 8
"""Jumbo tuples an operator that QST's capacity is made of: C = operators * QUEUE_BATCHES * batch_size tuples."""


class ScheduledWorker(Worker):
    """Runs the replicas of one process in the order that a heuristic gives them."""

    def __init__(
        self, job: Job, process: int, transport: Transport | None, control: ControlPipe | None
    ) -> None:
        super().__init__(job, process, transport, control)
        self.draw = self._random.random
        self.watches = False
        self.pool = Pool(self, job.deploy.threads)
        self.queue = ReadyQueue(self)
        self.ready = self.queue  # type: ignore[assignment] # it does what a worker asks of a deque
        self.kernels: Kernels | None = None
        """The kernels that the pool runs for units of the loop; None: there are none."""
        self._thread = 0
        self._told: deque[Unit] = deque()
        self._coming = False
        self.has_threads = job.deploy.threads > 0

    async def _start(self) -> None:
        self._thread = get_ident()
        await super()._start()
        self.open_schedule()

    def open_schedule(self) -> None:
        """Makes the scheduler of the units, and starts the pool."""
        operators, by_unit = operators_of(self.job, self.units)
        deploy = self.job.deploy
        scheduler = Scheduler(
            operators,
            SCHEDULES[deploy.schedule],
            slice_ns=self.turn_ns,
            window_ns=max(1, round(deploy.ct_window.total_seconds() * 1e9)),
            capacity=max(1, len(operators)) * QUEUE_BATCHES * deploy.batch_size,
        )
        pooled: dict[int, list[PooledUnit]] = {}
        # where threads have kernels only, nobody else wants to run Python
        shares = self.has_threads and any(isinstance(unit, PooledUnit) for unit in self.units)
        if shares:
            self.pass_on = baton.pass_on  # type: ignore[method-assign]
        for unit in self.units:
            for member in unit.members:
                member.lends = shares and type(member.actor).lends_baton
            if isinstance(unit, PooledUnit):
                unit.operator = by_unit[id(unit)]
                pooled.setdefault(unit.operator.index, []).append(unit)
        self.queue.open(scheduler, by_unit)
        if self.has_threads and any(unit.kernels for unit in self.units):
            self.kernels = Kernels(
                self.units,
                by_unit,
                scheduler,
                threads=deploy.threads,
                scheme=deploy.reordering,
                spin_ns=SPIN_NS if self.job.has_cores else 0,
                slice_ns=self.turn_ns,
                delay_ns=(lambda: int(self.draw() * self.delay_s * 1e9)) if self.delay_s else None,
            )
            self._loop.add_reader(self.kernels.eventfd, self._kernels_done)
        self.pool.start(scheduler, pooled, self.kernels)

    async def _stop(self) -> None:
        self.pool.stop()
        if self.kernels is not None:
            self._loop.remove_reader(self.kernels.eventfd)
            self.kernels.close()
        self._publish_schedule()
        await super()._stop()

    def _publish(self) -> None:
        super()._publish()
        self._publish_schedule()

    def _publish_schedule(self) -> None:
        """Writes what is measured of the operators to the counters of their replicas."""
        for unit in self.units:
            operator = self.queue.operators.get(id(unit))
            if operator is None:
                continue
            measured = operator.statistics
            for member in unit.members:
                row = member.row
                row[Counter.TURNS] = measured.turns
                row[Counter.POOL_TURNS] = operator.pool_turns
                row[Counter.COST_PS] = int(measured.mean_cost * 1000)
                row[Counter.KERNEL_PS] = int(measured.mean_kernel * 1000)
                row[Counter.POOLED_PS] = int(measured.mean_pooled * 1000)
                row[Counter.WAITED_PS] = int(measured.mean_waited * 1000)
                row[Counter.SELECTIVITY_PPM] = int(measured.mean_selectivity * 1e6)
                row[Counter.WORKLIST_MAX] = int(operator.peak)

    # -- from any thread

    def ring(self, bit: int) -> None:
        self.mark(self.by_bit[bit])

    def mark(self, unit: Unit) -> None:
        if not isinstance(unit, PooledUnit):
            self.mark_on_loop(unit)
        elif not unit.on_loop:
            self.pool.offer(unit)
        elif unit.is_the_loops():  # else the last worker to leave hands it over
            self.mark_on_loop(unit)

    def mark_on_loop(self, unit: Unit) -> None:
        """Marks a unit whose next step is the loop's."""
        if get_ident() == self._thread or not self._thread:
            super().mark(unit)
        else:
            self._told.append(unit)
            self.wake_loop()

    def wake_loop(self) -> None:
        """Has the loop's thread look for work."""
        if get_ident() == self._thread:
            if self._open and not self._turning and not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self._turns)
            return
        if self.bell is not None:
            self.bell.ring(0)  # wakes it also out of its spinning; a ring may come for nothing
        if not self._coming:
            self._coming = True
            self._loop.call_soon_threadsafe(self._come)

    def fail_from_thread(self, error: BaseException) -> None:
        """A turn on a thread has failed."""
        self._loop.call_soon_threadsafe(self.fail, error)

    # -- on the loop

    def _kernels_done(self) -> None:
        """Threads of the pool have told that kernels are done, since the loop slept."""
        assert self.kernels is not None
        self.kernels.heard()
        if not self._turning and self._open:
            self._turns()

    def _rest(self) -> bool:
        if super()._rest():
            return True
        # else something was done just now
        return self.kernels is not None and not self._scheduled and not self.kernels.park()

    def _hopes(self) -> bool:
        if self.kernels is not None and self.kernels.are_under_way():
            return False  # who looks at the doorbell hears nothing of kernels
        return super()._hopes()

    def _turns(self) -> None:
        if self.kernels is not None:
            self.kernels.unpark()
        if not self.has_threads:
            super()._turns()
            return
        baton.take()
        try:
            super()._turns()
        finally:
            baton.give()

    def _come(self) -> None:
        self._coming = False
        self.hear()
        if not self._turning and self._open:
            self._turns()

    def hear(self) -> None:
        """Marks what other threads have told."""
        while self._told:
            super().mark(self._told.popleft())


class ReadyQueue:
    """The units of the loop that are ready, as a queue whose next one is chosen by the scheduler."""

    def __init__(self, worker: ScheduledWorker) -> None:
        self._worker, self._pool = worker, worker.pool
        self._early: deque[Unit] = deque()  # marked before the scheduler was there
        self._scheduler: Scheduler | None = None
        self.operators: dict[int, Operator] = {}
        self._waiting: dict[int, deque[Unit]] = {}
        self._frame_rows: dict[int, float] = {}
        self._due: tuple[Allotment, PooledUnit | None] | None = None
        self._helps = False
        """Whether the next turn is a kernel."""

    def open(self, scheduler: Scheduler, operators: dict[int, Operator]) -> None:
        """Takes the scheduler and the operator of each unit, by the unit's identity."""
        self._scheduler, self.operators = scheduler, operators
        self._waiting = {each.index: deque() for each in scheduler.operators if not each.pooled}
        self._frame_rows = dict.fromkeys(self._waiting, 1.0)
        for each in scheduler.operators:
            each.is_open = False
        early, self._early = self._early, deque()
        for unit in early:
            self.append(unit)

    def append(self, unit: Unit) -> None:
        """Takes a unit that is ready."""
        if self._scheduler is None:
            self._early.append(unit)
            return
        if isinstance(unit, PooledUnit):
            if unit.is_the_loops():  # a barrier, an end, a table: short, not a heuristic's business
                self._early.append(unit)
            else:
                unit.ready = False
                self._worker.mark(unit)
            return
        self._waiting[self.operators[id(unit)].index].append(unit)

    def _look(self, operator: Operator) -> None:
        """What the scheduler is to know of an operator of the loop. Under the pool's lock."""
        ready = self._waiting[operator.index]
        operator.is_open = bool(ready)
        rows = 0.0
        for unit in ready:
            if isinstance(unit, OperatorUnit):
                frames = sum(lane.channel.waiting() for lane in unit.in_lanes)
                rows += max(1.0, frames * self._frame_rows[operator.index])
            else:
                rows += self._worker.job.deploy.batch_size  # a source has at least that to give
        operator.worklist = rows

    def __bool__(self) -> bool:
        """Whether there is a turn for the loop's thread."""
        if self._due is not None or self._early or self._helps:
            return True
        if self._scheduler is None:
            return False
        worker, pool = self._worker, self._pool
        if worker._told:
            worker.hear()
            if self._early:
                return True
        kernels = worker.kernels
        if kernels is not None:
            for unit in kernels.done():
                worker.mark(unit)
        heuristic = self._scheduler.heuristic
        while True:
            with pool.lock:
                pool.loop_rests = False
                pool.refresh()
                for index in self._waiting:
                    self._look(self._scheduler.operators[index])
                own_first = worker.has_threads and (heuristic.own_first or bool(pool.idle))
                is_behind = False
                if kernels is not None:
                    kernels.rank()
                    if not heuristic.own_first and self._only_sources():  # before more is read
                        if kernels.waiting() > kernels.threads:
                            self._helps = True
                            return True
                        is_behind = kernels.are_behind(worker.turn_ns // 4)
                self._due = found = pool.decide(own_first=own_first, pooled_only=is_behind)
                if found is None and kernels is not None and kernels.waiting():
                    self._helps = True
                    return True
                if found is None:
                    pool.loop_rests = True
            if found is not None:
                pool.wake_more()
                return True
            if not pool.stale:
                return False

    def __len__(self) -> int:
        return int(bool(self))

    def _only_sources(self) -> bool:
        """Whether no unit of the loop has something to do but sources, which would read more."""
        return all(isinstance(unit, SourceUnit) for ready in self._waiting.values() for unit in ready)

    def popleft(self) -> Any:
        """The next turn, as something that steps like a unit."""
        if self._early:
            unit = self._early.popleft()
            if isinstance(unit, PooledUnit) and not unit.is_the_loops():
                # it was marked during its last turn on the loop, at whose end it became the threads': one may be inside
                unit.ready = False
                return Step(partial(self._worker.mark, unit))
            return unit
        if self._helps:
            self._helps = False
            assert self._worker.kernels is not None
            return Step(self._worker.kernels.help)
        assert self._due is not None
        (allotted, pooled), self._due = self._due, None
        if pooled is not None:
            return Step(partial(self._pool.run_turn, allotted, pooled))
        return Step(partial(self._run, self._waiting[allotted.operator.index].popleft(), allotted))

    def _run(self, unit: Unit, allotted: Allotment) -> None:
        """One turn of a unit of the loop, counted and measured."""
        unit.ready = False
        if isinstance(unit, SourceUnit):
            unit.most_rows = allotted.tuples
        head, tail = unit.head, unit.members[-1]
        taken, made, frames = head.events_in, tail.events_out, head.jumbo_in
        read = head.events_out
        started, lent, waited = monotonic_ns(), baton.lent_ns(), baton.waited_ns()
        status = unit.step()
        took = monotonic_ns() - started
        rows = head.events_out - read if isinstance(unit, SourceUnit) else head.events_in - taken
        turn = LoopTurn(
            rows,
            tail.events_out - made,
            head.jumbo_in - frames,
            took,
            baton.lent_ns() - lent,
            baton.waited_ns() - waited,
        )
        self.finish(unit, allotted, status, turn)

    def finish(self, unit: Unit, allotted: Allotment, status: Status, turn: LoopTurn) -> None:
        """A unit of the loop has had its turn."""
        operator, took, kernel, worked = allotted.operator, turn.took_ns, turn.kernel_ns, 0
        if unit.kernels and self._worker.kernels is not None:
            worked = self._worker.kernels.worked(unit)
            took, kernel = took + worked, kernel + worked
        if turn.frames:
            self._frame_rows[operator.index] += (
                turn.rows / turn.frames - self._frame_rows[operator.index]
            ) / 8
        with self._pool.lock:
            made = (
                turn.made if operator.downstream else turn.rows
            )  # what leaves the process is not scheduled here
            spent = (kernel, turn.waited_ns, worked)
            self._scheduler.finish(operator, turn.rows, made, took, monotonic_ns(), *spent)  # type: ignore[union-attr]
            self._look(operator)
        if status is Status.READY:
            worker = self._worker
            if worker.delay_s:
                worker.mark_later(unit, worker.draw() * worker.delay_s)
            else:
                worker.mark(unit)


class LoopTurn(NamedTuple):
    """What a turn of a unit of the loop has done: rows taken (of a source: read) and answered, jumbo tuples, time; of it
    in native code without the interpreter, and waiting for it."""

    rows: int
    made: int
    frames: int
    took_ns: int
    kernel_ns: int
    waited_ns: int


class Step:
    """A turn that the queue has chosen, as something that steps like a unit; whatever is left, the queue has put back."""

    __slots__ = ("_run", "done", "ready")

    def __init__(self, run: Callable[[], object]) -> None:
        self._run = run
        self.ready = self.done = False

    def step(self) -> Status:
        self._run()
        return Status.IDLE
