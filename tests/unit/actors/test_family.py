from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorstream.actors import Actor, ActorRef, ManualClock, Supervision, System
from actorstream.actors.cell import State
from actorstream.errors import ActorDeadError


class Worker(Actor):
    """Counts what it is told; its state is as old as its instance."""

    def __init__(self, log: list[str]) -> None:
        self.log = log
        self.count = 0

    def on_start(self) -> None:
        self.log.append(f"start {self.name}")

    def on_message(self, message: str) -> int:
        if message == "boom":
            raise ValueError("boom")
        self.count += 1
        return self.count

    def on_stop(self) -> None:
        self.log.append(f"stop {self.name}")


class Parent(Worker):
    """Spawns three children whenever it starts."""

    def __init__(self, log: list[str], child: Any = "restart") -> None:
        super().__init__(log)
        self.child = child

    async def on_start(self) -> None:
        super().on_start()
        for name in "abc":
            await self.spawn(Worker, log=self.log, name=name, supervision=self.child)


async def settled(system: System, *names: str) -> None:
    """Waits until these actors answer: so all that a failure before led to has been done."""
    for name in names:
        await system.ref(name).ask("count")


async def test_a_restart_drops_the_state_and_keeps_the_mailbox_and_the_ref() -> None:
    log: list[str] = []
    async with System() as system:
        ref = await system.spawn(Worker, log=log, name="w", supervision="restart")
        for message in ("x", "x", "boom", "x"):
            ref.tell(message)
        assert await ref.ask("x") == 2
        assert log == ["start w", "stop w", "start w"]


async def test_resume_keeps_the_state() -> None:
    log: list[str] = []
    async with System() as system:
        ref = await system.spawn(Worker, log=log, name="w", supervision="resume")
        for message in ("x", "x", "boom", "x"):
            ref.tell(message)
        assert await ref.ask("x") == 4
        assert log == ["start w"]


async def test_an_async_hook_is_supervised_like_any_other() -> None:
    class AsyncWorker(Worker):
        async def on_message(self, message: str) -> int:  # type: ignore[override]
            await asyncio.sleep(0)
            return super().on_message(message)

    log: list[str] = []
    async with System() as system:
        ref = await system.spawn(AsyncWorker, log=log, name="w", supervision="restart")
        for message in ("x", "boom", "x"):
            ref.tell(message)
        assert await ref.ask("x") == 2


async def test_a_restart_waits_as_long_as_the_backoff_says_and_messages_wait_with_it() -> None:
    clock = ManualClock()
    log: list[str] = []
    rules = Supervision("restart", backoff=1, factor=2, max_restarts=5)
    async with System(clock=clock) as system:
        ref = await system.spawn(Worker, log=log, name="w", supervision=rules)
        for delay in (1, 2, 4):
            ref.tell("boom")
            ask = asyncio.ensure_future(ref.ask("x", timeout=None))
            while not clock.alarms:
                await asyncio.sleep(0)
            assert clock.advance(delay - 0.01) == 0
            assert not ask.done()
            clock.advance(0.01)
            assert await ask == 1


async def test_an_exhausted_budget_escalates_to_the_parent_whose_restart_makes_new_children() -> None:
    log: list[str] = []
    async with System() as system:
        await system.spawn(
            Parent, log=log, child=Supervision("restart", max_restarts=1), name="p", supervision="restart"
        )
        child = system.ref("p/b")
        child.tell("boom")
        await settled(system, "p/b")
        assert child.alive
        log.clear()
        child.tell("boom")
        await child.wait_stopped()
        await settled(system, "p", "p/a", "p/b", "p/c")
        assert log == [
            "stop p/b",
            "stop p/c",
            "stop p/a",
            "stop p",
            "start p",
            "start p/a",
            "start p/b",
            "start p/c",
        ]
        assert not child.alive
        assert system.ref("p/b").alive


async def test_escalate_hands_the_failure_to_the_parent() -> None:
    log: list[str] = []
    async with System() as system:
        parent = await system.spawn(Parent, log=log, child="escalate", name="p")
        system.ref("p/a").tell("boom")
        assert "boom" in await parent.wait_stopped()
        assert system.names == []


async def test_a_parent_that_resumes_after_an_escalation_has_lost_only_that_child() -> None:
    log: list[str] = []
    async with System() as system:
        await system.spawn(Parent, log=log, child="escalate", name="p", supervision="resume")
        child = system.ref("p/a")
        child.tell("boom")
        await child.wait_stopped()
        await settled(system, "p", "p/b", "p/c")
        assert system.names == ["p", "p/b", "p/c"]


async def test_a_failure_that_escalates_from_the_top_stops_the_system() -> None:
    log: list[str] = []
    with pytest.raises(ValueError, match="boom") as caught:
        async with System("town") as system:
            await system.spawn(Worker, log=log, name="other")
            ref = await system.spawn(Worker, log=log, name="w", supervision="escalate")
            ref.tell("boom")
            await asyncio.Event().wait()
    assert any("'w'" in note for note in caught.value.__notes__)
    assert log[-1] == "stop other"


@pytest.mark.parametrize(
    ("grouping", "restarted"),
    [("one_for_one", ["b"]), ("one_for_all", ["a", "b", "c"]), ("rest_for_one", ["b", "c"])],
)
async def test_who_of_the_siblings_restarts_with_a_failed_one(grouping: Any, restarted: list[str]) -> None:
    log: list[str] = []
    async with System() as system:
        await system.spawn(Parent, log=log, name="p", grouping=grouping)
        for name in "abc":
            system.ref(f"p/{name}").tell("x")
        await settled(system, "p/a", "p/b", "p/c")
        log.clear()
        system.ref("p/b").tell("boom")
        await settled(system, "p/b")
        assert log == [f"stop p/{name}" for name in reversed(restarted)] + [
            f"start p/{name}" for name in restarted
        ]
        counts = {name: await system.ref(f"p/{name}").ask("x") for name in "ac"}
        assert counts == {name: 1 if name in restarted else 3 for name in "ac"}


async def test_siblings_that_fail_together_all_come_back() -> None:
    log: list[str] = []
    rules = Supervision("restart", max_restarts=10)
    async with System() as system:
        await system.spawn(Parent, log=log, child=rules, name="p", grouping="one_for_all")
        for name in "abc":
            system.ref(f"p/{name}").tell("boom")
        await settled(system, "p/a", "p/b", "p/c")
        assert system.names == ["p", "p/a", "p/b", "p/c"]


async def test_each_of_the_siblings_that_fail_together_is_told_of_its_own_failure() -> None:
    told: list[str] = []

    class Telling(Worker):
        def on_failure(self, error: BaseException) -> None:
            told.append(f"{self.name} {error}")

    async with System(grouping="one_for_all") as system:
        refs = [await system.spawn(Telling, log=[], name=name, supervision="restart") for name in "ab"]
        for ref in refs:
            ref.tell("boom")
        await settled(system, "a", "b")
        assert sorted(told) == ["a boom", "b boom"]


async def test_a_sibling_whose_hook_is_under_way_is_restarted_after_it() -> None:
    gate = asyncio.Event()
    log: list[str] = []

    class Slow(Worker):
        async def on_message(self, message: str) -> int:  # type: ignore[override]
            if message == "wait":
                await gate.wait()
                self.log.append("hook done")
            return super().on_message(message)

    async with System(grouping="one_for_all") as system:
        slow = await system.spawn(Slow, log=log, name="slow")
        quick = await system.spawn(Worker, log=log, name="quick", supervision="restart")
        asking = asyncio.ensure_future(slow.ask("wait"))
        await asyncio.sleep(0)
        quick.tell("boom")
        for _ in range(5):
            await asyncio.sleep(0)
        gate.set()
        assert await asking == 1
        await settled(system, "slow", "quick")
        assert log == [
            "start slow",
            "start quick",
            "stop quick",
            "hook done",
            "stop slow",
            "start slow",
            "start quick",
        ]


async def test_an_on_start_that_fails_at_a_restart_counts_against_the_budget() -> None:
    starts: list[int] = []

    class Flaky(Worker):
        def on_start(self) -> None:
            starts.append(1)
            if len(starts) in (2, 3):
                raise RuntimeError("not yet")

    log: list[str] = []
    async with System() as system:
        ref = await system.spawn(Flaky, log=log, supervision=Supervision("restart", max_restarts=3))
        ref.tell("boom")
        assert await ref.ask("x") == 1
        assert len(starts) == 4


async def test_an_actor_that_waits_for_its_restart_can_be_stopped_at_once() -> None:
    clock = ManualClock()
    log: list[str] = []
    async with System(clock=clock) as system:
        ref = await system.spawn(Worker, log=log, name="w", supervision=Supervision("restart", backoff=100))
        ref.tell("boom")
        while not clock.alarms:
            await asyncio.sleep(0)
        assert await ref.stop() is True
        clock.advance(1000)
        assert system.names == []


async def test_an_actor_that_was_asked_to_stop_does_not_wait_until_its_siblings_restart() -> None:
    go = asyncio.Event()

    class Slow(Worker):
        async def on_message(self, message: str) -> int:  # type: ignore[override]
            await go.wait()
            return super().on_message(message)

    log: list[str] = []
    async with System(clock=ManualClock(), grouping="one_for_all") as system:
        failing = await system.spawn(Worker, log=log, supervision=Supervision("restart", backoff=100))
        slow = await system.spawn(Slow, log=log, name="slow", supervision="restart")
        slow.tell("x")
        while system.cell("slow").in_flight is None:  # type: ignore[union-attr]
            await asyncio.sleep(0)
        stopping = asyncio.ensure_future(slow.stop())  # which waits in the mailbox for the end of the hook
        failing.tell("boom")
        while system.cell("slow").state is not State.SUSPENDED:  # type: ignore[union-attr]
            await asyncio.sleep(0)
        go.set()
        assert await asyncio.wait_for(stopping, 30) is True
        assert failing.alive


async def test_an_actor_that_was_asked_to_stop_does_not_restart() -> None:
    log: list[str] = []
    async with System() as system:
        ref = await system.spawn(Worker, log=log, name="w", supervision="restart")
        ref.tell("boom")
        assert await ref.stop() is True
        assert log == ["start w", "stop w"]


async def test_children_stop_before_their_parent_the_last_started_first() -> None:
    log: list[str] = []
    async with System() as system:
        parent = await system.spawn(Parent, log=log, name="p")
        log.clear()
        await parent.stop()
    assert log == ["stop p/c", "stop p/b", "stop p/a", "stop p"]


async def test_a_child_that_asks_its_stopping_parent_gets_an_answer() -> None:
    answers: list[BaseException] = []

    class Child(Actor):
        async def on_message(self, parent: ActorRef) -> None:
            for _ in range(5):
                await asyncio.sleep(0)
            try:
                await parent.ask("anything")
            except ActorDeadError as error:
                answers.append(error)

    class Holder(Actor):
        async def on_start(self) -> None:
            (await self.spawn(Child)).tell(self.actor_ref)

    async with System() as system:
        ref = await system.spawn(Holder)
        await ref.stop()
    assert len(answers) == 1


async def test_a_child_cannot_be_spawned_by_a_parent_that_stops() -> None:
    caught: list[BaseException] = []

    class Late(Actor):
        async def on_stop(self) -> None:
            try:
                await self.spawn(Actor)
            except ActorDeadError as error:
                caught.append(error)

    async with System() as system:
        await (await system.spawn(Late)).stop()
    assert len(caught) == 1


async def test_a_child_that_escalates_while_its_parent_starts_fails_that_start() -> None:
    class Hasty(Actor):
        async def on_start(self) -> None:
            child = await self.spawn(Worker, log=[], supervision="escalate")
            child.tell("boom")
            await child.wait_stopped()

    async with System() as system:
        with pytest.raises(ValueError, match="boom"):
            await system.spawn(Hasty)
        assert system.names == []
