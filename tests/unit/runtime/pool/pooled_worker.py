"""A worker whose units a test runs turn by turn, on threads of its own; the pool's own threads are not started."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Thread
from typing import Any

import numpy as np

from actorstream.runtime.build import build_units
from actorstream.runtime.operator_unit import OperatorUnit
from actorstream.runtime.pool.unit import PooledUnit
from actorstream.runtime.pool.worker import ScheduledWorker
from actorstream.topology.builder import Topology
from actorstream.transports.base import FrameKind
from tests.integration.parts import numbers
from tests.unit.runtime.pool.test_pooling import job_of

EVERYTHING = 1 << 30
"""Rows of a turn that ends when nothing is left."""


class PooledWorker:
    """A worker of one process, whose units are the pool's."""

    def __init__(self, topology: Topology, **deploy: Any) -> None:
        job = job_of(topology, **{"pipelining": False, **deploy})
        self.worker = ScheduledWorker(job, 0, None, None)
        self.worker.pool._threads.clear()
        self.worker.units = build_units(self.worker)
        self.worker.open_schedule()
        for unit in self.worker.units:
            if isinstance(unit, PooledUnit):
                unit.on_loop = False

    def unit(self, name: str, replica: int = 0) -> Any:
        """The unit whose head is a replica of an actor."""
        return next(
            each for each in self.worker.units if (each.head.name, each.head.replica) == (name, replica)
        )

    def send(self, *values: int, source: str = "numbers") -> None:
        """One jumbo tuple of the source."""
        unit = self.unit(source)
        unit.head.forward(numbers(np.array(values, np.int64)))
        unit.flush()

    def promise(self, frontier: int, source: str = "numbers") -> None:
        """No event time below `frontier` will follow."""
        self.unit(source).head.advance(frontier)

    def mark(self, kind: FrameKind, barrier: int = 0, source: str = "numbers") -> None:
        """A control mark of the source, behind what it has sent."""
        for edges in self.unit(source).head.edges.values():
            for edge in edges:
                edge.control(kind, barrier)

    def received(self, name: str) -> list[int]:
        """Takes what waits for an actor: the values of all rows, lane after lane."""
        values: list[int] = []
        unit = self.unit(name)
        assert isinstance(unit, OperatorUnit)
        for lane in unit.in_lanes:
            while (frame := lane.channel.peek()) is not None and frame.kind == FrameKind.DATA:
                values += lane.decode(frame)["value"].tolist()
                lane.consume()
        return values

    def run(self, name: str, replica: int = 0) -> tuple[int, int]:
        """Turns of a unit until it is open to nobody; rows taken and answered. One may end early, by its time."""
        unit, taken, made = self.unit(name, replica), 0, 0
        self.worker.pool.offer(unit)
        while unit.is_available():
            rows_in, rows_out = unit.turn(EVERYTHING)
            taken, made = taken + rows_in, made + rows_out
        return taken, made

    def drained(self, name: str, out: str, source: str = "numbers") -> list[int]:
        """Turns of a unit, each after what it has sent was taken, until nothing more comes of it."""
        unit, values = self.unit(name), list[int]()
        while True:
            self.worker.pool.offer(unit)
            unit.turn(EVERYTHING)
            found = self.received(out)
            if not found:
                return values
            values += found
            self.unit(source).unblock()

    def frontier(self, name: str) -> int:
        """What an actor has been promised."""
        return min(lane.frontier() for lane in self.unit(name).in_lanes)


class Thrown:
    """Threads of a test; what one of them raises is raised by `join`."""

    def __init__(self, *calls: Any) -> None:
        self.errors: list[BaseException] = []
        self.answers: list[Any] = [None] * len(calls)
        self.threads = [Thread(target=self._run, args=(number, call)) for number, call in enumerate(calls)]
        for thread in self.threads:
            thread.start()

    def _run(self, number: int, call: Any) -> None:
        try:
            self.answers[number] = call()
        except BaseException as error:
            self.errors.append(error)

    def join(self) -> list[Any]:
        for thread in self.threads:
            thread.join(60)
            assert not thread.is_alive()
        if self.errors:
            raise self.errors[0]
        return self.answers


def rows(count: int, step: int) -> Iterable[tuple[int, ...]]:
    """0 to count - 1 in jumbo tuples of `step`."""
    return (tuple(range(first, min(first + step, count))) for first in range(0, count, step))
