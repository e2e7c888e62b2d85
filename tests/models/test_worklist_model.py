"""Worklists of every kind against queues of Python: random schedules of one pusher and several workers."""

from __future__ import annotations

from collections import deque
from random import Random

import pytest

from tests.native.worklist import KINDS, Work, Worklist

SCHEDULES = 1000  # for each kind
STARTS = (0, 2**32 - 5, 2**63 - 5, 2**64 - 5)
WRAP = 2**64


def precedes(serial: int, limit: int) -> bool:
    return (serial - limit) % WRAP >= 2**63


class Sequential:
    """What the kinds do, without threads: `waiting` in order of arrival, who is in which partition."""

    def __init__(self, kind: str, capacity: int, partitions: int, start: int) -> None:
        self.kind, self.capacity, self.partitions = kind, capacity, partitions
        self.end = start
        self.waiting: deque[Work] = deque()
        self.master: deque[Work] = deque()  # hybrid: entries whose items may wait for another worker
        self.counters = [0] * partitions

    def push(self, item: int, partition: int) -> bool:
        if len(self.waiting) == self.capacity:
            return False
        work = Work(item, self.end, partition)
        self.waiting.append(work)
        self.master.append(work)
        self.end = (self.end + 1) % WRAP
        return True

    def first_of(self, partition: int) -> Work | None:
        return next((work for work in self.waiting if work.partition == partition), None)

    def hand_out(self, work: Work) -> Work:
        self.waiting.remove(work)
        return work

    def pop(self, worker: int, limit: int) -> Work | None:
        return getattr(self, f"pop_{self.kind}")(worker, limit)

    def pop_stateless(self, worker: int, limit: int) -> Work | None:
        if self.waiting and precedes(self.waiting[0].serial, limit):
            return self.hand_out(self.waiting[0])
        return None

    def pop_shared(self, worker: int, limit: int) -> Work | None:
        if self.waiting and self.counters[self.waiting[0].partition]:
            return None
        work = self.pop_stateless(worker, limit)
        if work is not None:
            self.counters[work.partition] = 1
        return work

    def pop_hybrid(self, worker: int, limit: int) -> Work | None:
        while self.master and precedes(self.master[0].serial, limit):
            partition = self.master.popleft().partition
            self.counters[partition] += 1
            if self.counters[partition] == 1:
                return self.hand_out(self.known(self.first_of(partition)))
        return None

    def pop_partitioned(self, worker: int, limit: int) -> Work | None:
        for i in range(self.partitions):
            partition = (worker + i) % self.partitions
            first = self.first_of(partition)
            if not self.counters[partition] and first is not None and precedes(first.serial, limit):
                self.counters[partition] = 1
                return self.hand_out(first)
        return None

    def done(self, partition: int, limit: int) -> Work | None:
        first = self.first_of(partition)
        if self.kind == "partitioned" and first is not None and precedes(first.serial, limit):
            return self.hand_out(first)
        if self.kind != "stateless":
            self.counters[partition] -= 1
        if self.kind == "hybrid" and self.counters[partition]:
            return self.hand_out(self.known(first))
        return None

    @staticmethod
    def known(work: Work | None) -> Work:
        assert work is not None
        return work


def run(kind: str, random: Random) -> int:
    """One schedule: both must answer the same at every step. How many items were handed out."""
    capacity, start = random.choice((1, 2, 4, 16)), random.choice(STARTS)
    partitions = 1 if kind == "stateless" else random.choice((1, 2, 3, 7))
    model, real = Sequential(kind, capacity, partitions, start), Worklist(kind, capacity, partitions, start)
    busy: dict[int, Work] = {}
    handed: list[Work] = []
    limit, lagging = start, random.random() < 0.7
    workers = random.randrange(1, 6)
    for step in range(random.randrange(20, 150)):
        worker = random.randrange(workers)
        limit = limit if lagging else model.end
        choice = random.random()
        if choice < 0.4:
            partition = random.randrange(partitions)
            assert real.push(step + 1, partition) == model.push(step + 1, partition)
        elif choice < 0.5 and lagging:
            limit = (limit + random.randrange(3)) % WRAP
        elif worker in busy:
            work = busy.pop(worker)
            following = model.done(work.partition, limit)
            assert real.done(work, limit) == following
            if following is not None:
                busy[worker] = following
                handed.append(following)
        if worker not in busy and random.random() < 0.5:
            work_or_none = model.pop(worker, limit)
            assert real.pop(limit, worker) == work_or_none
            if work_or_none is not None:
                busy[worker] = work_or_none
                handed.append(work_or_none)
        assert (len(real), real.room, real.end) == (
            len(model.waiting),
            capacity - len(model.waiting),
            model.end,
        )
    check(kind, handed, list(busy.values()), start)
    return len(handed)


def check(kind: str, handed: list[Work], busy: list[Work], start: int) -> None:
    """What holds for every kind: an item once, a partition's in order, at most one worker in it."""
    assert len({work.serial for work in handed}) == len(handed)
    for partition in {work.partition for work in handed}:
        serials = [(work.serial - start) % WRAP for work in handed if work.partition == partition]
        assert serials == sorted(serials)
    if kind != "stateless":
        assert len({work.partition for work in busy}) == len(busy)


@pytest.mark.parametrize("kind", KINDS)
def test_random_schedules_hand_out_what_a_sequential_worklist_does(kind: str) -> None:
    assert sum(run(kind, Random(seed)) for seed in range(SCHEDULES)) > 5 * SCHEDULES


def test_a_hybrid_worklist_hands_a_busy_partition_to_the_worker_that_is_in_it() -> None:
    worklist = Worklist("hybrid", 8, 2)
    for item, partition in enumerate((0, 0, 1, 0)):
        assert worklist.push(item, partition)
    first = worklist.pop()
    assert first == Work(0, 0, 0)
    assert worklist.pop() == Work(2, 2, 1)  # item 1 was delegated on the way
    assert worklist.pop() is None  # and item 3
    assert worklist.done(first) == Work(1, 1, 0)
    assert worklist.done(Work(1, 1, 0)) == Work(3, 3, 0)
    assert worklist.done(Work(3, 3, 0)) is None


def test_a_shared_worklist_gives_nothing_while_the_partition_of_its_first_item_is_busy() -> None:
    worklist = Worklist("shared", 8, 2)
    for item, partition in enumerate((0, 0, 1)):
        assert worklist.push(item, partition)
    first = worklist.pop()
    assert first is not None
    assert worklist.pop() is None
    assert worklist.done(first) is None
    assert worklist.pop() == Work(1, 1, 0)


def test_a_partitioned_worklist_keeps_a_worker_in_its_partition_until_it_is_empty() -> None:
    worklist = Worklist("partitioned", 8, 2)
    for item, partition in enumerate((0, 1, 0)):
        assert worklist.push(item, partition)
    first = worklist.pop(worker=1)
    assert first == Work(1, 1, 1)
    assert worklist.done(first) is None
    assert worklist.pop(worker=1) == Work(0, 0, 0)
    assert worklist.done(Work(0, 0, 0)) == Work(2, 2, 0)
