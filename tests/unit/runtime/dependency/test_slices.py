"""Slices on their way to a worker: those of a tag are gathered while it has something to do, and nothing overtakes a mark
or a promise."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from actorstream.events.batch import Batch
from actorstream.events.event import Event
from actorstream.transports.base import FRONTIER_MIN, FrameKind
from tests.unit.runtime.dependency.test_tag_edge import lane

DATA = int(FrameKind.DATA)
BATCH = 100
"""Rows of a jumbo tuple, of `lane`."""


class Text(Event, event_time="ts"):
    ts: int
    text: str


class Number(Event, event_time="ts"):
    ts: int


def numbers(first: int, rows: int) -> Batch:
    return Batch.of_columns(Number, {"ts": list(range(first, first + rows))})


def picked(first: int, rows: int) -> Batch:
    """Rows out of a batch that has others between them."""
    found = Batch.of_columns(Number, {"ts": np.arange(2 * first, 2 * (first + rows)) // 2})
    return found.selection(np.arange(0, 2 * rows, 2, dtype=np.uint32))


def texts(first: int, rows: int) -> Batch:
    times = [time // 2 for time in range(2 * first, 2 * (first + rows))]
    found = Batch.of_columns(Text, {"ts": times, "text": [f"{time:040}" for time in times]})
    return found.selection(np.arange(0, 2 * rows, 2, dtype=np.uint32))


def taken(receive: Any, most: int = 1 << 30) -> list[tuple[int, int, list[int]]]:
    """(kind, tag, times) of frames that have come."""
    found = []
    while len(found) < most and (frame := receive.peek()) is not None:
        times = frame.payload.column("ts").tolist() if frame.kind == FrameKind.DATA else []
        found.append((int(frame.kind), frame.serial if times else frame.barrier, times))
        assert len(times) <= BATCH
        receive.consume()
    return found


def test_slices_of_a_tag_are_gathered_while_the_worker_has_something_to_do() -> None:
    made, receive = lane(Number)
    made.push(picked(0, 3), 0)  # it has nothing to do
    for first in range(3, 9, 2):
        made.push(picked(first, 1), 0)
        made.push(picked(first + 1, 1), 1)
    assert taken(receive) == [(DATA, 0, [0, 1, 2])]
    made.flush()
    assert taken(receive) == [(DATA, 0, [3, 5, 7]), (DATA, 1, [4, 6, 8])]


def test_a_batch_that_is_all_of_a_slice_goes_at_once_and_behind_what_is_gathered() -> None:
    made, receive = lane(Number)
    for first in range(3):
        made.push(numbers(first, 1), 0)
    assert taken(receive) == [(DATA, 0, [0]), (DATA, 0, [1]), (DATA, 0, [2])]
    for first in range(3, 6):
        made.push(picked(first, 1), 0)
    made.push(numbers(6, 1), 0)
    assert taken(receive) == [(DATA, 0, [3]), (DATA, 0, [4, 5, 6])]


def test_as_many_as_make_a_jumbo_tuple_go_at_once() -> None:
    made, receive = lane(Number)
    made.push(picked(0, 3), 0)
    for first in range(3, 103, 25):
        made.push(picked(first, 25), 0)
    assert [len(times) for _, _, times in taken(receive)] == [3, 100]
    made.push(picked(0, 51), 1)
    made.push(picked(51, 51), 1)  # more than half of one: not worth gathering
    assert [len(times) for _, _, times in taken(receive)] == [51, 51]


def test_a_promise_waits_until_what_is_gathered_has_gone() -> None:
    made, receive = lane(Number, words=3)
    made.push(picked(0, 1), 0)
    made.promise(0, 0)
    made.push(picked(1, 1), 0)
    made.promise(0, 1)
    made.promise(2, 7)
    assert (receive.frontier(0), receive.frontier(2)) == (0, FRONTIER_MIN)
    made.flush()
    assert (receive.frontier(0), receive.frontier(2)) == (1, 7)


def test_a_promise_waits_for_rows_that_have_no_room() -> None:
    made, receive = lane(Number, slots=1)
    for ts in (1, 2):
        made.push(numbers(ts, 1), 0)
    made.promise(0, 2)
    assert not made.flush() and made.blocked and receive.frontier(0) == FRONTIER_MIN
    receive.consume()
    assert made.flush() and receive.frontier(0) == 2


@pytest.mark.parametrize("make", [numbers, picked, texts])
@pytest.mark.parametrize("slots", [1, 4, 256])
@pytest.mark.parametrize("seed", range(5))
def test_each_tag_keeps_its_rows_in_order_and_before_the_mark_behind_them(
    seed: int, slots: int, make: Any
) -> None:
    chance = random.Random(seed)
    made, receive = lane(Text if make is texts else Number, slots=slots)
    pushed: list[dict[int, list[int]]] = [{}]
    found: list[dict[int, list[int]]] = [{}]
    time = 0

    def take(most: int) -> None:
        for kind, tag, times in taken(receive, most):
            if kind == FrameKind.DATA:
                found[-1].setdefault(tag, []).extend(times)
            else:
                assert tag == len(found)
                found.append({})

    for _ in range(300):
        step = chance.random()
        if step < 0.6:
            tag, rows = chance.randrange(3), chance.choice([1, 1, 7, 60, 250])
            made.push(make(time, rows), tag)
            pushed[-1].setdefault(tag, []).extend(range(time, time + rows))
            time += rows
        elif step < 0.7:
            made.control(FrameKind.BARRIER, len(pushed))
            pushed.append({})
        elif step < 0.8:
            made.flush()
        else:
            take(chance.randint(0, 3))
    while not made.flush():
        take(1)
    take(1 << 30)
    assert found == pushed and made.rows == 0
