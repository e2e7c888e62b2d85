"""QST, queue-size throttling (ordered-multicore section 6.1): pushes tuples from the ingress towards the egress."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from actorstream.scheduling.base import Heuristic, Operator


class QueueSizeThrottling(Heuristic):
    """The earliest operator whose output queue is below its threshold."""

    name: ClassVar[str] = "qst"

    def thresholds(self) -> list[float]:
        """Tuples that may wait behind each operator: T_i = C * cs_i / sum of cs (equation 1)."""
        cumulative = self.pipeline.cumulative()
        unit = self.capacity / sum(cumulative)
        return [unit * each for each in cumulative]

    def choose(self, schedulable: Sequence[Operator], now: int) -> Operator:
        thresholds = self.thresholds()
        for operator in schedulable:
            waiting = sum(each.worklist for each in operator.downstream)
            if waiting < thresholds[operator.index]:
                return operator
        return schedulable[
            -1
        ]  # all are over it: the paper leaves this open; a worker is not left without work
