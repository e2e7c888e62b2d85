"""The central scheduler that workers ask for work (ordered-multicore section 6). Pure: time is an argument, and whoever
shares it between threads brings the lock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from actorstream.scheduling.base import Heuristic, Operator, Pipeline


class Allotment(NamedTuple):
    """What a worker is to do next."""

    operator: Operator
    tuples: int
    """At the most; the worker comes back earlier when nothing is left."""


class Scheduler:
    """Answers which operator to work on and how many tuples to take.

    Args:
        operators: in topological order, `operators[i].index == i`.
        heuristic: a class of the table SCHEDULES.
        slice_ns: the time slice s. window_ns: CT's window w.
        capacity: QST's C, in tuples.
    """

    def __init__(
        self,
        operators: Sequence[Operator],
        heuristic: type[Heuristic],
        *,
        slice_ns: int,
        window_ns: int,
        capacity: int,
    ) -> None:
        self.operators = list(operators)
        self.slice_ns = slice_ns
        self.heuristic = heuristic(
            Pipeline(self.operators), slice_ns=slice_ns, window_ns=window_ns, capacity=capacity
        )
        self.decisions = 0

    def decide(self, now: int, among: Sequence[Operator] | None = None) -> Allotment | None:
        """Allots a worker, which is counted as in its operator until `finish`; None: nothing is schedulable.

        among: the operators that the worker may run, in topological order; None: all."""
        operators = self.operators if among is None else among
        schedulable = [
            each for each in operators if each.worklist > 0 and each.workers < each.limit and each.is_open
        ]
        if not schedulable:
            return None
        if len(schedulable) == 1:
            (operator,) = schedulable
        else:
            operator = self.heuristic.choose(schedulable, now)
        operator.workers += 1
        self.decisions += 1
        return Allotment(operator, self.heuristic.tuples(operator))

    def finish(
        self,
        operator: Operator,
        rows_in: int,
        rows_out: int,
        took_ns: int,
        now: int,
        kernel_ns: int = 0,
        pooled_ns: int = 0,
    ) -> None:
        """The worker is back: tuples it took and answered, and the time it was away (ns); of it in kernels, and in kernels that
        it has left to others."""
        operator.workers -= 1
        operator.peak = max(operator.peak, operator.worklist)
        operator.statistics.add(rows_in, rows_out, took_ns, kernel_ns, pooled_ns)
        self.heuristic.finished(operator, took_ns, now)

    def statistics(self) -> dict[str, int]:
        """Decisions, and worker time that was allotted, in ns."""
        busy = sum(each.statistics.total_ns for each in self.operators)
        return {"decisions": self.decisions, "busy_ns": busy}
