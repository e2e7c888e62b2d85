"""Spin: how long a worker looks for work before it parks."""

from __future__ import annotations

from actorstream.scheduling.spin import LOOK_NS, WORTH, Spin

SHORT, LONG = LOOK_NS - 1, LOOK_NS


def after(spin: Spin, *waits: int) -> list[int]:
    """How long it looks after each of these waits."""
    found = []
    for ns in waits:
        spin.slept(ns)
        found.append(spin.ns)
    return found


def test_it_looks_once_work_has_come_soon_a_few_times() -> None:
    spin = Spin(True)
    assert spin.ns == 0
    assert after(spin, *[SHORT] * 5) == [0] * WORTH + [LOOK_NS] * (5 - WORTH)


def test_it_stops_when_looks_would_have_found_nothing() -> None:
    spin = Spin(True)
    after(spin, *[SHORT] * 20)
    assert after(spin, *[LONG] * 20)[-1] == 0


def test_events_that_come_one_a_millisecond_are_slept_for() -> None:
    assert after(Spin(True), *[5 * LOOK_NS] * 20) == [0] * 20


def test_it_looks_where_a_short_wait_follows_a_long_one_each_time() -> None:
    """An event comes, another worker is asked, its answer comes."""
    looked = after(Spin(True), *[LONG, SHORT] * 8)
    assert looked[-4:] == [LOOK_NS, 0, LOOK_NS, 0]


def test_it_looks_where_only_every_other_long_wait_is_followed_by_a_short_one() -> None:
    """As above, with a heartbeat between two events."""
    looked = after(Spin(True), *[LONG, SHORT, LONG] * 8)
    assert looked[-3:] == [LOOK_NS, 0, LOOK_NS]


def test_work_that_came_while_it_looked_was_a_short_wait() -> None:
    spin = Spin(True)
    after(spin, *[LONG, SHORT] * 8, LONG)
    assert spin.ns == LOOK_NS
    spin.found()
    assert spin.ns == 0


def test_without_a_core_of_its_own_it_never_looks() -> None:
    assert after(Spin(False), *[SHORT] * 9) == [0] * 9
