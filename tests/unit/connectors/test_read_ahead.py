"""Reading ahead: order, bounds, errors and ends, with threads that are held up on purpose."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import pytest

from actorstream.connectors.read_ahead import ReadAhead


class Numbers:
    """0 .. count - 1; counts how far ahead it was read and whether it was closed."""

    def __init__(self, count: int, fails_at: int = -1) -> None:
        self.rest: Iterator[int] = iter(range(count))
        self.fails_at, self.taken, self.closed = fails_at, 0, 0

    def take(self) -> int | None:
        number = next(self.rest, None)
        if number is not None:
            self.taken += 1
            if number == self.fails_at:
                raise OSError("broken")
        return number

    def close(self) -> None:
        self.closed += 1


def test_results_come_in_order_whichever_thread_is_first() -> None:
    begun = [threading.Event() for _ in range(200)]

    def work(number: int) -> int:
        begun[number].set()
        if number % 2 == 0:
            begun[number + 1].wait(10)  # even ones are overtaken
        return number * 10

    numbers = Numbers(200)
    ahead: ReadAhead[int] = ReadAhead(numbers.take, work, numbers.close)
    assert [ahead.next() for _ in range(200)] == [number * 10 for number in range(200)]
    assert ahead.next() is None
    assert ahead.next() is None


def test_no_more_is_read_ahead_than_the_depth() -> None:
    numbers = Numbers(100)
    ahead: ReadAhead[int] = ReadAhead(numbers.take, lambda number: number, numbers.close, depth=3)
    for given in range(100):
        assert ahead.next() == given
        assert numbers.taken <= given + 1 + 3


def test_a_slow_consumer_gets_everything() -> None:
    for count in (0, 1, 2, 3, 4, 5, 17):
        numbers = Numbers(count)
        ahead: ReadAhead[int] = ReadAhead(numbers.take, lambda number: number, numbers.close, depth=3)
        found = []
        while (number := ahead.next()) is not None:
            found.append(number)
            for job in list(ahead._jobs):
                job.result()  # all that may be read ahead is there before the next is asked for
        assert found == list(range(count))


@pytest.mark.parametrize("place", ["take", "work"])
def test_an_error_comes_at_its_place_and_closes(place: str) -> None:
    numbers = Numbers(10, fails_at=4 if place == "take" else -1)

    def work(number: int) -> int:
        if place == "work" and number == 4:
            raise OSError("broken")
        return number

    ahead: ReadAhead[int] = ReadAhead(numbers.take, work, numbers.close)
    assert [ahead.next() for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(OSError, match="broken"):
        ahead.next()
    assert numbers.closed == 1


def test_close_lets_go_while_work_is_going_on() -> None:
    started, release = threading.Event(), threading.Event()

    def work(number: int) -> int:
        started.set()
        release.wait(10)
        return number

    numbers = Numbers(10)
    ahead: ReadAhead[int] = ReadAhead(numbers.take, work, numbers.close)
    ahead._fill()
    started.wait(10)
    ahead.close()
    release.set()
    assert numbers.closed == 1


def test_a_forked_child_reads_with_threads_of_its_own() -> None:
    before: ReadAhead[int] = ReadAhead(Numbers(2).take, lambda number: number, lambda: None)
    assert before.next() == 0
    child = os.fork()
    if child == 0:
        numbers = Numbers(5)
        ahead: ReadAhead[int] = ReadAhead(numbers.take, lambda number: number, numbers.close)
        os._exit(0 if [ahead.next() for _ in range(6)] == [0, 1, 2, 3, 4, None] else 1)
    _, status = os.waitpid(child, 0)
    assert status == 0
