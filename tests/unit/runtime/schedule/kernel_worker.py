"""A worker with kernels and no threads, for the tests of kernel edges."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorstream.runtime.build import build_units
from actorstream.runtime.schedule.kernel_edge import KernelEdge
from actorstream.runtime.worker import Worker
from actorstream.topology.builder import Topology
from tests.integration.parts import numbers
from tests.unit.plan.test_pooling import job_of


def worker_of(topology: Topology, **deploy: Any) -> Worker:
    """A worker whose units have channels between them, and which no loop runs."""
    worker = Worker(job_of(topology, pipelining=False, **deploy), 0, None, None)
    worker.turn_ns = 1 << 60  # no turn ends because the machine is busy
    worker.units = build_units(worker)
    return worker


class Nobody:
    """Stands for a thread."""

    def __init__(self, **options: Any) -> None:
        """There is nothing to run."""

    def start(self) -> None:
        """It takes no jobs."""

    def join(self, seconds: float) -> None:
        """It has ended."""


class KernelWorker:
    """A worker with kernels and no threads: they run when the test says so."""

    def __init__(self, loop: asyncio.AbstractEventLoop, topology: Topology, **deploy: Any) -> None:
        self.worker = Worker(job_of(topology, **deploy), 0, None, None)
        self.worker.loop = loop
        self.worker.units = build_units(self.worker)
        assert self.worker.turns.schedule is not None
        self.schedule = self.worker.turns.schedule
        self.worker.turns.open()
        self.worker.turn_ns = 1 << 60  # no turn ends because the machine is busy
        self.unit = self.worker.units[0]
        self.edge: KernelEdge = next(edge for unit in self.worker.units for edge in unit.kernels)

    def push(self, *values: int) -> None:
        self.unit.head.forward(numbers(np.array(values, np.int64)))

    def run(self, count: int = 1) -> None:
        assert self.schedule.kernels is not None
        assert all(self.schedule.kernels.help() for _ in range(count))

    def waiting(self) -> int:
        assert self.schedule.kernels is not None
        return self.schedule.kernels.waiting()

    @property
    def out(self) -> list[int]:
        """What has come to the sink."""
        return [row[0] for row in self.unit.members[-1].actor.rows]  # type: ignore[attr-defined]

    def close(self) -> None:
        self.schedule.close()


def hands(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Makes hands, for a fixture; kernels are submitted however short they are."""
    monkeypatch.setattr("actorstream.runtime.schedule.kernel_edge.PAYS_NS", 0)
    monkeypatch.setattr("actorstream.runtime.schedule.kernels.Thread", Nobody)
    loop = asyncio.new_event_loop()
    made: list[KernelWorker] = []

    def one(topology: Topology, **deploy: Any) -> KernelWorker:
        made.append(KernelWorker(loop, topology, **deploy))
        return made[-1]

    yield one
    for each in made:
        each.close()
    loop.close()
