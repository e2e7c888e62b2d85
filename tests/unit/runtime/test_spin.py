"""Spin: how long a worker looks for work before it parks."""

from __future__ import annotations

from actorstream.runtime.spin import LEAST_NS, MOST_NS, Spin


def test_it_looks_longer_up_to_a_limit_while_work_comes_soon_after_parking() -> None:
    spin = Spin(True)
    seen = [spin.ns]
    for _ in range(6):
        spin.slept(MOST_NS - 1)
        seen.append(spin.ns)
    assert seen[:4] == [LEAST_NS, 2 * LEAST_NS, 4 * LEAST_NS, 8 * LEAST_NS]
    assert seen[4:] == [MOST_NS] * 3


def test_a_long_sleep_takes_it_back_to_the_least_and_a_middling_one_changes_nothing() -> None:
    spin = Spin(True)
    spin.slept(0)
    spin.slept(MOST_NS)
    spin.slept(10 * MOST_NS)
    assert spin.ns == 2 * LEAST_NS
    spin.slept(10 * MOST_NS + 1)
    assert spin.ns == LEAST_NS


def test_without_a_core_of_its_own_it_never_looks() -> None:
    spin = Spin(False)
    for slept in (0, 11 * MOST_NS, 1):
        spin.slept(slept)
        assert spin.ns == 0
