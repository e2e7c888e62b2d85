"""A worker whose pool has no threads, for the tests of kernel edges."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorstream.runtime.build import build_units
from actorstream.runtime.pool.kernel_edge import KernelEdge
from actorstream.runtime.pool.worker import ScheduledWorker
from actorstream.topology.builder import Topology
from tests.integration.parts import numbers
from tests.unit.runtime.pool.test_pooling import job_of


class Hand:
    """A worker whose pool has no threads: kernels run when the test says so."""

    def __init__(self, loop: asyncio.AbstractEventLoop, topology: Topology, **deploy: Any) -> None:
        self.worker = ScheduledWorker(job_of(topology, **deploy), 0, None, None)
        self.worker._loop = loop
        self.worker.pool._threads.clear()
        self.worker.units = build_units(self.worker)
        self.worker.open_schedule()
        self.unit = self.worker.units[0]
        self.edge: KernelEdge = next(edge for unit in self.worker.units for edge in unit.kernels)

    def push(self, *values: int) -> None:
        self.unit.head.forward(numbers(np.array(values, np.int64)))

    def run(self, count: int = 1) -> None:
        assert self.worker.kernels is not None
        assert all(self.worker.kernels.help() for _ in range(count))

    def waiting(self) -> int:
        assert self.worker.kernels is not None
        return self.worker.kernels.waiting()

    @property
    def out(self) -> list[int]:
        """What has come to the sink."""
        return [row[0] for row in self.unit.members[-1].actor.rows]  # type: ignore[attr-defined]

    def close(self) -> None:
        assert self.worker.kernels is not None
        self.worker._loop.remove_reader(self.worker.kernels.eventfd)
        self.worker.kernels.close()


def hands(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes hands, for a fixture; kernels go to the pool however short they are."""
    monkeypatch.setattr("actorstream.runtime.pool.kernel_edge.PAYS_NS", 0)
    loop = asyncio.new_event_loop()
    made: list[Hand] = []

    def one(topology: Topology, **deploy: Any) -> Hand:
        made.append(Hand(loop, topology, **deploy))
        return made[-1]

    yield one
    for each in made:
        each.close()
    loop.close()
