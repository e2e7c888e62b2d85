"""The MPMC ring as Python sees it."""

from __future__ import annotations

import threading

import pytest

from tests.native.mpmc import Mpmc


def test_what_threads_push_comes_out_once() -> None:
    ring, got = Mpmc(8), set[int]()

    def push(first: int) -> None:
        for item in range(first, first + 500):
            while not ring.push(item):
                pass

    threads = [threading.Thread(target=push, args=(first,)) for first in (0, 500)]
    for thread in threads:
        thread.start()
    while len(got) < 1000:
        item = ring.pop()
        if item is not None:
            assert item not in got
            got.add(item)
    for thread in threads:
        thread.join()
    assert got == set(range(1000))
    assert ring.pop() is None


@pytest.mark.parametrize("slots", [0, 1, 3, 6])
def test_slots_must_be_a_power_of_two_and_at_least_two(slots: int) -> None:
    with pytest.raises(ValueError, match=f"MPMC ring of {slots} slots"):
        Mpmc(slots)
