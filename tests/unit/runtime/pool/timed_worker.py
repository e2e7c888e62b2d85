"""A worker of a pool with two sources in timestamp order, driven by hand: what they give, and what waits behind a unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream.events.batch import Batch
from actorstream.transports.base import FrameKind
from tests.integration.timestamp_parts import Tick
from tests.unit.runtime.pool.pooled_worker import PooledWorker

Sent = tuple[int, int]
"""Event time and number of a row."""


class TimedWorker(PooledWorker):
    """Its sources are `Ticks`."""

    def give(self, source: str, *given: Sent) -> None:
        """One jumbo tuple of a source."""
        times, numbers = (np.array(column, np.int64) for column in zip(*given))
        zeros = np.zeros(len(given), np.int64)
        unit = self.unit(source)
        rows = {"t": times, "who": zeros, "part": zeros, "n": numbers, "key": numbers % 7}
        unit.head.forward(Batch.of_columns(Tick, rows))
        unit.flush()

    def taken(self, unit: Any) -> list[Sent]:
        """Takes what waits before a unit, lane after lane."""
        found: list[Sent] = []
        for lane in unit.in_lanes:
            while (frame := lane.channel.peek()) is not None and frame.kind == FrameKind.DATA:
                found += [(event.t, event.n) for event in lane.decode(frame).events()]
                lane.channel.consume()
        return found
