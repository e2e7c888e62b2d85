"""Partitions that wait for a thread: the hybrid worklist against a model of it."""

from __future__ import annotations

import random

import pytest

from actorstream.runtime.pool.partitions import Partitions
from actorstream.runtime.pool.unit import PooledUnit
from actorstream.topology.builder import Topology
from tests.integration.parts import Collect, Numbers
from tests.integration.pooled import RunningSum
from tests.unit.runtime.pool.test_pool import send, worker_of

COUNT = 4


def units() -> list[PooledUnit]:
    topology = Topology("partitions")
    stream = topology.source(Numbers, name="numbers", count=1)
    stream.ranges("value", [10, 20, 30]).through(RunningSum, name="sums", replicas=COUNT).to_one().into(
        Collect, name="out"
    )
    worker = worker_of(topology)
    send(worker, 100)  # 10, 10, 10 and 70 rows, each as one jumbo tuple
    return [unit for unit in worker.units if isinstance(unit, PooledUnit)]


class Model:
    """What ordered-multicore section 4.3 says, one step at a time."""

    def __init__(self) -> None:
        self.master: list[int] = []
        self.waits: set[int] = set()
        self.inside: set[int] = set()

    def push(self, number: int) -> None:
        if number not in self.waits:
            self.waits.add(number)
            self.master.append(number)

    def pop(self) -> int | None:
        while self.master:
            number = self.master.pop(0)
            if number not in self.inside:  # else it is delegated to who is inside
                self.inside.add(number)
                self.waits.discard(number)
                return number
        return None

    def leave(self, number: int) -> None:
        self.inside.discard(number)
        if number not in self.master:
            self.waits.discard(number)


@pytest.mark.parametrize("seed", range(20))
def test_random_steps_hand_out_what_the_model_hands_out(seed: int) -> None:
    dice, own, model = random.Random(seed), units(), Model()
    partitions = Partitions(own)
    for _ in range(300):
        step = dice.randrange(3)
        if step == 0:
            number = dice.randrange(COUNT)
            partitions.push(own[number])
            model.push(number)
        elif step == 1:
            found, expected = partitions.pop(), model.pop()
            assert (found is None) == (expected is None)
            assert found is None or own.index(found) == expected
        elif model.inside:
            number = dice.choice(sorted(model.inside))
            partitions.leave(own[number])
            model.leave(number)
        assert partitions.backlog == len(model.waits)  # a jumbo tuple each, whose rows nobody has counted yet


def test_what_came_while_a_thread_was_inside_goes_to_nobody_else() -> None:
    first, second, *_ = own = units()
    partitions = Partitions(own)
    partitions.push(first)
    assert partitions.pop() is first
    partitions.push(first)
    partitions.push(second)
    assert partitions.pop() is second
    assert partitions.pop() is None
    partitions.leave(first)
    assert (partitions.waiting(), partitions.backlog) == (0, 0.0)
