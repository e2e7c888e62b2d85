"""CT, current throughput (ordered-multicore section 6.4): the operator that has got through least in this window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from actorstream.scheduling.base import Heuristic, Operator


class CurrentThroughput(Heuristic):
    """The operator of the lowest normalized throughput; of equals the latest."""

    name: ClassVar[str] = "ct"
    _window = -1

    def choose(self, schedulable: Sequence[Operator], now: int) -> Operator:
        self._turn_window(now)
        throughput = self.throughput()
        return min(reversed(schedulable), key=lambda operator: throughput[operator.index])

    def throughput(self) -> list[float]:
        """Tuples that each operator will have got through in this window, as tuples of the ingress:
        n_i = (T_i + w_i * s) / (c_i * cs_i) (equation 3)."""
        cumulative = self.pipeline.cumulative()
        return [
            (each.spent_ns + each.workers * self.slice_ns) / (max(each.cost, 1e-3) * cumulative[each.index])
            for each in self.pipeline.operators
        ]

    def finished(self, operator: Operator, took_ns: int, now: int) -> None:
        self._turn_window(now)
        operator.spent_ns += took_ns

    def _turn_window(self, now: int) -> None:
        window = now // self.window_ns
        if window != self._window:
            self._window = window
            for operator in self.pipeline.operators:
                operator.spent_ns = 0
