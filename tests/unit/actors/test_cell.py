from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest

from actorstream.actors import Actor, ManualClock, System
from actorstream.actors.turns import TURN_MESSAGES
from actorstream.errors import ActorError


class Log(Actor):
    """Writes every hook that is called into a list that the test gave it."""

    def __init__(self, log: list[Any]) -> None:
        self.log = log


async def test_async_hooks_never_overlap_and_keep_the_order() -> None:
    class Slow(Log):
        async def on_message(self, message: int) -> int:
            self.log.append(("in", message))
            for _ in range(message % 3):
                await asyncio.sleep(0)
            self.log.append(("out", message))
            return message

    log: list[Any] = []
    async with System() as system:
        ref = await system.spawn(Slow, log=log)
        for number in range(200):
            ref.tell(number)
        assert await ref.ask(200) == 200
    assert log == [(side, number) for number in range(201) for side in ("in", "out")]


async def test_a_hook_may_answer_with_a_future() -> None:
    class Deferred(Actor):
        def on_message(self, message: asyncio.Future[str]) -> asyncio.Future[str]:
            return message

    async with System() as system:
        ref = await system.spawn(Deferred)
        future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        asking = asyncio.ensure_future(ref.ask(future))
        await asyncio.sleep(0)
        future.set_result("done")
        assert await asking == "done"


async def test_what_a_hook_yields_is_a_list_for_an_ask() -> None:
    class Many(Actor):
        def on_message(self, message: int) -> Iterator[int]:
            yield from range(message)

    class Later(Actor):
        async def on_message(self, message: int) -> AsyncIterator[int]:
            for number in range(message):
                await asyncio.sleep(0)
                yield number

    async with System() as system:
        for cls in (Many, Later):
            ref = await system.spawn(cls)
            assert await ref.ask(3) == [0, 1, 2]


async def test_a_control_actor_that_emits_is_told_that_it_has_no_outputs() -> None:
    class Loud(Actor):
        def on_message(self, message: Any) -> None:
            self.emit(message, to="alerts")

    async with System() as system:
        ref = await system.spawn(Loud)
        with pytest.raises(ActorError, match="alerts"):
            await ref.ask(1)


async def test_a_message_goes_to_on_message_if_there_is_one_else_to_on_event() -> None:
    class Events(Actor):
        def on_event(self, event: Any) -> str:
            return "event"

    class Both(Events):
        def on_message(self, message: Any) -> str:
            return "message"

    class Neither(Actor):
        pass

    async with System() as system:
        assert await (await system.spawn(Events)).ask(1) == "event"
        assert await (await system.spawn(Both)).ask(1) == "message"
        with pytest.raises(ActorError, match="on_message"):
            await (await system.spawn(Neither)).ask(1)


async def test_an_actor_with_much_to_do_lets_others_have_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actorstream.actors.cell.perf_counter", lambda: 0.0)  # no turn ends by its time
    log: list[str] = []

    class Named(Log):
        def on_message(self, message: Any) -> None:
            self.log.append(self.name)

    async with System() as system:
        busy = await system.spawn(Named, log=log, name="busy")
        quiet = await system.spawn(Named, log=log, name="quiet")
        for _ in range(10 * TURN_MESSAGES):
            busy.tell(1)
        quiet.tell(1)
        await busy.ask(1)
        assert log.index("quiet") == TURN_MESSAGES


async def test_an_actor_that_always_has_a_message_does_not_stop_the_event_loop() -> None:
    class Endless(Actor):
        def on_message(self, message: Any) -> None:
            self.actor_ref.tell(message)

    class EndlessAsync(Actor):
        async def on_message(self, message: Any) -> None:
            self.actor_ref.tell(message)

    for cls in (Endless, EndlessAsync):
        async with System(stop_timeout=0.01) as system:
            ref = await system.spawn(cls)
            ref.tell(1)
            for _ in range(20):
                await asyncio.sleep(0)
            assert await ref.stop()


async def test_a_hook_that_is_cancelled_from_within_has_failed_like_any_other() -> None:
    class Cancelling(Actor):
        async def on_message(self, message: str) -> str:
            if message == "cancel":
                future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                future.cancel()
                await future
            return message

    async with System() as system:
        ref = await system.spawn(Cancelling)
        with pytest.raises(ActorError, match="cancelled"):
            await ref.ask("cancel")
        assert await ref.ask("still here") == "still here"


async def test_an_asker_that_is_cancelled_does_not_disturb_the_actor() -> None:
    class Slow(Log):
        async def on_message(self, message: Any) -> None:
            if isinstance(message, asyncio.Event):
                await message.wait()
            self.log.append("done")

    log: list[str] = []
    async with System() as system:
        ref = await system.spawn(Slow, log=log)
        gate = asyncio.Event()
        ask = asyncio.ensure_future(ref.ask(gate))
        await asyncio.sleep(0)
        ask.cancel()
        gate.set()
        await ref.ask(1)
    assert log == ["done", "done"]


async def test_timers_run_between_messages_and_ticks_of_a_set_again_timer_are_void() -> None:
    clock = ManualClock()
    log: list[Any] = []

    class Timed(Log):
        def on_start(self) -> None:
            self.set_timer("once", after=1)
            self.set_timer("beat", after=2, every=10)

        def on_timer(self, name: str) -> None:
            self.log.append((clock.time(), name))

        def on_message(self, message: str) -> None:
            if message == "cancel":
                self.cancel_timer("beat")

    async with System(clock=clock) as system:
        ref = await system.spawn(Timed, log=log)
        for _ in range(24):
            clock.advance(1)
            await ref.ask("tick", timeout=None)
        await ref.ask("cancel", timeout=None)
        clock.advance(100)
        await ref.ask("tick", timeout=None)
        assert log == [(1, "once"), (2, "beat"), (12, "beat"), (22, "beat")]
        assert clock.alarms == 0


async def test_a_failing_timer_is_a_failure_of_the_actor() -> None:
    clock = ManualClock()

    class Timed(Actor):
        def on_start(self) -> None:
            self.set_timer("boom", after=1)

        def on_timer(self, name: str) -> None:
            raise ValueError(name)

    async with System(clock=clock) as system:
        ref = await system.spawn(Timed)
        clock.advance(1)
        assert "boom" in await ref.wait_stopped()


async def test_an_idle_system_has_nothing_to_do() -> None:
    """No task, no alarm and no queued turn: so the event loop sleeps in the kernel."""

    class Mixed(Actor):
        async def on_message(self, message: Any) -> Any:
            await asyncio.sleep(0)
            return message

    clock = ManualClock()
    async with System(clock=clock) as system:
        before = asyncio.all_tasks()
        refs = [await system.spawn(Actor) for _ in range(50)]
        assert asyncio.all_tasks() == before
        mixed = await system.spawn(Mixed)
        await mixed.ask(1)
        assert len(asyncio.all_tasks() - before) == 1  # waits for a future until the next message
        assert (clock.alarms, system.turns.idle, len(refs)) == (0, True, 50)


def first_step_at_once(loop: Any, coroutine: Any, **keywords: Any) -> asyncio.Task[Any]:
    """Makes tasks as `asyncio.eager_task_factory` of Python 3.12 does: `create_task` runs until the task awaits."""
    steps: list[Callable[[], None]] = []
    with patch.object(loop, "call_soon", lambda step, **_: steps.append(step)):
        task = asyncio.Task(coroutine, loop=loop, **keywords)
    around = asyncio.current_task(loop)
    if around is not None:
        asyncio.tasks._leave_task(loop, around)
    steps[0]()
    if around is not None:
        asyncio.tasks._enter_task(loop, around)
    return task


def test_an_actor_lives_also_where_tasks_are_eager() -> None:
    class Awaits(Actor):
        async def on_message(self, message: int) -> int:
            return 1 // message

    async def lives() -> list[Any]:
        factory = getattr(asyncio, "eager_task_factory", first_step_at_once)
        asyncio.get_running_loop().set_task_factory(factory)
        async with System() as system:
            ref = await system.spawn(Awaits, supervision="restart")
            ref.tell(0)
            ref.tell(0)
            answers = [await ref.ask(1), await ref.ask(2)]
            return [*answers, await ref.stop()]

    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        assert runner.run(lives()) == [1, 0, True]
