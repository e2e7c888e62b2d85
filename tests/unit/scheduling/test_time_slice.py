"""Which time slice each worker asks for."""

from __future__ import annotations

from actorstream.scheduling.time_slice import FIRST_NS, STEP_NS, time_slices


def test_each_worker_has_a_shorter_slice_than_those_that_wake_it() -> None:
    assert time_slices(3, [0], [(0, 1), (1, 2), (0, 2)]) == [FIRST_NS, FIRST_NS - STEP_NS, FIRST_NS - STEP_NS]
    assert time_slices(3, [0], [(0, 1), (1, 2)]) == [FIRST_NS, FIRST_NS - STEP_NS, FIRST_NS - 2 * STEP_NS]


def test_a_slice_never_falls_to_nothing() -> None:
    line = [(worker, worker + 1) for worker in range(7)]
    assert time_slices(8, [0], line)[5:] == [STEP_NS] * 3


def test_workers_that_all_have_sources_have_the_same_slice_also_in_a_circle() -> None:
    assert time_slices(2, [0, 1], [(0, 1), (1, 0)]) == [FIRST_NS] * 2


def test_a_worker_that_nothing_reaches_has_the_longest_slice() -> None:
    assert time_slices(2, [0], []) == [FIRST_NS] * 2
