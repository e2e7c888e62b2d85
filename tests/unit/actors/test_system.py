from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import Any

import pytest

from actorstream.actors import Actor, System
from actorstream.errors import ActorDeadError, ActorError, ClosedError


class Echo(Actor):
    def __init__(self, prefix: str = "") -> None:
        self.prefix = prefix

    def on_message(self, message: Any) -> Any:
        if isinstance(message, type) and issubclass(message, BaseException):
            raise message("as asked")
        return f"{self.prefix}{message}"


class Chronicle(Actor):
    def __init__(self, log: list[str]) -> None:
        self.log = log

    def on_message(self, message: str) -> None:
        self.log.append(f"{self.name} {message}")

    def on_stop(self) -> None:
        self.log.append(f"stop {self.name}")


async def test_keywords_reach_the_constructor_and_a_function_may_make_the_actor() -> None:
    async with System() as system:
        assert await (await system.spawn(Echo, prefix=">")).ask("x") == ">x"
        assert await (await system.spawn(lambda: Echo("name=1 "))).ask("x") == "name=1 x"


async def test_names_are_unique_while_their_actors_live() -> None:
    async with System("town") as system:
        first = await system.spawn(Echo, name="echo")
        with pytest.raises(ActorError, match="'echo' already"):
            await system.spawn(Echo, name="echo")
        await first.stop()
        second = await system.spawn(Echo, name="echo")
        assert not first.alive
        assert second.alive


async def test_actors_without_a_name_get_one() -> None:
    async with System() as system:
        await system.spawn(Echo, name="echo-2")
        assert [(await system.spawn(Echo)).name for _ in range(3)] == ["echo-1", "echo-3", "echo-4"]


async def test_an_unknown_name_is_an_error_that_helps() -> None:
    async with System("town") as system:
        await system.spawn(Echo, name="counter")
        with pytest.raises(ActorDeadError, match="did you mean 'counter'"):
            system.ref("countr")
        with pytest.raises(ActorDeadError, match="connected to no other system"):
            system.ref("elsewhere/counter")


async def test_only_actors_are_spawned() -> None:
    async with System() as system:
        with pytest.raises(ActorError, match="subclasses of Actor"):
            await system.spawn(dict)  # type: ignore[arg-type]
        with pytest.raises(ActorError, match="mailbox_bytes"):
            await system.spawn(Echo, mailbox_bytes=0)
        with pytest.raises(ActorError, match="one_for_all"):
            await system.spawn(Echo, grouping="all")  # type: ignore[arg-type]
        with pytest.raises(TypeError, match="surplus"):
            await system.spawn(Echo, surplus=1)
        assert system.names == []


async def test_leaving_the_system_stops_all_in_reverse_start_order_after_their_messages() -> None:
    log: list[str] = []
    async with System() as system:
        for name in "abc":
            (await system.spawn(Chronicle, log=log, name=name)).tell("message")
    assert [line for line in log if line.startswith("stop")] == ["stop c", "stop b", "stop a"]
    assert all(log.index(f"{name} message") < log.index(f"stop {name}") for name in "abc")


async def test_an_error_in_the_body_stops_all_and_is_raised() -> None:
    log: list[str] = []
    with pytest.raises(KeyError):
        async with System() as system:
            await system.spawn(Chronicle, log=log, name="a")
            raise KeyError("body")
    assert log == ["stop a"]


@pytest.mark.parametrize("begun", [False, True])
async def test_a_stop_with_patience_cancels_the_hooks_that_await_and_drops_the_messages_behind_them(
    begun: bool,
) -> None:
    log: list[str] = []
    takes = asyncio.Event()

    class Waits(Chronicle):
        async def on_message(self, message: str) -> None:
            takes.set()
            try:
                await asyncio.Event().wait()
            finally:
                log.append(f"{message} cancelled")

    async with System() as system:
        ref = await system.spawn(Waits, log=log, name="a")
        ref.tell("first")
        ref.tell("second")
        if begun:
            await takes.wait()
        await system.stop(patience=60)
        assert not ref.alive
    assert log == ["first cancelled"] * begun + ["stop a"]


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("ask", [True, False])
async def test_a_base_exception_stops_all_actors_and_comes_out_of_the_system(
    error: type[BaseException], ask: bool
) -> None:
    log: list[str] = []
    with pytest.raises(error):
        async with System() as system:
            await system.spawn(Chronicle, log=log, name="bystander")
            ref = await system.spawn(Echo)
            if ask:
                await ref.ask(error)
            else:
                ref.tell(error)
            await asyncio.Event().wait()
    assert log == ["stop bystander"]
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)


async def test_a_base_exception_of_on_start_stops_the_system() -> None:
    class Fatal(Actor):
        def on_start(self) -> None:
            raise SystemExit(3)

    with pytest.raises(SystemExit):
        async with System() as system:
            await system.spawn(Fatal)


async def test_a_system_can_be_started_and_stopped_without_a_block() -> None:
    system = System()
    with pytest.raises(ClosedError, match="async with"):
        await system.spawn(Echo)
    await system.start()
    with pytest.raises(ClosedError):
        await system.start()
    ref = await system.spawn(Echo)
    await asyncio.gather(system.stop(), system.stop())
    assert not ref.alive
    with pytest.raises(ActorDeadError, match="stopping"):
        await system.spawn(Echo)


@pytest.mark.parametrize("name", ["", "a/b"])
def test_a_systems_name_has_no_slash(name: str) -> None:
    with pytest.raises(ActorError, match="'/'"):
        System(name)


async def test_statistics_count_actors_and_what_waits() -> None:
    async with System() as system:
        refs = [await system.spawn(Echo) for _ in range(3)]
        refs[0].tell("x")
        statistics = system.statistics()
        assert (statistics.actors, statistics.messages, statistics.peers) == (3, 1, [])
        assert statistics.bytes > 0


async def test_a_thousand_actors_live_and_answer() -> None:
    async with System() as system:
        refs = [await system.spawn(Echo) for _ in range(1000)]
        assert await asyncio.gather(*(ref.ask(number) for number, ref in enumerate(refs))) == [
            str(number) for number in range(1000)
        ]


def test_importing_actors_touches_no_event_loop() -> None:
    code = (
        "import sys, actorstream, actorstream.actors; actorstream.Actor; sys.exit('asyncio' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
