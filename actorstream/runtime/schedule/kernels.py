"""The kernels of a process that threads run. Knows the edges that they belong to, ranks the lanes by the scheduler's heuristic,
and wakes the event loop when kernels are done. It runs no kernel itself."""

from __future__ import annotations

import os
from contextlib import suppress
from threading import Thread
from time import monotonic_ns
from typing import TYPE_CHECKING

from actorstream.native.memory import create_eventfd, keep_freed_memory
from actorstream.native.pool import KernelPool
from actorstream.runtime.schedule.kernel_edge import MOST_UNDER_WAY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from actorstream.runtime.operator_unit import OperatorUnit
    from actorstream.runtime.schedule.kernel_edge import KernelEdge
    from actorstream.runtime.unit import Unit
    from actorstream.scheduling.base import Operator
    from actorstream.scheduling.scheduler import Scheduler

JOIN_S = 10.0
RANK_EVERY = 64
"""The lanes are ranked again after so many turns of the loop."""


class Kernels:
    """All kernel edges of a process, the native pool behind them, and its threads. Only the loop's thread calls it.

    Args:
        units: those of the worker, in topological order.
        operators: the operators of the units, by the unit's identity.
        scheme: that of the reordering buffers.
        spin_ns: how long a thread looks for a kernel before it sleeps.
        delay_ns: draws by how long a kernel is delayed, as `[testing]` says.
    """

    def __init__(
        self,
        units: Sequence[Unit],
        operators: dict[int, Operator],
        scheduler: Scheduler,
        *,
        threads: int,
        scheme: str,
        spin_ns: int,
        slice_ns: int,
        delay_ns: Callable[[], int] | None = None,
    ) -> None:
        self.edges: list[KernelEdge] = [edge for unit in units for edge in unit.kernels]
        self._heads = [edge for edge in self.edges if edge.exclusive and edge.at_head]
        self.threads, self._slice_ns, self._scheduler = threads, slice_ns, scheduler
        self._operators = [operators[id(edge.unit)] for edge in self.edges]
        self.eventfd = create_eventfd()
        self.pool = KernelPool(
            len(self.edges), 2 * MOST_UNDER_WAY, threads, self.eventfd, scheme=scheme, spin_ns=spin_ns
        )
        self._turns = 0
        self.help, self.waiting = self.pool.help, self.pool.waiting
        for lane, edge in enumerate(self.edges):
            edge.open(self.pool, lane, delay_ns)
        keep_freed_memory()
        self._threads = [
            Thread(target=self.pool.work, args=(number,), name=f"actorstream-kernels-{number}", daemon=True)
            for number in range(threads)
        ]
        for each in self._threads:  # a thread stays in one call of C until it is recalled
            each.start()

    def done(self) -> list[Unit]:
        """The units that have results to collect."""
        return [edge.unit for edge in self.edges if edge.is_done()]

    def are_under_way(self) -> bool:
        return any(edge.is_under_way() for edge in self.edges)

    def are_behind(self, ns: int) -> bool:
        """Whether an operator with a state has more than `ns` of work at its input while a thread runs its kernel. No other
        thread can help then. The loop is told when the kernel is done."""
        for edge in self._heads:
            if edge.is_running():
                unit: OperatorUnit = edge.unit  # type: ignore[assignment]
                frames = sum([lane.channel.waiting() for lane in unit.in_lanes])
                if frames * edge.kernel_ns > ns:
                    return True
        return False

    def worked(self, unit: Unit) -> int:
        """Time that threads have spent in kernels of a unit since the last call, ns. Plans how much is under way next."""
        took = 0
        for edge in unit.kernels:
            took += edge.took_ns
            edge.took_ns = 0
            edge.plan(self._slice_ns, self.threads + 1)
        return took

    def rank(self) -> None:
        """Every RANK_EVERY calls, threads are told in which order to look at the lanes: the order in which the heuristic would
        choose their operators, and of one operator the latest lane first."""
        self._turns += 1
        if len(self.edges) < 2 or self._turns % RANK_EVERY != 1:
            return
        left = sorted({each.index: each for each in self._operators}.items())
        now = monotonic_ns()
        ranked: list[int] = []
        while left:
            chosen = self._scheduler.heuristic.choose([each for _, each in left], now)
            left = [each for each in left if each[0] != chosen.index]
            own = [lane for lane, each in enumerate(self._operators) if each is chosen]
            ranked.extend(reversed(own))
        self.pool.rank(ranked)

    # -- sleeping

    def park(self) -> bool:
        """Whether the loop may sleep: `eventfd` will wake it. False: some kernel is done."""
        if self.pool.park() or not any(edge.is_done() for edge in self.edges):
            return True  # results without credit wait for consumers, not for threads
        self.pool.unpark()
        return False

    def heard(self, wake: Callable[[], None]) -> None:
        """The eventfd has woken the loop: reads it, or it would again at once, and calls `wake`."""
        with suppress(BlockingIOError):
            os.read(self.eventfd, 8)
        wake()

    def close(self) -> None:
        """Recalls the threads, and waits for the kernels that they run."""
        for number, each in enumerate(self._threads):
            self.pool.recall(number)
            each.join(JOIN_S)
        os.close(self.eventfd)
