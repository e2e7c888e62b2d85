"""Alarms go off when they are due, in order, once, and not after they were cancelled."""

from __future__ import annotations

import asyncio
from time import monotonic_ns

from actorstream.native.alarms import NEVER, Alarms


def run(body: object) -> None:
    asyncio.run(body)  # type: ignore[arg-type]


def test_alarms_go_off_in_the_order_in_which_they_are_due() -> None:
    async def body() -> None:
        alarms, heard, done = Alarms(asyncio.get_running_loop()), [], asyncio.Event()
        since_boot = (
            monotonic_ns() / 1e9
        )  # the moments lie so far apart that a delay between two calls changes no order
        alarms.call_later(-0.4 * since_boot, heard.append, "third")
        alarms.call_later(-0.8 * since_boot, heard.append, "first")
        alarms.call_later(-0.6 * since_boot, heard.append, "second")
        alarms.call_later(-0.2 * since_boot, done.set)
        await done.wait()
        assert heard == ["first", "second", "third"]
        assert alarms.next_ns() == NEVER
        alarms.close()

    run(body())


def test_an_alarm_wakes_the_loop_once_it_is_due_and_not_before() -> None:
    async def body() -> None:
        alarms, done = Alarms(asyncio.get_running_loop()), asyncio.Event()
        alarm = alarms.call_later(0.002, done.set)
        await done.wait()
        assert monotonic_ns() >= alarm.at
        assert alarms.next_ns() == NEVER
        alarms.close()

    run(body())


def test_those_that_are_due_together_keep_the_order_in_which_they_were_set() -> None:
    async def body() -> None:
        alarms, heard = Alarms(asyncio.get_running_loop()), []
        for number in range(5):
            alarms.call_later(-1.0, heard.append, number)
        alarms.run_due()
        assert heard == [0, 1, 2, 3, 4]
        alarms.close()

    run(body())


def test_a_cancelled_alarm_is_silent_and_holds_up_no_other() -> None:
    async def body() -> None:
        alarms, heard, done = Alarms(asyncio.get_running_loop()), [], asyncio.Event()
        alarms.call_later(0.0, heard.append, "cancelled").cancel()
        alarms.call_later(0.001, done.set)
        await done.wait()
        assert heard == []
        alarms.close()

    run(body())


def test_an_alarm_may_set_the_next_one() -> None:
    async def body() -> None:
        alarms, count, done = Alarms(asyncio.get_running_loop()), 0, asyncio.Event()

        def again() -> None:
            nonlocal count
            count += 1
            if count == 20:
                done.set()
            else:
                alarms.call_later(0.0001, again)

        alarms.call_later(0.0, again)
        await done.wait()
        alarms.close()

    run(body())


def test_closed_alarms_are_silent() -> None:
    async def body() -> None:
        alarms, heard = Alarms(asyncio.get_running_loop()), []
        alarms.call_later(-1.0, heard.append, "late")
        alarms.close()
        alarms.run_due()
        for _ in range(5):
            await asyncio.sleep(0)
        assert heard == []

    run(body())


def test_an_alarm_that_is_polled_waits_for_run_due() -> None:
    async def body() -> None:
        loop = asyncio.get_running_loop()
        alarms, other, heard, done = Alarms(loop), Alarms(loop), [], asyncio.Event()
        alarms.polled = True
        alarms.call_later(-1.0, heard.append, "polled")
        other.call_later(0.0, done.set)  # set later, due later
        await done.wait()
        assert heard == []
        alarms.run_due()
        assert heard == ["polled"]
        alarms.close()
        other.close()

    run(body())


def test_a_timer_that_was_set_before_goes_off_although_the_alarms_are_polled() -> None:
    async def body() -> None:
        alarms, done = Alarms(asyncio.get_running_loop()), asyncio.Event()
        alarms.call_later(0.0, done.set)
        alarms.polled = True
        await done.wait()
        assert alarms.next_ns() == NEVER
        alarms.close()

    run(body())
