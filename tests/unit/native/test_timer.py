"""A timer's descriptor is readable when the timer has fired: once, or again and again."""

from __future__ import annotations

from select import select

from actorstream.native.timer import TimerFd

LONG_S = 20.0


def is_readable(timer: TimerFd, limit_s: float) -> bool:
    return bool(select([timer.fd], [], [], limit_s)[0])


def test_a_timer_that_repeats_fires_again_after_each_clear_until_it_is_set_anew() -> None:
    timer = TimerFd()
    timer.repeat(1, 1_000_000)
    for _ in range(3):
        assert is_readable(timer, LONG_S)
        timer.clear()
    timer.arm(1)
    assert is_readable(timer, LONG_S)
    timer.clear()
    assert not is_readable(timer, 0.0)
    timer.close()
