"""The reordering buffers as Python sees them."""

from __future__ import annotations

import gc
import os
import threading
import weakref

import pytest

from actorstream.native.pool import SCHEMES
from tests.native.reorder import UNIT_NONE, ReorderBuffer

LEAST = 2  # units of the tests; 1 is UNIT_NONE


@pytest.mark.parametrize("scheme", SCHEMES)
def test_units_leave_in_the_order_of_their_serial_numbers(scheme: str) -> None:
    left: list[tuple[int, int]] = []
    buffer = ReorderBuffer(4, lambda serial, unit: left.append((serial, unit)), scheme=scheme, next=7)
    assert buffer.send(9, 90)
    assert buffer.send(8, UNIT_NONE)
    assert left == []
    assert buffer.send(7, 70)
    assert left == [(7, 70), (8, UNIT_NONE), (9, 90)]
    assert buffer.statistics() == (10, 3, 0, 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_serial_number_whose_slot_is_not_free_is_not_added(scheme: str) -> None:
    left: list[int] = []
    buffer = ReorderBuffer(2, lambda serial, unit: left.append(serial), scheme=scheme)
    assert buffer.limit == 2
    assert not buffer.send(2, LEAST)
    assert buffer.send(0, LEAST)
    assert buffer.is_free(2)
    assert buffer.send(2, LEAST)
    assert not buffer.send(0, LEAST)
    assert buffer.send(1, LEAST)
    assert left == [0, 1, 2]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_refused_unit_leaves_once_there_is_room_and_somebody_flushes(scheme: str) -> None:
    left: list[int] = []
    room = 1

    def leave(serial: int, unit: int) -> bool:
        if len(left) == room:
            return False
        left.append(serial)
        return True

    buffer = ReorderBuffer(4, leave, scheme=scheme)
    for serial in range(3):
        assert buffer.send(serial, LEAST)
    assert left == [0]
    room = 3
    buffer.flush()
    assert left == [0, 1, 2]
    assert buffer.statistics().refused == 2


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_exception_of_the_exit_function_keeps_the_unit_and_reaches_the_sender(scheme: str) -> None:
    left: list[int] = []

    def leave(serial: int, unit: int) -> None:
        if unit == 13:
            raise RuntimeError("thirteen")
        left.append(serial)

    buffer = ReorderBuffer(4, leave, scheme=scheme)
    assert buffer.send(0, LEAST)
    with pytest.raises(RuntimeError, match="thirteen"):
        buffer.send(1, 13)
    with pytest.raises(RuntimeError, match="thirteen"):
        buffer.flush()
    assert left == [0]
    assert buffer.statistics().next == 1


def test_the_longest_send_is_measured_if_it_is_asked_for() -> None:
    buffer = ReorderBuffer(2, lambda serial, unit: None, timed=True)
    buffer.send(0, LEAST)
    assert buffer.statistics().longest_ns > 0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_threads_of_python_can_share_a_buffer(scheme: str) -> None:
    left: list[int] = []
    buffer = ReorderBuffer(8, lambda serial, unit: left.append(serial), scheme=scheme)

    def send(first: int) -> None:
        for serial in range(first, 600, 3):
            while not buffer.send(serial, LEAST):
                os.sched_yield()

    threads = [threading.Thread(target=send, args=(first,)) for first in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left == list(range(600))


@pytest.mark.parametrize("capacity", [-1, 0, 3, 2**25])
def test_the_capacity_must_be_a_power_of_two(capacity: int) -> None:
    with pytest.raises(ValueError, match=f"reordering buffer of {capacity} units"):
        ReorderBuffer(capacity, lambda serial, unit: None)


def test_the_scheme_must_exist() -> None:
    with pytest.raises(ValueError, match="scheme is 'lock', must be one of non-blocking, lock-based"):
        ReorderBuffer(2, lambda serial, unit: None, scheme="lock")


def test_unit_0_is_no_unit() -> None:
    buffer = ReorderBuffer(2, lambda serial, unit: None)
    with pytest.raises(ValueError, match="unit 0 for serial number 5"):
        buffer.send(5, 0)
    with pytest.raises(ValueError, match="unit 0 for serial number 6"):
        buffer.add(6, 0)


def test_a_buffer_that_nobody_holds_is_collected_with_its_exit_function() -> None:
    class Exit:
        def __call__(self, serial: int, unit: int) -> None: ...

    leave = Exit()
    gone = weakref.ref(leave)
    buffer = ReorderBuffer(2, leave)
    buffer.send(0, LEAST)
    del buffer, leave
    gc.collect()
    assert gone() is None
