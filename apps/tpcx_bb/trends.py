"""Least squares over the sums of days (Q15)."""

from __future__ import annotations

from math import fsum
from typing import Any

import numpy as np

from actorstream import Actor, Batch, Event, Schema
from apps.tpcx_bb.events import Trend


class Trends(Actor):
    """At the end, the categories whose sales do not rise: the line of least squares through their sales by day.

    Takes rows (day, category, paid), which go on as the output `running` when they have been added. A category that was
    sold on one day only has no line.
    """

    def __init__(self) -> None:
        self.numbers: dict[tuple[int, int], int] = {}
        """(category, day) -> index of its sum."""
        self.sums = np.zeros(64)

    @classmethod
    def output_types(cls, keys: dict[str, Any], inputs: list[Schema]) -> dict[str, Schema | type[Event]]:
        return {"default": Trend, "running": inputs[0]}

    def on_batch(self, batch: Batch) -> None:
        keys = batch["category"] * np.int64(2**32) + batch["day"]
        distinct, of_row = np.unique(keys, return_inverse=True)
        numbers = self.numbers
        pairs = [divmod(key, 2**32) for key in distinct.tolist()]
        places = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], np.intp)
        if len(numbers) > len(self.sums):
            self.sums = np.concatenate([self.sums, np.zeros(len(numbers))])
        np.add.at(self.sums, places[of_row], batch["paid"])  # one after the other: batches make no difference
        self.emit(batch, to="running")

    def on_end(self) -> list[Trend]:
        days: dict[int, dict[int, float]] = {}
        for (category, day), place in self.numbers.items():
            days.setdefault(category, {})[day] = float(self.sums[place])
        trends = (Trend(category, *line) for category, sums in sorted(days.items()) if (line := fitted(sums)))
        return [trend for trend in trends if trend.slope <= 0]

    def snapshot(self) -> list[tuple[int, int, float]]:
        return [(*key, float(self.sums[place])) for key, place in self.numbers.items()]

    def restore(self, snapshot: Any) -> None:
        self.numbers = {(category, day): place for place, (category, day, _) in enumerate(snapshot)}
        self.sums = np.array([*(total for *_, total in snapshot), *([0.0] * 64)])


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
