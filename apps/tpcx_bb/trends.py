"""Least squares over the sums of days (Q15). Adding up is done in C (kernel.c), a call a batch."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np

from actorstream import Batch, Event, Schema
from actorstream.operators.prepared import Prepared
from apps.tpcx_bb.events import Trend
from apps.tpcx_bb.kernel import State
from apps.tpcx_bb.native import Native


class Trends(Native):
    """At the end, the categories whose sales do not rise: the line of least squares through their sales by day.

    Takes rows (day, category, paid), which go on as the output `running` when they have been added. A category that was
    sold on one day only has no line. Sums are added up row by row, so batches make no difference.
    """

    def __init__(self) -> None:
        self.kept = State(2, 1)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": Trend, "running": inputs[0]}

    def on_batch(self, batch: Batch) -> None:
        self.kept.by_key("sums", [batch["category"], batch["day"]], batch["paid"])
        self.emit(batch, to="running")

    def prepare(self, batch: Batch) -> Prepared:
        columns = [batch["category"], batch["day"], batch["paid"]]
        return self.kept.prepared("sums", columns, lambda _: self.emit(batch, to="running"))

    def on_end(self) -> list[Trend]:
        self.kept.call("read")
        category, day, paid = map(self.kept.column, range(3))
        days: dict[int, dict[int, float]] = {}
        for of, on, total in zip(category.tolist(), day.tolist(), paid.view(np.float64).tolist()):
            days.setdefault(of, {})[on] = total
        trends = (Trend(of, *line) for of, sums in sorted(days.items()) if (line := fitted(sums)))
        return [trend for trend in trends if trend.slope <= 0]


def fitted(values: dict[int, float]) -> tuple[float, float] | None:
    """Slope and intercept of the line of least squares through x -> y, the same for any order of the points; None for
    fewer than two."""
    if len(values) < 2:
        return None
    mean_x, mean_y = fsum(values) / len(values), fsum(values.values()) / len(values)
    slope = fsum((x - mean_x) * (y - mean_y) for x, y in values.items()) / fsum(
        (x - mean_x) ** 2 for x in values
    )
    return slope, mean_y - slope * mean_x
