"""The doorbell as Python sees it: sleeping, waking, misuse."""

from __future__ import annotations

import os
import select
import threading

import pytest

from actorstream.errors import ClosedError
from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import ControlMemory, create_eventfd


def test_a_sleeper_is_woken_by_another_process() -> None:
    eventfd = create_eventfd()
    bell = Doorbell.create(100, eventfd)
    assert bell.park()
    if (pid := os.fork()) == 0:
        bell.ring(77)
        os._exit(0)
    select.select([eventfd], [], [])
    bell.unpark()
    assert bell.collect() == [77]
    os.waitpid(pid, 0)
    os.close(eventfd)


def test_a_look_ends_with_a_ring_a_readable_descriptor_or_its_time() -> None:
    eventfd, descriptor = create_eventfd(), create_eventfd()
    bell = Doorbell.create(100, eventfd)
    if (pid := os.fork()) == 0:
        bell.ring(77)
        os._exit(0)
    assert not bell.look(descriptor, 60_000_000_000)
    assert bell.pending()
    os.waitpid(pid, 0)
    assert bell.collect() == [77]
    with pytest.raises(BlockingIOError):  # a ring does not wake somebody who looks
        os.eventfd_read(eventfd)
    if (pid := os.fork()) == 0:
        os.eventfd_write(descriptor, 1)
        os._exit(0)
    assert bell.look(descriptor, 60_000_000_000)
    os.waitpid(pid, 0)
    os.eventfd_read(descriptor)
    assert not bell.look(descriptor, 1)
    os.close(eventfd)
    os.close(descriptor)


def test_nobody_writes_the_eventfd_of_one_who_is_awake() -> None:
    eventfd = create_eventfd()
    bell = Doorbell.create(3, eventfd)
    bell.ring(1)
    assert not bell.park()
    bell.ring(2)
    with pytest.raises(BlockingIOError):
        os.eventfd_read(eventfd)
    assert bell.collect() == [1, 2]
    os.close(eventfd)


def test_spinning_lets_other_threads_run() -> None:
    bell = Doorbell.create(3, -1)
    thread = threading.Thread(target=bell.ring, args=(2,))
    thread.start()
    assert bell.wait(10**11) == [2]
    thread.join()


def test_misuse_is_a_typed_error() -> None:
    memory = ControlMemory(4096)
    with pytest.raises(ValueError, match="doorbell of 0 bits"):
        Doorbell.lay_out(memory, 0, 0)
    with pytest.raises(ValueError, match="doorbell at offset 0"):
        Doorbell(memory, 0, 1, -1)
    Doorbell.lay_out(memory, 0, 1)
    blocking = os.eventfd(0)
    with pytest.raises(ValueError, match="doorbell at offset 0"):
        Doorbell(memory, 0, 1, blocking)
    os.close(blocking)
    with pytest.raises(OSError, match="Bad file descriptor"):
        Doorbell(memory, 0, 1, blocking)
    bell = Doorbell(memory, 0, 1, -1)
    bell.close()
    for use in (bell.collect, bell.park, bell.pending, lambda: bell.ring(0), lambda: bell.look(-1, 1)):
        with pytest.raises(ClosedError, match="doorbell was closed"):
            use()
    memory.close()
