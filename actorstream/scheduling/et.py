"""ET, estimated time (ordered-multicore section 6.3): the operator whose worklist would take longest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from actorstream.scheduling.base import Heuristic, Operator


def priority(operator: Operator) -> float:
    """Time to process the worklist with one more worker, in ns: I * c / (w + 1), or 0 where none is allowed
    (equation 2)."""
    if operator.workers >= operator.limit:
        return 0.0
    return operator.worklist * operator.cost / (operator.workers + 1)


class EstimatedTime(Heuristic):
    """The operator of the highest priority; of equals the latest."""

    name: ClassVar[str] = "et"

    def choose(self, schedulable: Sequence[Operator], now: int) -> Operator:
        return max(reversed(schedulable), key=priority)
