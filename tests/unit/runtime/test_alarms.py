"""Alarms go off in order, not before their time, and not when they were cancelled."""

from __future__ import annotations

import asyncio
from time import monotonic_ns

from actorstream.runtime.alarms import NEVER, Alarms


async def test_alarms_go_off_in_the_order_of_their_times() -> None:
    alarms, done, order = Alarms(asyncio.get_running_loop()), asyncio.Event(), []
    started = monotonic_ns()
    alarms.call_later(0.004, done.set)
    for number, seconds in enumerate((0.003, 0.001, 0.002)):
        alarms.call_later(seconds, lambda n: order.append((n, monotonic_ns() - started)), number)
    await asyncio.wait_for(done.wait(), 30)
    alarms.close()
    assert [number for number, _ in order] == [1, 2, 0]
    assert all(late >= due for (_, late), due in zip(order, (1_000_000, 2_000_000, 3_000_000)))


async def test_a_cancelled_alarm_stays_silent() -> None:
    alarms, done, heard = Alarms(asyncio.get_running_loop()), asyncio.Event(), []
    alarms.call_later(0.001, heard.append, "cancelled").cancel()
    alarms.call_later(0.002, done.set)
    await asyncio.wait_for(done.wait(), 30)
    alarms.close()
    assert heard == []


async def test_an_alarm_that_is_set_by_an_alarm_goes_off() -> None:
    alarms, done = Alarms(asyncio.get_running_loop()), asyncio.Event()
    alarms.call_later(0.0, alarms.call_later, 0.0, done.set)
    await asyncio.wait_for(done.wait(), 30)
    alarms.close()


async def test_what_is_due_can_be_run_without_the_loop() -> None:
    alarms, heard = Alarms(asyncio.get_running_loop()), []
    assert alarms.next_ns() == NEVER
    alarms.call_later(0.0, heard.append, "due")
    alarms.call_later(3600.0, heard.append, "not due")
    alarms.run_due()
    assert heard == ["due"] and alarms.next_ns() > monotonic_ns()
    alarms.close()


async def test_closing_silences_what_is_set_and_may_be_repeated() -> None:
    alarms = Alarms(asyncio.get_running_loop())
    alarms.call_later(0.0, lambda: 1 / 0)
    alarms.close()
    alarms.close()
    await asyncio.sleep(0)
