"""The ready queue of a worker, from which a heuristic chooses the next turn (ordered-multicore section 6). All Python runs on
the loop's thread; other threads run only kernels."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from actorstream.metrics.counters import Counter
from actorstream.runtime.operator_unit import OperatorUnit
from actorstream.runtime.schedule.kernels import Kernels
from actorstream.runtime.size_policy import USUAL, rows_or
from actorstream.runtime.source_unit import SourceUnit
from actorstream.runtime.unit import Status, Unit
from actorstream.scheduling import SCHEDULES
from actorstream.scheduling.base import Operator
from actorstream.scheduling.scheduler import Allotment, Scheduler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from actorstream.plan.job import Job
    from actorstream.runtime.ports import WorkerPort

QUEUE_BATCHES = 8
"""Jumbo tuples an operator that QST's capacity is made of: C = operators * QUEUE_BATCHES * batch_size tuples."""
SPIN_NS = 50_000
"""How long a thread looks for a kernel before it sleeps: about what being woken costs."""


class Schedule:
    """The queue of units that are ready. The heuristic chooses the next one; a turn may also be a kernel."""

    def __init__(self, worker: WorkerPort) -> None:
        self._worker = worker
        self._scheduler: Scheduler
        self.operators: dict[int, Operator] = {}
        """The operator of each unit, by the unit's identity."""
        self.kernels: Kernels | None = None
        """The kernels that threads run; None: the process has no threads or no kernels."""
        self._waiting: dict[int, deque[Unit]] = {}
        self._frame_rows: dict[int, float] = {}
        self._due: Allotment | None = None
        self._helps = False
        """Whether the next turn is a kernel."""

    def open(self, units: list[Unit], kernels_done: Callable[[], None]) -> None:
        """Makes the scheduler of the units, and starts the threads. `kernels_done` is called on the loop if kernels end while
        it sleeps."""
        worker = self._worker
        job, deploy = worker.job, worker.job.deploy
        operators, self.operators = operators_of(job, units)
        self._scheduler = scheduler = Scheduler(
            operators,
            SCHEDULES[deploy.schedule],
            slice_ns=worker.turn_ns,
            window_ns=max(1, round(deploy.ct_window.total_seconds() * 1e9)),
            capacity=max(1, len(operators)) * QUEUE_BATCHES * rows_or(deploy, USUAL),
        )
        self._waiting = {each.index: deque() for each in operators}
        self._frame_rows = dict.fromkeys(self._waiting, 1.0)
        for each in operators:
            each.is_open = False
        if deploy.threads > 0 and any(unit.kernels for unit in units):
            self.kernels = Kernels(
                units,
                self.operators,
                scheduler,
                threads=deploy.threads,
                scheme=deploy.reordering,
                spin_ns=SPIN_NS if job.has_cores else 0,
                slice_ns=worker.turn_ns,
                delay_ns=worker.turns.delays.draw_ns if worker.turns.delays.longest_s else None,
            )
            worker.loop.add_reader(self.kernels.eventfd, self.kernels.heard, kernels_done)

    def close(self) -> None:
        """Waits for the kernels that run; no other kernel begins."""
        if self.kernels is not None:
            self._worker.loop.remove_reader(self.kernels.eventfd)
            self.kernels.close()
            self.kernels = None

    # -- as a queue

    def append(self, unit: Unit) -> None:
        """Takes a unit that is ready."""
        self._waiting[self.operators[id(unit)].index].append(unit)

    def __bool__(self) -> bool:
        """Whether there is a turn for the loop's thread."""
        if self._due is not None or self._helps:
            return True
        kernels = self.kernels
        if kernels is not None:
            for unit in kernels.done():
                self._worker.mark(unit)
        for index in self._waiting:
            self._look(self._scheduler.operators[index])
        if kernels is not None:
            kernels.rank()
            if not self._scheduler.heuristic.reads_ahead and self._only_sources():  # before more is read
                if kernels.waiting() > kernels.threads:
                    self._helps = True
                    return True
                if kernels.are_behind(self._worker.turn_ns // 4):
                    self._helps = kernels.waiting() > 0
                    return self._helps
        self._due = self._scheduler.decide(monotonic_ns())
        if self._due is None and kernels is not None and kernels.waiting():
            self._helps = True
        return self._due is not None or self._helps

    def __len__(self) -> int:
        return int(bool(self))

    def popleft(self) -> Any:
        """The next turn: an object with `step`, as a unit has."""
        if self._helps:
            self._helps = False
            assert self.kernels is not None
            return _Turn(self.kernels.help)
        assert self._due is not None
        allotted, self._due = self._due, None
        unit = self._waiting[allotted.operator.index].popleft()
        return _Turn(lambda: self._run(unit, allotted))

    def _look(self, operator: Operator) -> None:
        """Tells the scheduler how many rows wait at an operator."""
        ready = self._waiting[operator.index]
        operator.is_open = bool(ready)
        rows = 0.0
        for unit in ready:
            if isinstance(unit, OperatorUnit):
                frames = sum(lane.channel.waiting() for lane in unit.in_lanes)
                rows += max(1.0, frames * self._frame_rows[operator.index])
            else:
                rows += rows_or(self._worker.job.deploy, USUAL)  # a source has at least that to give
        operator.worklist = rows

    def _only_sources(self) -> bool:
        """Whether only sources have something to do; they would read more."""
        return all(isinstance(unit, SourceUnit) for ready in self._waiting.values() for unit in ready)

    def _run(self, unit: Unit, allotted: Allotment) -> None:
        """Runs and measures one turn of a unit, and puts it back into the queue if it has more to do."""
        unit.ready = False
        if isinstance(unit, SourceUnit):
            unit.most_rows = allotted.tuples
        head, tail = unit.head, unit.members[-1]
        taken, made, frames = head.events_in, tail.events_out, head.jumbo_in
        read = head.events_out
        started, kernel = monotonic_ns(), sum(edge.called_ns for edge in unit.kernels)
        status = unit.step()
        took = monotonic_ns() - started
        kernel = sum(edge.called_ns for edge in unit.kernels) - kernel
        rows = head.events_out - read if isinstance(unit, SourceUnit) else head.events_in - taken
        operator, worked = allotted.operator, 0
        if unit.kernels and self.kernels is not None:
            worked = self.kernels.worked(unit)
            took, kernel = took + worked, kernel + worked
        if head.jumbo_in > frames:
            mean = self._frame_rows[operator.index]
            self._frame_rows[operator.index] = mean + (rows / (head.jumbo_in - frames) - mean) / 8
        # what leaves the process is not scheduled here
        made = tail.events_out - made if operator.downstream else rows
        self._scheduler.finish(operator, rows, made, took, monotonic_ns(), kernel, worked)
        self._look(operator)
        if status is Status.READY:
            if self._worker.turns.delays.longest_s:
                self._worker.turns.mark_late(unit)
            else:
                self._worker.mark(unit)

    # -- before the worker sleeps

    def is_waiting_for_kernels(self) -> bool:
        """Whether kernels are under way; the doorbell does not ring for them."""
        return self.kernels is not None and self.kernels.are_under_way()

    def park(self) -> bool:
        """Whether the loop may sleep: the eventfd of the kernels will wake it."""
        return self.kernels is None or self.kernels.park()

    def unpark(self) -> None:
        if self.kernels is not None:
            self.kernels.pool.unpark()

    def publish(self, units: list[Unit]) -> None:
        """Writes the statistics of the operators to the counters of their replicas."""
        for unit in units:
            operator = self.operators.get(id(unit))
            if operator is None:
                continue
            measured = operator.statistics
            for member in unit.members:
                row = member.row
                row[Counter.TURNS] = measured.turns
                row[Counter.COST_PS] = int(measured.mean_cost * 1000)
                row[Counter.KERNEL_PS] = int(measured.mean_kernel * 1000)
                row[Counter.POOLED_PS] = int(measured.mean_pooled * 1000)
                row[Counter.SELECTIVITY_PPM] = int(measured.mean_selectivity * 1e6)
                row[Counter.WORKLIST_MAX] = int(operator.peak)


def operators_of(job: Job, units: Sequence[Unit]) -> tuple[list[Operator], dict[int, Operator]]:
    """The operators in topological order, and that of each unit by the unit's identity.

    An operator is an actor with the neighbours that it calls directly; its replicas here are its partitions."""
    by_head: dict[str, list[Unit]] = {}
    for unit in units:
        by_head.setdefault(unit.head.name, []).append(unit)
    heads = {member.name: unit.head.name for unit in units for member in unit.members}
    numbers = {name: index for index, name in enumerate(by_head)}
    operators = []
    for name, own in by_head.items():
        upstream = _upstream(job, name, heads, numbers)
        operators.append(Operator(name, numbers[name], limit=len(own), upstream=upstream))
    return operators, {id(unit): operators[numbers[name]] for name, own in by_head.items() for unit in own}


def _upstream(job: Job, name: str, heads: dict[str, str], numbers: dict[str, int]) -> list[tuple[int, float]]:
    """The operators of this process that feed an operator, with their shares. All outputs of an actor count alike."""
    found = []
    for edge in job.graph.actors[name].inputs:
        if edge.static or edge.producer not in heads or heads[edge.producer] == name:
            continue
        outputs = {each.output for each in job.graph.consumers(edge.producer) if not each.static}
        found.append((numbers[heads[edge.producer]], 1.0 / len(outputs)))
    return found


class _Turn:
    """A turn that the queue has chosen. Its step returns IDLE, because the queue itself puts a unit back that has more to do."""

    __slots__ = ("_run", "done", "ready")

    def __init__(self, run: Callable[[], object]) -> None:
        self._run = run
        self.ready = self.done = False

    def step(self) -> Status:
        self._run()
        return Status.IDLE
