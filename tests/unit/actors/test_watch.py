from __future__ import annotations

from typing import Any

from actorstream.actors import Actor, ActorRef, System, Terminated
from actorstream.actors.watch import Deathwatch, Watches


class Victim(Actor):
    def on_message(self, message: str) -> str:
        if message == "boom":
            raise ValueError("boom")
        return message


class Watcher(Actor):
    """Watches and stops watching what it is told; answers an ask of "seen" with the deaths it heard of."""

    def __init__(self) -> None:
        self.seen: list[Terminated] = []

    def on_message(self, message: Any) -> Any:
        if isinstance(message, Terminated):
            self.seen.append(message)
        elif message == "seen":
            return self.seen
        elif isinstance(message, ActorRef):
            self.watch(message)
        else:
            self.unwatch(message[0])
        return None


async def test_a_death_is_told_once_with_its_reason_however_often_it_is_watched() -> None:
    async with System() as system:
        victim, watcher = await system.spawn(Victim, name="victim"), await system.spawn(Watcher)
        for _ in range(3):
            await watcher.ask(victim)
        await victim.stop()
        assert await watcher.ask("seen") == [Terminated("victim", "stopped")]


async def test_the_deaths_of_an_actor_and_of_the_next_one_of_its_name_are_both_told() -> None:
    class Parent(Watcher):
        async def on_message(self, message: Any) -> Any:
            if message != "replace":
                return super().on_message(message)
            worker = await self.spawn(Victim, name="worker")
            self.watch(worker)
            await worker.stop()
            worker = await self.spawn(Victim, name="worker")
            self.watch(worker)  # before the first death was taken out of the mailbox
            return worker

    async with System() as system:
        parent = await system.spawn(Parent, name="parent")
        worker = await parent.ask("replace")
        assert await parent.ask("seen") == [Terminated("parent/worker", "stopped")]
        worker.tell("boom")
        reason = await worker.wait_stopped()
        assert await parent.ask("seen") == [
            Terminated("parent/worker", "stopped"),
            Terminated("parent/worker", reason),
        ]


async def test_a_failure_is_the_reason_of_a_death() -> None:
    async with System() as system:
        victim, watcher = await system.spawn(Victim), await system.spawn(Watcher)
        await watcher.ask(victim)
        victim.tell("boom")
        await victim.wait_stopped()
        (seen,) = await watcher.ask("seen")
        assert "boom" in seen.reason


async def test_watching_the_dead_tells_at_once() -> None:
    async with System() as system:
        victim, watcher = await system.spawn(Victim), await system.spawn(Watcher)
        await victim.stop()
        await watcher.ask(victim)
        assert len(await watcher.ask("seen")) == 1


async def test_who_stops_watching_hears_nothing_even_of_a_death_that_waits_in_the_mailbox() -> None:
    async with System() as system:
        victim, watcher = await system.spawn(Victim), await system.spawn(Watcher)
        await watcher.ask(victim)
        watcher.tell((victim,))
        await victim.stop()
        assert await watcher.ask("seen") == []


async def test_a_restart_is_no_death() -> None:
    async with System() as system:
        victim, watcher = await system.spawn(Victim, supervision="restart"), await system.spawn(Watcher)
        await watcher.ask(victim)
        victim.tell("boom")
        await victim.ask("x")
        assert await watcher.ask("seen") == []
        await victim.stop()
        assert len(await watcher.ask("seen")) == 1


async def test_a_dead_watcher_is_not_told() -> None:
    async with System() as system:
        victim, watcher = await system.spawn(Victim), await system.spawn(Watcher)
        await watcher.ask(victim)
        await watcher.stop()
        await victim.stop()
        assert watcher.statistics().messages == 0


def test_a_watcher_is_told_once_and_can_be_taken_off() -> None:
    told: list[str] = []
    watchers = Deathwatch()
    cancel = watchers.add(lambda reason: told.append("first"))
    watchers.add(lambda reason: told.append(reason))
    cancel()
    cancel()
    watchers.tell("gone")
    watchers.tell("gone again")
    assert (told, len(watchers)) == (["gone"], 0)


def test_a_watcher_that_is_taken_off_twice_takes_no_other_with_it() -> None:
    told: list[str] = []
    watchers = Deathwatch()
    cancel = watchers.add(told.append)
    cancel()
    watchers.add(told.append)
    cancel()
    watchers.tell("gone")
    assert told == ["gone"]


def test_a_name_is_watched_anew_while_the_death_of_who_had_it_waits_to_be_told() -> None:
    watches, old, new = Watches(), object(), object()
    first = watches.begin("worker", old)
    assert first is not None and watches.begin("worker", old) is None
    second = watches.begin("worker", new)
    assert second is not None and watches.begin("worker", new) is None
    watches.told("worker", first)
    assert (first.live, second.live, watches.begin("worker", new)) == (False, True, None)


def test_a_name_that_nobody_has_is_watched_once() -> None:
    watches = Watches()
    first = watches.begin("far/worker", None)
    assert first is not None and watches.begin("far/worker", None) is None
    watches.told("far/worker", first)
    assert watches.begin("far/worker", None) is not None


def test_ended_watches_are_cancelled_at_their_source_whoever_had_the_name() -> None:
    cancelled: list[str] = []
    watches = Watches()
    for name, life in [("a", "old"), ("a", "new"), ("b", "other")]:
        watch = watches.begin(name, life)
        assert watch is not None
        watch.cancel = lambda life=life: cancelled.append(life)  # type: ignore[misc]
    watches.end("a")
    assert cancelled == ["old", "new"]
    watches.end_all()
    assert cancelled == ["old", "new", "other"]
