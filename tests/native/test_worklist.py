"""Worklists as Python sees them."""

from __future__ import annotations

import os
import threading

import pytest

from tests.native.reorder import ReorderBuffer
from tests.native.worklist import KINDS, Work, Worklist


@pytest.mark.parametrize("kind", KINDS)
def test_items_come_with_the_serial_numbers_of_their_pushes_and_not_beyond_the_limit(kind: str) -> None:
    worklist = Worklist(kind, 4, start=2**64 - 1)
    assert worklist.push(5)
    assert worklist.push(6)
    assert (worklist.end, len(worklist), worklist.room) == (1, 2, 2)
    assert worklist.pop(limit=2**64 - 1) is None
    assert worklist.ready() > 0
    first = worklist.pop(limit=0)
    assert first == Work(5, 2**64 - 1, 0)
    assert worklist.done(first, limit=0) is None
    assert worklist.pop(limit=0) is None
    assert worklist.pop() == Work(6, 0, 0)
    assert worklist.pop() is None
    assert (len(worklist), worklist.ready()) == (0, 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_full_worklist_takes_no_more_until_an_item_is_handed_out(kind: str) -> None:
    worklist = Worklist(kind, 2)
    assert [worklist.push(item) for item in range(3)] == [True, True, False]
    assert worklist.pop() is not None
    assert worklist.room == 1
    assert [worklist.push(item) for item in range(2)] == [True, False]


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "stateless"])
def test_threads_of_python_can_serve_a_worklist_in_serial_order(kind: str) -> None:
    items, left, seen = 900, list[int](), dict[int, list[int]]()
    buffer = ReorderBuffer(16, lambda serial, unit: left.append(unit - 2))
    worklist = Worklist(kind, 32, partitions=7)
    done = threading.Event()

    def serve(worker: int) -> None:
        while not done.is_set():
            work = worklist.pop(buffer.limit, worker)
            while work is not None:
                seen.setdefault(work.partition, []).append(work.item)
                assert buffer.send(work.serial, work.item + 2)
                work = worklist.done(work, buffer.limit)

    threads = [threading.Thread(target=serve, args=(worker,)) for worker in range(3)]
    for thread in threads:
        thread.start()
    for item in range(items):
        while not worklist.push(item, item * item % 7):
            os.sched_yield()
    while len(left) < items:
        os.sched_yield()
    done.set()
    for thread in threads:
        thread.join()
    assert left == list(range(items))
    assert seen == {
        partition: [item for item in range(items) if item * item % 7 == partition]
        for partition in (0, 1, 2, 4)
    }


@pytest.mark.parametrize(
    ("kind", "capacity", "partitions"),
    [
        ("hybrid", 0, 1),
        ("hybrid", 6, 1),
        ("shared", 4, 0),
        ("partitioned", 4, 2**20 + 1),
        ("stateless", 4, 2),
    ],
)
def test_sizes_out_of_range_are_refused(kind: str, capacity: int, partitions: int) -> None:
    with pytest.raises(
        ValueError, match=f"{kind} worklist of {capacity} items .* and {partitions} partitions"
    ):
        Worklist(kind, capacity, partitions)


def test_the_kind_must_exist() -> None:
    with pytest.raises(
        ValueError, match="kind is 'fifo', must be one of stateless, hybrid, shared, partitioned"
    ):
        Worklist("fifo", 4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_partition_that_does_not_exist_is_refused(kind: str) -> None:
    worklist = Worklist(kind, 4)
    with pytest.raises(ValueError, match="partition 1"):
        worklist.push(3, 1)
    assert len(worklist) == 0
