"""Sources of value_barrier by the clock, and the three programs of section 4 without `update_batch`, for the suite `dgs`."""

from __future__ import annotations

from time import monotonic_ns
from typing import Any, ClassVar

import numpy as np

from actorstream import Batch, Source
from actorstream.events.column import Column
from apps.page_view_join.program import PageViewJoin
from apps.rule_fraud.program import RuleFraud
from apps.value_barrier.events import Barrier, Value
from apps.value_barrier.program import ValueBarrier

KEPT = 4096
"""Most rows of a batch."""


def now() -> int:
    """What event times are: microseconds of the clock that all processes share."""
    return monotonic_ns() // 1000


class _Live(Source):
    """Rows as they are due at `rate`, `count` in all, with the time at which they are made."""

    made = 0

    def _due(self, max_rows: int) -> int:
        rows = max_rows if self.count is None else min(max_rows, self.count - self.made)
        self.row, self.made = self.made, self.made + max(0, rows)
        return 0 if self._opened == [] else rows

    def lower_bound(self, now_ns: int) -> int:
        return 2**63 - 1 if self.made == self.count else now()

    def position(self) -> dict[str, int]:
        return dict.fromkeys(self.partitions(), self.made)


class LiveValues(_Live):
    """Values of as many streams as there are replicas."""

    outputs: ClassVar = {"default": Value}

    def __init__(self, count: int, rate: float, shards: int = 2) -> None:
        super().__init__(count=count // shards, rate=rate)
        self.shards = shards

    def partitions(self) -> list[str]:
        return [f"s{number}" for number in range(self.shards)]

    def open(self, partitions: list[str]) -> None:
        super().open(partitions)
        self.origin = self.partitions().index(partitions[0])
        self._stream = Column.of(Value.__schema__.field("stream"), [f"s{self.origin}"] * KEPT)
        self._values = np.arange(KEPT)

    def read(self, max_rows: int) -> Batch | None:
        rows = self._due(min(max_rows, KEPT))
        if rows <= 0:
            return None
        columns: Any = {
            "stream": self._stream.slice(0, rows),
            "ts": np.full(rows, now()),
            "value": self._values[:rows],
        }
        return Batch.of_columns(Value, columns)


class LiveBarriers(_Live):
    """One barrier after the other."""

    outputs: ClassVar = {"default": Barrier}

    def read(self, max_rows: int) -> Barrier | None:
        return Barrier(now()) if self._due(min(max_rows, 1)) > 0 else None


class ValueBarrierByEvent(ValueBarrier):
    """One event at a time."""

    def update_batch(self, state: Any, batch: Batch, tag: Any) -> Any:
        return NotImplemented


class RuleFraudByEvent(RuleFraud):
    """One event at a time."""

    def update_batch(self, state: Any, batch: Batch, tag: Any) -> Any:
        return NotImplemented


class PageViewJoinByEvent(PageViewJoin):
    """One event at a time."""

    def update_batch(self, state: Any, batch: Batch, tag: Any) -> Any:
        return NotImplemented
