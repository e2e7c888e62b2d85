from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorstream.actors import Actor, ManualClock, System
from actorstream.errors import ActorDeadError, ActorError


class Life(Actor):
    """Writes its life into a list, and raises in the hooks it is told to."""

    def __init__(self, log: list[Any], fail: tuple[str, ...] = ()) -> None:
        self.log = log
        self.fail = fail

    def _say(self, what: str) -> None:
        self.log.append(what)
        if what in self.fail:
            raise ValueError(what)

    def on_start(self) -> Any:
        self._say("start")

    def on_message(self, message: Any) -> Any:
        self._say(str(message))
        return message

    def on_stop(self) -> Any:
        self._say("stop")

    def on_failure(self, error: BaseException) -> Any:
        self._say(f"failure of {error}")


class AsyncLife(Life):
    async def on_start(self) -> None:
        await asyncio.sleep(0)
        super().on_start()

    async def on_message(self, message: Any) -> Any:
        await asyncio.sleep(0)
        return super().on_message(message)

    async def on_stop(self) -> None:
        await asyncio.sleep(0)
        super().on_stop()

    async def on_failure(self, error: BaseException) -> None:
        await asyncio.sleep(0)
        super().on_failure(error)


both = pytest.mark.parametrize("cls", [Life, AsyncLife])


@both
async def test_a_life_from_start_to_stop(cls: type[Life]) -> None:
    log: list[Any] = []
    async with System() as system:
        ref = await system.spawn(cls, log=log)
        ref.tell("a")
        await ref.stop()
    assert log == ["start", "a", "stop"]


@both
async def test_on_start_runs_after_registration_and_before_the_first_message(cls: type[Life]) -> None:
    log: list[Any] = []

    class Early(cls):  # type: ignore[misc, valid-type]
        def __init__(self, log: list[Any]) -> None:
            super().__init__(log)

        def on_start(self) -> Any:
            self.ref("early").tell("a message from on_start")
            return super().on_start()

    async with System() as system:
        ref = await system.spawn(Early, log=log, name="early")
        await ref.ask("another")
    assert log == ["start", "a message from on_start", "another", "stop"]


@both
async def test_an_unhandled_exception_is_reported_and_stops_the_actor(cls: type[Life]) -> None:
    log: list[Any] = []
    async with System() as system:
        ref = await system.spawn(cls, log=log, fail=("boom",), name="victim")
        ref.tell("boom")
        ref.tell("never seen")
        assert "boom" in await ref.wait_stopped()
        assert log == ["start", "boom", "failure of boom", "stop"]
        assert system.names == []
        with pytest.raises(ActorDeadError, match="boom"):
            ref.tell("x")


@both
async def test_a_failure_in_on_start_goes_to_who_spawned_it_and_the_actor_is_gone(cls: type[Life]) -> None:
    log: list[Any] = []
    async with System() as system:
        with pytest.raises(ValueError, match="start"):
            await system.spawn(cls, log=log, fail=("start",), name="a")
        assert system.names == []
        assert log == ["start", "stop"]
        await system.spawn(cls, log=log, name="a")


async def test_a_failing_constructor_registers_nothing() -> None:
    class Broken(Actor):
        def __init__(self) -> None:
            raise ValueError("no")

    async with System() as system:
        with pytest.raises(ValueError, match="no"):
            await system.spawn(Broken, name="a")
        assert system.names == []


@both
async def test_a_failure_in_on_stop_still_stops(cls: type[Life]) -> None:
    log: list[Any] = []
    async with System() as system:
        ref = await system.spawn(cls, log=log, fail=("stop",))
        assert await ref.stop() is True
        assert system.names == []


@both
async def test_a_failure_in_on_failure_still_stops_whatever_the_strategy(cls: type[Life]) -> None:
    log: list[Any] = []
    async with System() as system:
        ref = await system.spawn(cls, log=log, fail=("boom", "failure of boom"), supervision="restart")
        ref.tell("boom")
        await ref.wait_stopped()
        assert log == ["start", "boom", "failure of boom", "stop"]


@both
async def test_on_start_may_stop_the_actor(cls: type[Life]) -> None:
    log: list[Any] = []

    class Brief(cls):  # type: ignore[misc, valid-type]
        def on_start(self) -> Any:
            self.stop()
            return super().on_start()

    async with System() as system:
        ref = await system.spawn(Brief, log=log)
        await ref.wait_stopped()
    assert log == ["start", "stop"]


@both
async def test_stopping_oneself_many_times_is_harmless_and_what_was_there_before_is_processed(
    cls: type[Life],
) -> None:
    log: list[Any] = []

    class Tired(cls):  # type: ignore[misc, valid-type]
        def on_message(self, message: Any) -> Any:
            for _ in range(3):
                self.stop()
            return super().on_message(message)

    async with System() as system:
        ref = await system.spawn(Tired, log=log)
        for number in range(3):
            ref.tell(number)
        await ref.wait_stopped()
    assert log == ["start", "0", "1", "2", "stop"]


async def test_an_actor_has_a_context_only_while_it_lives() -> None:
    kept: list[Actor] = []

    class Kept(Actor):
        def on_start(self) -> None:
            kept.append(self)

    async with System() as system:
        ref = await system.spawn(Kept)
        assert kept[0].name == ref.name
        assert (kept[0].replica, kept[0].replicas, kept[0].input) == (0, 1, "")
        await ref.stop()
        with pytest.raises(RuntimeError, match="not running"):
            _ = kept[0].name


async def test_a_hook_that_does_not_end_is_cancelled_when_the_patience_with_it_is_over() -> None:
    clock = ManualClock()
    log: list[Any] = []

    class Stuck(Life):
        async def on_message(self, message: Any) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                self.log.append("cancelled")

    async with System(clock=clock, stop_timeout=5) as system:
        ref = await system.spawn(Stuck, log=log)
        ask = asyncio.ensure_future(ref.ask("x", timeout=None))
        await asyncio.sleep(0)
        system_stops = asyncio.ensure_future(system.stop())
        for _ in range(5):
            await asyncio.sleep(0)
        clock.advance(5)
        await system_stops
        with pytest.raises(ActorError):
            await ask
    assert log == ["start", "cancelled", "stop"]


async def test_a_hook_that_ignores_its_cancellation_is_abandoned() -> None:
    clock = ManualClock()
    gate = asyncio.Event()

    class Stubborn(Actor):
        async def on_message(self, message: Any) -> None:
            while not gate.is_set():
                try:
                    await gate.wait()
                except asyncio.CancelledError:
                    continue

    async with System(clock=clock, stop_timeout=5) as system:
        ref = await system.spawn(Stubborn)
        ask = asyncio.ensure_future(ref.ask("x", timeout=None))
        await asyncio.sleep(0)
        stops = asyncio.ensure_future(system.stop())
        for _ in range(8):
            await asyncio.sleep(0)
            clock.advance(5)
        await stops
        with pytest.raises(ActorDeadError):
            await ask
        gate.set()
        await asyncio.sleep(0)


async def test_an_on_start_that_does_not_end_is_cancelled_when_the_system_stops() -> None:
    clock = ManualClock()

    class Stuck(Actor):
        async def on_start(self) -> None:
            await asyncio.Event().wait()

    async with System(clock=clock, stop_timeout=5) as system:
        spawning = asyncio.ensure_future(system.spawn(Stuck))
        await asyncio.sleep(0)
        stops = asyncio.ensure_future(system.stop())
        for _ in range(5):
            await asyncio.sleep(0)
        clock.advance(5)
        await stops
        with pytest.raises(ActorError):
            await spawning


async def test_an_on_start_that_raises_exit_is_undone_by_an_on_stop_that_awaits() -> None:
    log: list[Any] = []

    class Exits(AsyncLife):
        def on_start(self) -> Any:
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        async with System() as system:
            await system.spawn(Exits, log=log)
    assert log == ["stop"]


async def test_who_gives_up_spawning_twice_leaves_no_actor_behind() -> None:
    log: list[Any] = []
    stopping = asyncio.Event()

    class Slow(AsyncLife):
        async def on_start(self) -> None:
            await asyncio.Event().wait()

        async def on_stop(self) -> None:
            stopping.set()
            await super().on_stop()

    async with System() as system:
        spawning = asyncio.ensure_future(system.spawn(Slow, log=log))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        spawning.cancel()
        await stopping.wait()
        spawning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await spawning
    assert log == ["stop"]


@pytest.mark.parametrize("where", ["start", "stop", "failure of boom"])
@both
async def test_a_hook_that_raises_a_cancellation_has_failed(cls: type[Life], where: str) -> None:
    log: list[Any] = []

    class Cancels(cls):  # type: ignore[misc, valid-type]
        def _say(self, what: str) -> None:
            super()._say(what)
            if what == where:
                raise asyncio.CancelledError

    async with System() as system:
        if where == "start":
            with pytest.raises((RuntimeError, ActorError), match="cancelled"):
                await system.spawn(Cancels, log=log)
        else:
            ref = await system.spawn(Cancels, log=log, fail=("boom",), supervision="resume")
            if where != "stop":
                ref.tell("boom")
                await ref.wait_stopped()
    assert log[-1] == "stop"


async def test_who_gives_up_spawning_leaves_no_actor_behind() -> None:
    log: list[Any] = []

    class Slow(Life):
        async def on_start(self) -> None:
            self.log.append("start")
            await asyncio.Event().wait()

    async with System() as system:
        spawning = asyncio.ensure_future(system.spawn(Slow, log=log))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        spawning.cancel()
        with pytest.raises(asyncio.CancelledError):
            await spawning
        assert system.names == []
    assert log == ["start", "stop"]
