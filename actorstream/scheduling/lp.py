"""LP, last in pipeline (ordered-multicore section 6.2): pulls tuples towards the egress. The lowest latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from actorstream.scheduling.base import Heuristic, Operator


class LastInPipeline(Heuristic):
    """The latest operator that is schedulable."""

    name: ClassVar[str] = "lp"
    reads_ahead: ClassVar[bool] = False  # a source that ran ahead of the operators would be the latency

    def tuples(self, operator: Operator) -> int:
        """Of the ingress, what all operators get through in a slice: a slice of the ingress alone, which is often the
        cheapest, would be many slices of the others, and the last of its tuples would wait for all of them."""
        if operator.upstream or not operator.statistics.turns:
            return super().tuples(operator)
        return max(1, int(self.slice_ns / self.pipeline.cost(operator)))

    def choose(self, schedulable: Sequence[Operator], now: int) -> Operator:
        return schedulable[-1]
