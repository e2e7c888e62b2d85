"""Tasks push into a receiver over a real socket; the tasks are threads here, and their rows are lists of batches."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from actorstream.errors import ConfigurationError
from actorstream.spark.push import Pushed, PushError, Target, encoded, push
from actorstream.spark.receiver import WINDOW, Receiver, TableChangedError

PATIENCE_S = 60.0


def batch(*times: int) -> Any:
    return pa.record_batch({"t": pa.array(times, pa.int64())})


class Actor:
    """The actor's side: takes what there is, and waits for more."""

    def __init__(self, lanes: int = 1, number: int = 0, kept: Any = None, host: str = "") -> None:
        self.woken = threading.Event()
        self.receiver = Receiver(range(lanes), self.times, self.woken.set, number, kept, host)

    @staticmethod
    def times(rows: Any) -> np.ndarray:
        found: np.ndarray = rows.column("t").to_numpy()
        return found

    def take(self, rows: int) -> list[int]:
        """The next rows, so many or until the range ends."""
        found: list[int] = []
        while len(found) < rows:
            self.woken.clear()
            taken = self.receiver.take(rows - len(found))
            if taken is not None:
                found += taken[0].column("t").to_pylist()
            elif self.receiver.ended:
                break
            else:
                assert self.woken.wait(PATIENCE_S)
        return found

    @property
    def target(self) -> Target:
        name, _, tunnel = self.receiver.address.partition(" ")
        return Target(f"nobody {tunnel}" if tunnel else name, self.receiver.token)

    def push(self, batches: Iterator[Any], lane: int = 0, number: int = 0) -> int:
        return push(self.target, lane, number, encoded(batches)).rows


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as made:
        yield made


def result(task: Future[int]) -> int:
    return task.result(PATIENCE_S)


@pytest.mark.parametrize("host", ["", "127.0.0.1"])
def test_the_lanes_of_a_range_come_by_time_and_tasks_hear_that_all_was_taken(
    pool: ThreadPoolExecutor, host: str
) -> None:
    actor = Actor(2, host=host)
    tasks = [
        pool.submit(actor.push, iter([batch(1, 4), batch(), batch(6)]), 0),
        pool.submit(actor.push, iter([batch(2, 3, 9)]), 1),
    ]
    assert actor.take(100) == [1, 2, 3, 4, 6, 9]
    assert [result(task) for task in tasks] == [3, 3]
    actor.receiver.close()


def test_an_address_of_another_host_is_one_message() -> None:
    with pytest.raises(ConfigurationError, match=r"host: is '192\.0\.2\.1', which cannot be listened at"):
        Actor(host="192.0.2.1")


def test_a_task_waits_for_the_actor_so_that_memory_is_bounded(pool: ThreadPoolExecutor) -> None:
    total, taken, ahead = 20 * WINDOW, 0, []

    def batches() -> Iterator[Any]:
        for number in range(total):
            ahead.append(number - taken)
            yield batch(number)

    actor = Actor()
    task = pool.submit(actor.push, batches())
    for number in range(total):
        assert actor.take(1) == [number]
        taken = number + 1
    assert result(task) == total
    # a window here, as many in the merged sequence, and the one that waits for its credit
    assert max(ahead) <= 2 * WINDOW + 1
    actor.receiver.close()


def test_a_task_that_is_tried_again_sends_only_what_has_not_arrived(pool: ThreadPoolExecutor) -> None:
    def fails() -> Iterator[Any]:
        yield from (batch(0, 1), batch(2))
        raise RuntimeError("the executor is lost")

    actor = Actor()
    with pytest.raises(RuntimeError):
        actor.push(fails())
    task = pool.submit(actor.push, iter([batch(0, 1), batch(2), batch(3)]))
    assert actor.take(10) == [0, 1, 2, 3]
    assert result(task) == 4
    assert actor.push(iter([batch(0, 1)])) == 0  # a second one hears that it is done
    actor.receiver.close()


def test_two_tasks_of_one_lane_send_its_rows_once(pool: ThreadPoolExecutor) -> None:
    actor = Actor()
    rows = [batch(number) for number in range(50)]
    tasks = [pool.submit(actor.push, iter(rows)) for _ in range(3)]
    assert actor.take(100) == list(range(50))
    assert sorted(map(result, tasks)) == [0, 0, 50]
    actor.receiver.close()


@pytest.mark.parametrize("again", [[batch(0, 7)], [batch(0)], []])
def test_other_rows_the_second_time_are_an_error(again: list[Any]) -> None:
    def fails() -> Iterator[Any]:
        yield batch(0, 1)
        raise RuntimeError("lost")

    actor = Actor()
    with pytest.raises(RuntimeError):
        actor.push(fails())
    actor.push(iter([*again, batch(8)] if again else []))
    with pytest.raises(TableChangedError, match="lane 0 of range 0 differs before batch"):
        while True:
            actor.woken.clear()
            actor.receiver.take(1)
            assert actor.woken.wait(PATIENCE_S)
    actor.receiver.close()


def test_a_task_leaves_its_slot_to_a_lane_that_has_none_and_goes_on_later(pool: ThreadPoolExecutor) -> None:
    rows = {lane: [batch(number) for number in range(lane, 40 * WINDOW, 2)] for lane in range(2)}
    actor = Actor(2)

    def in_one_slot() -> int:
        """Runs the tasks of the lanes one after the other until none has left; how often that was."""
        for times in count(1):
            pushed = [push(actor.target, lane, 0, encoded(iter(rows[lane])), 0.01) for lane in rows]
            if not any(each.left for each in pushed):
                return times
        raise AssertionError

    slot = pool.submit(in_one_slot)
    assert actor.take(1000) == list(range(40 * WINDOW))
    assert result(slot) > 2
    actor.receiver.close()


def test_a_task_that_waits_for_a_slow_actor_keeps_its_slot(pool: ThreadPoolExecutor) -> None:
    actor = Actor()
    rows = [batch(number) for number in range(2 * WINDOW)]
    task = pool.submit(push, actor.target, 0, 0, encoded(iter(rows)), 0.01)
    asked = threading.Event()
    actor.receiver._lacks_task = lambda: asked.set()  # type: ignore[method-assign, assignment, func-returns-value]
    assert asked.wait(PATIENCE_S)
    assert actor.take(1000) == list(range(2 * WINDOW))
    assert task.result(PATIENCE_S) == Pushed(0, 2 * WINDOW)
    actor.receiver.close()


def test_tasks_of_the_next_range_wait_for_their_turn(pool: ThreadPoolExecutor) -> None:
    actor = Actor()
    later = pool.submit(actor.push, iter([batch(10)]), 0, 1)
    first = pool.submit(actor.push, iter([batch(1)]), 0, 0)
    assert actor.take(10) == [1]
    assert (result(first), later.done()) == (1, False)
    actor.receiver.next_range()
    assert actor.take(10) == [10]
    assert result(later) == 1
    actor.receiver.close()


def test_a_lane_that_no_task_pushed_into_is_empty_once_the_job_has_ended(pool: ThreadPoolExecutor) -> None:
    actor = Actor(2)
    task = pool.submit(actor.push, iter([batch(1)]), 1)
    assert result(task) == 1
    actor.receiver.end_range(0)
    assert actor.take(10) == [1]
    actor.receiver.close()


def test_a_run_goes_on_within_a_batch(pool: ThreadPoolExecutor) -> None:
    rows = [batch(0, 1, 2), batch(3, 4, 5)]
    actor = Actor()
    task = pool.submit(actor.push, iter(rows))
    assert actor.take(4) == [0, 1, 2, 3]
    assert result(task) == 6
    kept = actor.receiver.kept()
    actor.receiver.close()
    resumed = Actor(1, 0, json.loads(json.dumps(kept)))
    task = pool.submit(resumed.push, iter(rows))
    assert resumed.take(10) == [4, 5]
    assert result(task) == 6
    resumed.receiver.close()


def test_who_does_not_know_the_token_is_not_heard() -> None:
    actor = Actor()
    with pytest.raises(PushError, match="closed the connection"):
        push(Target(actor.receiver.address, "x"), 0, 0, encoded(iter([batch(1)])))
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(f"\0{actor.receiver.address}")
        link.sendall(b"GET / HTTP/1.1\r\n")
        assert link.recv(1) == b""
    actor.receiver.close()


def test_tasks_fail_when_the_actor_goes(pool: ThreadPoolExecutor) -> None:
    actor = Actor()
    task = pool.submit(actor.push, iter([batch(number) for number in range(100)]))
    assert actor.take(1) == [0]
    actor.receiver.close()
    with pytest.raises(OSError):
        result(task)
