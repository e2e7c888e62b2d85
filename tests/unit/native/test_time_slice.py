"""The time slice of a thread: asked for, read, and passed on to threads that it starts."""

from __future__ import annotations

from threading import Thread

from actorstream.native.time_slice import request_slice
from tests.native.unused_calls import read_slice


def in_a_thread(slices: list[tuple[bool, int]], ns: int) -> None:
    slices.append((request_slice(ns), read_slice()))


def test_a_slice_is_that_of_the_thread_that_asks_and_no_other() -> None:
    before, slices = read_slice(), list[tuple[bool, int]]()
    for ns in (200_000, 400_000):
        thread = Thread(target=in_a_thread, args=(slices, ns))
        thread.start()
        thread.join()
    assert [done for done, _ in slices] == [True, True]
    if before:  # the kernel knows of slices
        assert [ns for _, ns in slices] == [200_000, 400_000]
    assert read_slice() == before
