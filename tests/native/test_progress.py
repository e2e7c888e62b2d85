"""A thread that looks for messages while the thread that should do so is busy."""

from __future__ import annotations

import ctypes
import os
from select import select
from threading import Event

import pytest

from actorstream.native.doorbell import Doorbell
from actorstream.native.memory import create_eventfd
from actorstream.native.progress import ProbeThread

Probe = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
LONG_S = 3600.0


class Asked:
    """Something to be called like MPI_Iprobe, which notes what it was given."""

    def __init__(self, wanted: int, *, finds: int = 0) -> None:
        """`finds`: the call from which on it says that a message has come; 0: none."""
        self.finds = finds
        self.calls: list[tuple[int, int, int]] = []
        self.often = Event()
        self._wanted = wanted
        self._kept = Probe(self._probe)
        self.address = int(ctypes.cast(self._kept, ctypes.c_void_p).value or 0)

    def _probe(self, source: int, tag: int, comm: int, flag: int, status: int) -> int:
        self.calls.append((source, tag, comm))
        if len(self.calls) >= self._wanted:
            self.often.set()
        ctypes.c_int.from_address(flag).value = bool(self.finds and len(self.calls) >= self.finds)
        return 0


def test_it_looks_again_and_again_with_what_it_was_given() -> None:
    asked = Asked(5)
    progress = ProbeThread(asked.address, -2, 77, 2**47 + 5, busy_s=0.001, every_s=0.0001)
    assert asked.often.wait(60)
    assert progress.close() == len(asked.calls)
    assert set(asked.calls) == {(-2, 77, 2**47 + 5)}


def test_the_loop_thread_looks_itself_until_a_message_a_ring_or_the_time() -> None:
    asked, bell = Asked(3, finds=3), Doorbell.create(3, -1)
    progress = ProbeThread(asked.address, -2, 77, 5, busy_s=LONG_S)
    assert progress.look(bell, 10**12)
    assert len(asked.calls) == 3
    asked.finds = 0
    assert not progress.look(bell, 1)
    bell.ring(1)
    asked.finds = 1
    assert not progress.look(bell, 10**12)  # what has rung comes first
    progress.close()
    assert not progress.look(bell, 10**12)


def test_it_does_not_look_before_the_thread_was_busy_for_long_and_ends_at_once() -> None:
    asked = Asked(1)
    progress = ProbeThread(asked.address, 0, 0, 1, busy_s=LONG_S)
    progress.looked()
    assert progress.close() == 0
    assert not asked.calls
    progress.looked()
    assert progress.close() == 0


def test_a_message_that_comes_while_the_loop_thread_sleeps_is_told_once_by_the_eventfd() -> None:
    asked, eventfd = Asked(3, finds=3), create_eventfd()
    progress = ProbeThread(asked.address, 0, 0, 1, busy_s=LONG_S)
    for calls in (3, 4):  # the second message is there already
        progress.watch(eventfd, least_s=0.0001, most_s=0.001)
        assert select([eventfd], [], [], 60)[0]
        assert os.eventfd_read(eventfd) == 1
        assert len(asked.calls) == calls
    assert progress.close() == 4
    progress.watch(eventfd)
    assert not select([eventfd], [], [], 0)[0]
    os.close(eventfd)


def test_a_watch_that_begins_again_pauses_for_the_shortest_time() -> None:
    asked, eventfd = Asked(2, finds=2), create_eventfd()
    progress = ProbeThread(asked.address, 0, 0, 1, busy_s=LONG_S)
    progress.watch(eventfd, least_s=LONG_S, most_s=LONG_S)
    progress.watch(eventfd, least_s=0.0001, most_s=0.0001)  # the pause of an hour is cut short
    assert asked.often.wait(60)
    assert progress.close() == 2
    os.close(eventfd)


@pytest.mark.parametrize("times", [(0.0, 1.0), (1.0, 0.0)])
def test_a_time_of_zero_is_refused(times: tuple[float, float]) -> None:
    with pytest.raises((ValueError, OSError)):
        ProbeThread(1, 0, 0, 0, busy_s=times[0], every_s=times[1])


def test_no_address_is_refused() -> None:
    with pytest.raises((ValueError, OSError)):
        ProbeThread(0, 0, 0, 0)
