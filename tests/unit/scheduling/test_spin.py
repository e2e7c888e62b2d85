"""Spin: how long a worker looks for work before it parks."""

from __future__ import annotations

from actorstream.scheduling.spin import LEAST_NS, MOST_NS, Spin


def test_it_looks_longer_up_to_a_limit_while_work_comes_soon_after_parking() -> None:
    spin = Spin(True)
    seen = [spin.ns]
    for _ in range(6):
        spin.slept(MOST_NS - 1)
        seen.append(spin.ns)
    assert seen[:4] == [LEAST_NS, 2 * LEAST_NS, 4 * LEAST_NS, 8 * LEAST_NS]
    assert seen[4:] == [MOST_NS] * 3


def test_each_sleep_that_no_look_would_have_bridged_halves_it_until_it_does_not_look_at_all() -> None:
    spin = Spin(True)
    spin.slept(0)
    spin.slept(0)
    seen = []
    for _ in range(4):
        spin.slept(MOST_NS)
        seen.append(spin.ns)
    assert seen == [2 * LEAST_NS, LEAST_NS, 0, 0]


def test_it_looks_again_after_a_short_sleep() -> None:
    spin = Spin(True)
    spin.slept(MOST_NS)
    assert spin.ns == 0
    spin.slept(MOST_NS - 1)
    assert spin.ns == LEAST_NS


def test_without_a_core_of_its_own_it_never_looks() -> None:
    spin = Spin(False)
    for slept in (0, 11 * MOST_NS, 1):
        spin.slept(slept)
        assert spin.ns == 0
