"""What a scheduling heuristic sees and answers (ordered-multicore section 6). Pure: no clock, no threads, no I/O.

A heuristic chooses among the operators that are schedulable now. How many tuples the worker then takes follows from
the time slice and the measured cost, the same for all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from actorstream.scheduling.statistics import Statistics

UNBOUNDED = math.inf
"""Parallelism of a stateless operator: as many workers as there are."""
LEAST_SELECTIVITY = 1e-6
"""In products of selectivities, so that behind an operator that has answered nothing yet they are no 0 to divide by."""


class Operator:
    """One operator of a process as the scheduler sees it; its fields change while the run goes on.

    Args:
        name: of the actor.
        index: its place in topological order, from 0: the ingress first.
        limit: how many workers may be in it at once: 1 if it is stateful, its partitions if it is partitioned,
            `UNBOUNDED` if it is stateless (the paper's M).
        upstream: index of each operator that feeds it, with the share of that one's outputs that come here.
    """

    __slots__ = (
        "downstream",
        "index",
        "is_open",
        "limit",
        "name",
        "peak",
        "spent_ns",
        "statistics",
        "upstream",
        "workers",
        "worklist",
    )

    def __init__(
        self,
        name: str,
        index: int,
        *,
        limit: float = UNBOUNDED,
        upstream: Iterable[tuple[int, float]] = (),
    ) -> None:
        self.name, self.index, self.limit = name, index, limit
        self.upstream = tuple(upstream)
        self.downstream: list[Operator] = []
        self.statistics = Statistics()
        self.worklist: float = 0
        """Tuples that wait (the paper's I)."""
        self.peak: float = 0
        """The longest worklist that was seen when a worker came back from it."""
        self.workers = 0
        """Workers in it now (w)."""
        self.is_open = True
        """Whether what it answers has somewhere to go: a free slot to be put in order, and credit downstream."""
        self.spent_ns = 0
        """Worker time spent on it in the current window (T)."""

    @property
    def cost(self) -> float:
        """Nanoseconds a tuple (c)."""
        return self.statistics.cost

    @property
    def selectivity(self) -> float:
        """Outputs a tuple (s)."""
        return self.statistics.selectivity

    @property
    def is_schedulable(self) -> bool:
        """Section 6: work waits and one more worker is allowed; and, so that no worker ever waits, the outputs have
        somewhere to go."""
        return self.worklist > 0 and self.workers < self.limit and self.is_open

    def tuples(self, slice_ns: int) -> int:
        """How many tuples a worker takes at the most: a slice's worth at the measured cost; 1 while it is not known."""
        if not self.statistics.turns:
            return 1
        return max(1, int(slice_ns / max(self.statistics.cost, 1e-3)))

    def __repr__(self) -> str:
        return f"<Operator {self.index} {self.name} worklist={self.worklist} workers={self.workers}>"


class Pipeline:
    """The operators of a process, in topological order, joined by what feeds what."""

    def __init__(self, operators: Sequence[Operator]) -> None:
        self.operators = list(operators)
        for operator in self.operators:
            for index, _ in operator.upstream:
                self.operators[index].downstream.append(operator)

    def cost(self, ingress: Operator) -> float:
        """Nanoseconds that `ingress` and all operators behind it together spend on one of its tuples and what comes of it.
        What else is read in the process, tables say, is not part of it."""
        total, made = ingress.cost, {ingress.index: ingress.selectivity}
        for each in self.operators[ingress.index + 1 :]:
            arriving = sum(made.get(index, 0.0) * share for index, share in each.upstream)
            total += each.cost * arriving
            made[each.index] = each.selectivity * arriving
        return total

    def cumulative(self) -> list[float]:
        """Outputs of each operator for one tuple at the ingress: in a chain the product of the selectivities so far,
        cs_i = s_1 * ... * s_i (section 6.1); where streams meet, of their sum."""
        found: list[float] = []
        for operator in self.operators:
            arriving = sum(found[index] * share for index, share in operator.upstream) or 1.0
            found.append(max(arriving * operator.selectivity, LEAST_SELECTIVITY))
        return found


class Heuristic(ABC):
    """Which of the schedulable operators the next worker gets."""

    name: ClassVar[str]
    reads_ahead: ClassVar[bool] = True
    """Whether sources may read more while kernels wait for a thread. It keeps the threads busy, but what was read waits."""

    def __init__(self, pipeline: Pipeline, *, slice_ns: int, window_ns: int, capacity: int) -> None:
        """`slice_ns`: the time slice s. `window_ns`: CT's window w. `capacity`: tuples, QST's C."""
        self.pipeline = pipeline
        self.slice_ns, self.window_ns, self.capacity = slice_ns, window_ns, capacity

    @abstractmethod
    def choose(self, schedulable: Sequence[Operator], now: int) -> Operator:
        """One of `schedulable` (in topological order, at least one) at `now` (ns)."""

    def tuples(self, operator: Operator) -> int:
        """How many tuples the worker takes at the most: what it gets through in a slice."""
        return operator.tuples(self.slice_ns)

    def finished(self, operator: Operator, took_ns: int, now: int) -> None:
        """A worker has come back from `operator` after `took_ns`. Most heuristics need not know."""
        return
