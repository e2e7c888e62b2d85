"""The kernels of a pool against queues of Python: random schedules of submitting, running, ranking and collecting."""

from __future__ import annotations

import ctypes
from collections import deque
from random import Random

import pytest
from actorstream.native._core import ffi

from actorstream.native.pool import SCHEMES, KernelPool

SCHEDULES = 1000
STARTS = (0, 2**32 - 5, 2**63 - 5, 2**64 - 5)
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)


class Sequential:
    """What a pool does when one thread does everything."""

    def __init__(self, lanes: int, capacity: int, start: int) -> None:
        self.capacity = capacity
        self.order = list(range(lanes))
        self.waiting: list[deque[int]] = [deque() for _ in range(lanes)]
        self.submitted, self.ready, self.collected = [start] * lanes, [start] * lanes, [start] * lanes

    def submit(self, lane: int, number: int) -> bool:
        if self.submitted[lane] - self.collected[lane] >= self.capacity - 1:
            return False
        self.submitted[lane] += 1
        self.waiting[lane].append(number)
        return True

    def help(self) -> int | None:
        for lane in self.order:
            if self.waiting[lane]:
                self.ready[lane] += 1
                return self.waiting[lane].popleft()
        return None

    def rank(self, lanes: list[int]) -> None:
        for rank, lane in enumerate(lanes):
            at = self.order.index(lane)
            self.order[at], self.order[rank] = self.order[rank], lane


@pytest.mark.parametrize("scheme", SCHEMES)
def test_random_schedules_agree_with_the_model(eventfd: int, scheme: str) -> None:
    ran: list[int] = []
    function = FUNCTION(lambda context: ran.append(context) or len(ran))
    address = ctypes.cast(function, ctypes.c_void_p).value
    for seed in range(SCHEDULES):
        dice = Random(seed)
        lanes, capacity, start = dice.randint(1, 4), 1 << dice.randint(1, 4), dice.choice(STARTS)
        pool = KernelPool(lanes, capacity, 1, eventfd, scheme=scheme, start=start)
        model = Sequential(lanes, capacity, start)
        kept = []
        for number in range(1, dice.randint(5, 60)):
            lane = dice.randrange(lanes)
            what = dice.randrange(6)
            if what < 3:
                job = ffi.new("as_pool_job *", (address, ffi.cast("void *", number), -1, 0, 0, 0))
                kept.append(job)
                assert pool.submit(lane, job) == model.submit(lane, number)
            elif what == 3:
                expected, before = model.help(), len(ran)
                assert pool.help() == (expected is not None)
                assert ran[before:] == ([] if expected is None else [expected])
            elif what == 4:
                ranked = dice.sample(range(lanes), dice.randint(1, lanes))
                pool.rank(ranked)
                model.rank(ranked)
                pool.allot(lane, dice.randrange(4))
            else:
                assert pool.park() == (model.ready == model.collected)
                pool.unpark()
                model.collected[lane] = dice.randint(model.collected[lane], model.ready[lane])
                pool.collected(lane, model.collected[lane] % 2**64)
            assert [pool.ready(each) for each in range(lanes)] == [each % 2**64 for each in model.ready]
            assert pool.waiting() == sum(map(len, model.waiting))
