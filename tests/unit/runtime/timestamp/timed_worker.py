"""A worker with two sources in timestamp order, driven by hand: what they give, and what waits behind a unit."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorstream.events.batch import Batch
from actorstream.runtime.unit import Status
from actorstream.topology.builder import Topology
from actorstream.transports.base import FrameKind
from tests.integration.timestamp_parts import Tick
from tests.unit.runtime.schedule.kernel_worker import worker_of

Sent = tuple[int, int]
"""Event time and number of a row."""


class TimedWorker:
    """Its sources are `Ticks`."""

    def __init__(self, topology: Topology, **deploy: Any) -> None:
        self.worker = worker_of(topology, **deploy)

    def unit(self, name: str, replica: int = 0) -> Any:
        """The unit whose head is a replica of an actor."""
        return next(
            each for each in self.worker.units if (each.head.name, each.head.replica) == (name, replica)
        )

    def give(self, source: str, *given: Sent) -> None:
        """One jumbo tuple of a source."""
        times, numbers = (np.array(column, np.int64) for column in zip(*given))
        zeros = np.zeros(len(given), np.int64)
        unit = self.unit(source)
        rows = {"t": times, "who": zeros, "part": zeros, "n": numbers, "key": numbers % 7}
        unit.head.forward(Batch.of_columns(Tick, rows))
        unit.flush()

    def promise(self, frontier: int, source: str) -> None:
        """No event time below `frontier` will follow."""
        self.unit(source).head.advance(frontier)

    def mark(self, kind: FrameKind, barrier: int, source: str) -> None:
        """A control mark of the source, behind what it has sent."""
        self.unit(source).control(kind, barrier)

    def run(self, name: str, replica: int = 0) -> None:
        """Turns of a unit until nothing is left for it to do."""
        while self.unit(name, replica).step() is Status.READY:
            """There is more."""

    def taken(self, unit: Any) -> list[Sent]:
        """Takes what waits before a unit, lane after lane."""
        found: list[Sent] = []
        for lane in unit.in_lanes:
            while (frame := lane.channel.peek()) is not None and frame.kind == FrameKind.DATA:
                found += [(event.t, event.n) for event in lane.decode(frame).events()]
                lane.channel.consume()
        return found
