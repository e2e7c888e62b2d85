"""A thread that looks for messages while the thread that should do so is busy."""

from __future__ import annotations

import ctypes
from threading import Event

import pytest

from actorstream.native.progress import ProbeThread

Probe = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p
)
LONG_S = 3600.0


class Asked:
    """Something to be called like MPI_Iprobe, which notes what it was given."""

    def __init__(self, wanted: int) -> None:
        self.calls: list[tuple[int, int, int]] = []
        self.often = Event()
        self._wanted = wanted
        self._kept = Probe(self._probe)
        self.address = int(ctypes.cast(self._kept, ctypes.c_void_p).value or 0)

    def _probe(self, source: int, tag: int, comm: int, flag: int, status: int) -> int:
        self.calls.append((source, tag, comm))
        if len(self.calls) >= self._wanted:
            self.often.set()
        return 0


def test_it_looks_again_and_again_with_what_it_was_given() -> None:
    asked = Asked(5)
    progress = ProbeThread(asked.address, -2, 77, 2**47 + 5, busy_s=0.001, every_s=0.0001)
    assert asked.often.wait(60)
    assert progress.close() == len(asked.calls)
    assert set(asked.calls) == {(-2, 77, 2**47 + 5)}


def test_it_does_not_look_before_the_thread_was_busy_for_long_and_ends_at_once() -> None:
    asked = Asked(1)
    progress = ProbeThread(asked.address, 0, 0, 1, busy_s=LONG_S)
    progress.looked()
    assert progress.close() == 0
    assert not asked.calls
    progress.looked()
    assert progress.close() == 0


@pytest.mark.parametrize("times", [(0.0, 1.0), (1.0, 0.0)])
def test_a_time_of_zero_is_refused(times: tuple[float, float]) -> None:
    with pytest.raises((ValueError, OSError)):
        ProbeThread(1, 0, 0, 0, busy_s=times[0], every_s=times[1])


def test_no_address_is_refused() -> None:
    with pytest.raises((ValueError, OSError)):
        ProbeThread(0, 0, 0, 0)
