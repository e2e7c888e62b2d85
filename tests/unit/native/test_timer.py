"""A timer's descriptor is readable when the timer has fired."""

from __future__ import annotations

from select import select

from actorstream.native.timer import TimerFd

LONG_S = 20.0


def is_readable(timer: TimerFd, limit_s: float) -> bool:
    return bool(select([timer.fd], [], [], limit_s)[0])


def test_a_timer_fires_once_each_time_that_it_is_armed() -> None:
    timer = TimerFd()
    for _ in range(3):
        timer.arm(1)
        assert is_readable(timer, LONG_S)
        timer.clear()
    assert not is_readable(timer, 0.0)
    timer.close()
