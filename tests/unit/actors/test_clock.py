from __future__ import annotations

from actorstream.actors.clock import ManualClock


def test_alarms_ring_in_time_order_when_time_is_moved() -> None:
    clock, rang = ManualClock(), []
    for when in (3.0, 1.0, 2.0, 9.0):
        clock.call_at(when, rang.append, when)
    assert clock.advance(5) == 3
    assert (rang, clock.time(), clock.alarms) == ([1.0, 2.0, 3.0], 5.0, 1)


def test_an_alarm_sees_the_time_it_was_set_for() -> None:
    clock, seen = ManualClock(10.0), []
    clock.call_at(11.0, lambda: seen.append(clock.time()))
    clock.advance(100)
    assert seen == [11.0]


def test_a_cancelled_alarm_is_silent() -> None:
    clock, rang = ManualClock(), []
    clock.call_at(1.0, rang.append, 1).cancel()
    assert clock.advance(2) == 0
    assert rang == []


def test_an_alarm_that_sets_another_is_followed_within_one_move() -> None:
    clock, rang = ManualClock(), []

    def ring() -> None:
        rang.append(clock.time())
        clock.call_at(clock.time() + 1, ring)

    clock.call_at(1.0, ring)
    clock.advance(3)
    assert rang == [1.0, 2.0, 3.0]
