from __future__ import annotations

from actorstream.actors.clock import ManualClock
from actorstream.actors.timers import Timer, Timers, next_due


class Ring:
    """Timers whose ticks are taken by hand, as a turn of the actor does."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.ticks: list[Timer] = []
        self.timers = Timers(self.clock, self.ticks.append)

    def take(self) -> list[str]:
        ticks, self.ticks[:] = list(self.ticks), []
        return [timer.name for timer in ticks if self.timers.took(timer)]


def test_a_timer_rings_once_after_its_delay() -> None:
    ring = Ring()
    ring.timers.set("flush", 2, None)
    ring.clock.advance(1.9)
    assert ring.take() == []
    ring.clock.advance(0.2)
    assert ring.take() == ["flush"]
    ring.clock.advance(100)
    assert (ring.take(), len(ring.timers), ring.clock.alarms) == ([], 0, 0)


def test_a_periodic_timer_begins_after_its_delay_and_keeps_its_grid() -> None:
    ring = Ring()
    ring.timers.set("beat", 1, 10)
    times = []
    for _ in range(40):
        ring.clock.advance(1)
        times += [ring.clock.time() for _ in ring.take()]
    assert times == [1, 11, 21, 31]


def test_a_tick_that_still_waits_is_not_doubled() -> None:
    ring = Ring()
    ring.timers.set("beat", 1, 1)
    ring.clock.advance(50)
    assert ring.take() == ["beat"]


def test_setting_a_timer_again_makes_its_waiting_tick_void() -> None:
    ring = Ring()
    ring.timers.set("flush", 1, None)
    ring.clock.advance(1)
    ring.timers.set("flush", 5, None)
    assert ring.take() == []
    ring.clock.advance(5)
    assert ring.take() == ["flush"]


def test_a_cancelled_timer_is_silent_even_if_its_tick_waits() -> None:
    ring = Ring()
    ring.timers.set("flush", 1, None)
    ring.clock.advance(1)
    ring.timers.cancel("flush")
    ring.timers.cancel("never set")
    assert ring.take() == []


def test_missed_periods_are_skipped_not_made_up_for() -> None:
    assert next_due(10, 5, now=12) == 15
    assert next_due(10, 5, now=31) == 35
    assert next_due(10, 5, now=15) == 20
