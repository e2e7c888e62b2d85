"""The threads of a process that ask the scheduler which operator to run (ordered-multicore section 6).

Decides nothing itself and knows neither rows nor channels. One lock guards the scheduler; it is held for some
microseconds a turn. What a thread runs is mostly native code, without the interpreter's lock (docs/scheduling.md).
"""

from __future__ import annotations

import sys
from collections import deque
from threading import Lock, Thread
from time import monotonic_ns
from typing import TYPE_CHECKING

from actorstream.native import baton
from actorstream.native.memory import keep_freed_memory
from actorstream.runtime.pool.partitions import Partitions
from actorstream.scheduling.scheduler import Allotment, Scheduler

if TYPE_CHECKING:
    from actorstream.runtime.pool.kernels import Kernels
    from actorstream.runtime.pool.unit import PooledUnit
    from actorstream.runtime.pool.worker import ScheduledWorker
    from actorstream.scheduling.base import Operator

SWITCH_S = 0.0005
"""How long a thread may keep the interpreter's lock while another one wants it, where there is a pool; 5 ms otherwise,
which a pool's thread would wait for after its native code while the loop's thread runs a long hook."""
JOIN_S = 10.0
WAKE_NS = 50_000
"""Work that a thread is woken for in the middle of another one's turn, ns: about what being woken costs. Less is left
until the turn ends."""
PAYS_NS = 30_000
"""Kernels of a jumbo tuple that are worth another thread, ns: what it costs to be handed Python and rows from core to core.
What has less is run by the loop's thread alone."""
SPIN_NS = 50_000
"""How long a thread looks for the baton before it sleeps: some turns of Python, about what being woken costs."""


Turn = tuple[Allotment, "PooledUnit | None"]
"""What a worker is to do: what the scheduler says, and for a pooled operator the unit that the worker has entered."""


class PoolThread:
    """One thread of the pool: asks for a turn, runs it, and while there is none runs kernels, or sleeps."""

    def __init__(self, pool: Pool, number: int) -> None:
        self.pool, self.number = pool, number
        self._told = Lock()  # locked while it may sleep
        self._told.acquire()
        self.thread = Thread(target=self._run, name=f"actorstream-pool-{number}", daemon=True)

    def _run(self) -> None:
        pool = self.pool
        baton.take()
        try:
            while True:
                found = pool.next_turn(self)
                if found is None:
                    if pool.closing:
                        return
                    baton.give()
                    self.rest()
                    baton.take()
                    continue
                pool.run_turn(*found, by_pool=True)
                baton.pass_on()
        except BaseException as error:
            pool.worker.fail_from_thread(error)
        finally:
            baton.give()

    def rest(self) -> None:
        """Until it is woken: runs kernels without the interpreter, or sleeps."""
        if self.pool.kernels is not None:
            self.pool.kernels.work(self.number)
        else:
            self._told.acquire()

    def wake(self) -> None:
        """Ends its `rest`, or the next one. From any thread; once for each time that it was taken from the idle."""
        if self.pool.kernels is not None:
            self.pool.kernels.recall(self.number)
        else:
            self._told.release()


class Pool:
    """The scheduler of a process, its lock, and the threads.

    Args:
        worker: whose units they are.
        threads: besides the loop's.
    """

    def __init__(self, worker: ScheduledWorker, threads: int) -> None:
        self.worker = worker
        self.lock = Lock()
        self.scheduler: Scheduler | None = None
        self.units: dict[int, list[PooledUnit]] = {}
        """Operator -> its pooled units."""
        self.partitions: dict[int, Partitions] = {}
        """Operator -> its units with a state, if it has several."""
        self.stale: deque[PooledUnit] = deque()
        self.idle: list[PoolThread] = []
        self.kernels: Kernels | None = None
        """What the threads run while they have no turn; None: nothing."""
        self.loop_rests = False
        """Whether the loop's thread has found nothing to do, and would like to be told of something."""
        self.closing = False
        self._threads = [PoolThread(self, number) for number in range(threads)]
        self._switch_s = 0.0

    # -- life

    def start(
        self, scheduler: Scheduler, units: dict[int, list[PooledUnit]], kernels: Kernels | None = None
    ) -> None:
        """From now on there may be turns, and kernels."""
        self.scheduler, self.units, self.kernels = scheduler, units, kernels
        for index, own in units.items():
            if len(own) > 1 and all(unit.limit <= 1 for unit in own):
                self.partitions[index] = Partitions(own)
        if self._threads:
            if units:
                self._switch_s = sys.getswitchinterval()
                sys.setswitchinterval(min(SWITCH_S, self._switch_s))
            keep_freed_memory()
            baton.spin(SPIN_NS if self.worker.job.has_cores else 0)
        for each in self._threads:
            each.thread.start()

    def stop(self) -> None:
        """Waits for the turns that run; no other begins."""
        self.closing = True
        for each in self._threads:
            if each.thread.ident is not None:
                with self.lock:
                    if each in self.idle:
                        self.idle.remove(each)
                        each.wake()
        for each in self._threads:
            if each.thread.ident is not None:
                each.thread.join(JOIN_S)
        if self._switch_s:
            sys.setswitchinterval(self._switch_s)

    # -- what is to be done

    def offer(self, unit: PooledUnit) -> None:
        """Something may have changed for a unit: input, a promise, credit, a free place. From any thread."""
        unit.news = unit.retry = True
        if not unit.stale:
            unit.stale = True
            self.stale.append(unit)
        if self.loop_rests or (self.idle and unit.worth_ns() >= WAKE_NS):
            self._wake_one()

    def _wake_one(self) -> None:
        thread = None
        with self.lock:
            if self.idle:
                thread = self.idle.pop()
            elif self.loop_rests:
                self.loop_rests = False
            else:
                return
        if thread is not None:
            thread.wake()
        else:
            self.worker.wake_loop()

    def refresh(self) -> None:
        """Looks at the units that were offered. Under the lock."""
        stale = self.stale
        while stale:
            unit = stale.popleft()
            unit.stale = False  # before the look: what changes from now on is told again
            operator = unit.operator
            assert operator is not None
            partitions = self.partitions.get(operator.index)
            if partitions is not None and unit.has_work():
                partitions.push(unit)
            self.look(operator)

    def look(self, operator: Operator) -> None:
        """What the scheduler is to know of a pooled operator. Under the lock."""
        partitions = self.partitions.get(operator.index)
        if partitions is not None:
            operator.is_open = partitions.waiting() > 0
            operator.worklist = max(partitions.backlog, float(operator.is_open))
            return
        waiting, is_open = 0.0, False
        for unit in self.units[operator.index]:
            waiting += unit.count_waiting()
            is_open = is_open or unit.is_available()
        operator.worklist = max(waiting, 1.0) if is_open else waiting
        operator.is_open = is_open

    def next_turn(self, thread: PoolThread) -> Turn | None:
        """A turn for a thread; None: it is to sleep until its `wake` is released, or to end."""
        while True:
            with self.lock:
                if self.closing:
                    return None
                self.refresh()
                found = self.decide(pooled_only=True)
                if found is None:
                    self.idle.append(thread)
                if tell := self.loop_rests and self._is_left_to_the_loop():
                    self.loop_rests = False
            if tell:
                self.worker.wake_loop()
            if found is not None:
                self.wake_more()
                return found
            if not self.stale:
                return None
            with self.lock:  # offered before it saw this thread among the idle
                if thread not in self.idle:
                    thread.rest()  # it was seen, and told
                    continue
                self.idle.remove(thread)

    def _is_left_to_the_loop(self) -> bool:
        """Whether there is work in a pooled operator that threads leave to the loop: a thread may have been woken for it,
        or have left it with more to do. Under the lock."""
        return any(
            each.pooled and not each.pays and each.is_schedulable
            for each in self.scheduler.operators  # type: ignore[union-attr]
        )

    def decide(self, *, pooled_only: bool = False, own_first: bool = False) -> Turn | None:
        """The scheduler's decision, and which unit of a pooled operator it is for: of those that one more worker may
        enter, that with most to do. Under the lock."""
        scheduler = self.scheduler
        assert scheduler is not None
        while True:
            allotted = scheduler.decide(monotonic_ns(), pooled_only=pooled_only, own_first=own_first)
            if allotted is None:
                return None
            operator = allotted.operator
            if not operator.pooled:
                return allotted, None
            unit = self._choose(operator)
            if unit is not None:
                unit.workers += 1
                self.look(operator)
                return allotted, unit
            operator.workers -= 1  # what was available is not any more
            self.look(operator)
            operator.is_open = False

    def _choose(self, operator: Operator) -> PooledUnit | None:
        """Which unit of an operator one more worker enters: of those with a state the one that has waited longest, of
        others that with most to do."""
        partitions = self.partitions.get(operator.index)
        if partitions is None:
            units = [each for each in self.units[operator.index] if each.is_available()]
            return max(units, key=_backlog) if units else None
        while (unit := partitions.pop()) is not None:
            if unit.has_work():
                return unit
            partitions.leave(unit)  # the loop has it now, or it has no credit: told again when that changes
        return None

    def wake_more(self) -> None:
        """If there is more to do than the caller has taken, and somebody sleeps, he is told."""
        if self.idle and any(
            each.pooled and each.pays and each.worklist > 0 and each.is_open and each.workers < each.limit
            for each in self.scheduler.operators  # type: ignore[union-attr]
        ):
            self._wake_one()

    def _pays_ns(self) -> int:
        """Threads take everything where `[testing]` delays them: races are what is looked for."""
        return 0 if self.worker.delay_s else PAYS_NS

    def run_turn(self, allotted: Allotment, unit: PooledUnit | None, *, by_pool: bool = False) -> None:
        """Runs one turn to its end, on the thread of the pool or of the loop that asked for it."""
        assert unit is not None
        started = monotonic_ns()
        rows = made = 0
        lent, waited = baton.lent_ns(), baton.waited_ns()
        try:
            rows, made = unit.turn(allotted.tuples)
        finally:
            now = monotonic_ns()
            lent, waited = baton.lent_ns() - lent, baton.waited_ns() - waited
            if not allotted.operator.downstream:
                made = rows  # what leaves the process is not scheduled here
            with self.lock:
                self.scheduler.finish(  # type: ignore[union-attr]
                    allotted.operator, rows, made, now - started, now, lent, waited
                )
                if rows:
                    allotted.operator.pool_turns += by_pool
                    allotted.operator.pays = unit.note_kernels(lent, rows) >= self._pays_ns()
                unit.workers -= 1
                partitions = self.partitions.get(allotted.operator.index)
                if partitions is not None:
                    partitions.leave(unit)
                    if unit.has_work():
                        partitions.push(unit)
                self.look(allotted.operator)
                hand_over = unit.on_loop and unit.workers == 0
        if hand_over:
            self.worker.mark_on_loop(unit)


def _backlog(unit: PooledUnit) -> float:
    return unit.backlog
