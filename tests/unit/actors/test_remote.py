"""Refs to actors of another system; both systems run in this process, on the two ends of a socketpair."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from actorstream.actors import Actor, ActorRef, ManualClock, System, Terminated
from actorstream.actors.window import LEAST_WINDOW
from actorstream.errors import ActorDeadError, ActorError, AskTimeoutError, DataError, MailboxFullError


class Note(msgspec.Struct, frozen=True):
    text: str
    numbers: list[int] = []


class Invitation(msgspec.Struct):
    host: ActorRef


class Recorder(Actor):
    def on_start(self) -> None:
        self.seen: list[Any] = []

    def on_message(self, message: Any) -> Any:
        if message == "all":
            return self.seen
        if message == "count":
            return len(self.seen)
        if message == "raise":
            raise DataError("as asked", file="a.csv", line=3)
        if message == "object":
            return object()
        if message == "me":
            return self.actor_ref
        self.seen.append(message)
        return message


class Gated(Recorder):
    def __init__(self, gate: asyncio.Event) -> None:
        self.gate = gate

    async def on_message(self, message: Any) -> Any:
        await self.gate.wait()
        return super().on_message(message)


@asynccontextmanager
async def two(**options: Any) -> AsyncIterator[tuple[System, System]]:
    """Systems "near" and "far", connected. Options are near's."""
    one, other = socket.socketpair()
    async with System("far") as far, System("near", **options) as near:
        await asyncio.gather(near.adopt(one), far.adopt(other))
        yield near, far


async def test_structs_arrive_as_their_own_class_and_equal() -> None:
    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        note = Note("x", [1, 2])
        answer = await near.ref("far/r").ask(note)
        assert answer == note
        assert answer is not note


@pytest.mark.parametrize("message", [None, 1, -1.5, "text", b"bytes", [1, "a"], {"a": {"b": None}}])
async def test_plain_values_arrive_as_they_are(message: Any) -> None:
    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        assert await near.ref("far/r").ask(message) == message


async def test_the_order_of_a_sender_is_kept_through_tells_sends_and_asks() -> None:
    async with two() as (near, far):
        local = await far.spawn(Recorder, name="r")
        ref = near.ref("far/r")
        for number in range(5000):
            if number % 1000 == 0:
                assert await ref.ask(number) == number
            else:
                try:
                    ref.tell(number)
                except MailboxFullError:
                    await ref.send(number)
        assert await ref.ask("count") == 5000
        assert await local.ask("all") == list(range(5000))


async def test_an_exception_comes_back_typed_with_the_remote_traceback() -> None:
    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        with pytest.raises(DataError, match="as asked") as caught:
            await near.ref("far/r").ask("raise")
        assert caught.value.line == 3
        assert 'raise DataError("as asked"' in caught.value.remote_traceback  # type: ignore[attr-defined]
        assert any("far/r" in note for note in caught.value.__notes__)


@pytest.mark.parametrize(
    "text, told",
    [("caf\udce9", r"caf\\udce9"), ("x" * 1_000_000, "x" * 1000)],
    ids=["surrogate", "long"],
)
async def test_an_error_whose_text_cannot_travel_fails_its_ask_only(
    text: str, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, "actorstream")  # processes of pytest do not send each other such texts

    class Failing(Recorder):
        def on_message(self, message: Any) -> Any:
            if message == "fail":
                raise ValueError(text)
            return super().on_message(message)

    async with two(max_frame=100_000) as (near, far):
        local = await far.spawn(Failing, name="f")
        with pytest.raises(ValueError, match=told):
            await near.ref("far/f").ask("fail")
        assert await near.ref("far/f").ask(1) == 1
        local.tell("fail")
        reason = await near.ref("far/f").wait_stopped()
        assert "failed: ValueError" in reason and near.peers == ["far"]


async def test_a_name_that_cannot_travel_is_refused_and_the_link_lives_on() -> None:
    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        for _ in range(2):
            with pytest.raises(ActorError, match="cannot be named to system 'far'"):
                near.ref("far/caf\udce9").tell(1)
        assert await near.ref("far/r").ask(1) == 1


async def test_an_answer_that_cannot_travel_is_an_error_for_the_asker() -> None:
    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        with pytest.raises(ActorError, match="cannot be sent"):
            await near.ref("far/r").ask("object")
        assert await near.ref("far/r").ask(1) == 1


async def test_tell_without_credit_says_so_and_send_waits_for_it() -> None:
    gate = asyncio.Event()
    async with two() as (near, far):
        await far.spawn(Gated, gate=gate, name="slow", mailbox_bytes=1)
        ref = near.ref("far/slow")
        blob = b"x" * 1000
        told = 0
        with pytest.raises(MailboxFullError, match="outstanding"):
            while True:
                ref.tell(blob)
                told += 1
        assert told == LEAST_WINDOW // (len(blob) + 19)
        sends = [asyncio.ensure_future(ref.send(number)) for number in range(100)]
        sends.append(
            asyncio.ensure_future(ref.send(b"y" * 500_000))
        )  # alone, once all before it is processed
        await asyncio.sleep(0)
        given_up = asyncio.ensure_future(ref.send("given up"))
        await asyncio.sleep(0)
        given_up.cancel()
        with pytest.raises(MailboxFullError):
            ref.tell("overtaking")
        gate.set()
        await asyncio.gather(*sends)
        assert await ref.ask("all") == [blob] * told + list(range(100)) + [b"y" * 500_000]


async def test_a_large_mailbox_gives_a_large_window() -> None:
    gate = asyncio.Event()
    async with two() as (near, far):
        await far.spawn(Gated, gate=gate, name="slow", mailbox_bytes=1 << 20)
        ref = near.ref("far/slow")
        ref.tell("first")
        await far.spawn(Recorder, name="r")
        await near.ref("far/r").ask("barrier")  # by now the window is known
        for _ in range(1000):
            ref.tell(b"x" * 1000)
        gate.set()
        assert await ref.ask("count") == 1001


async def test_many_messages_with_little_credit_all_arrive() -> None:
    async with two() as (near, far):
        await far.spawn(Recorder, name="r", mailbox_bytes=1)
        ref = near.ref("far/r")
        sizes = [1, 60_000, 10, 70_000, 20_000, 50_000, 3, 64_000] * 10
        await asyncio.gather(*(ref.send(b"x" * size) for size in sizes))
        assert [len(message) for message in await ref.ask("all")] == sizes


async def test_a_message_over_the_receivers_limit_is_refused_where_it_is_sent() -> None:
    one, other = socket.socketpair()
    async with System("far", max_frame=100_000) as far, System("near") as near:
        await asyncio.gather(near.adopt(one), far.adopt(other))
        await far.spawn(Recorder, name="r")
        ref = near.ref("far/r")
        for call in (ref.send, ref.ask):
            with pytest.raises(ActorError, match="limit of 100000"):
                await call(b"x" * 100_000)
        assert await ref.ask("count") == 0


async def test_messages_of_many_megabytes_go_both_ways() -> None:
    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        blob = b"x" * (20 << 20)
        assert await near.ref("far/r").ask(blob) == blob


async def test_an_ask_that_is_not_answered_in_time_fails_and_leaves_nothing_behind() -> None:
    clock, gate = ManualClock(), asyncio.Event()
    async with two(clock=clock) as (near, far):
        await far.spawn(Gated, gate=gate, name="slow")
        ref = near.ref("far/slow")
        ask = asyncio.ensure_future(ref.ask("x", timeout=2))
        await asyncio.sleep(0)
        clock.advance(2)
        with pytest.raises(AskTimeoutError, match="far/slow"):
            await ask
        assert (near.link("far").pending, clock.alarms) == ({}, 0)
        gate.set()
        assert await ref.ask("count", timeout=None) == 1


async def test_a_dead_actor_is_known_to_be_dead_on_the_other_side() -> None:
    async with two() as (near, far):
        local = await far.spawn(Recorder, name="r")
        ref = near.ref("far/r")
        assert await ref.ask(1) == 1
        assert ref.alive
        waiting = asyncio.ensure_future(ref.wait_stopped())
        await asyncio.sleep(0)
        await local.stop()
        assert await waiting == "stopped"
        assert not ref.alive
        for call in (ref.send, ref.ask):
            with pytest.raises(ActorDeadError, match="far/r"):
                await call(1)
        with pytest.raises(ActorDeadError):
            ref.tell(1)
        assert await ref.stop() is False


async def test_a_ref_means_whatever_actor_has_the_name() -> None:
    async with two() as (near, far):
        ref = near.ref("far/r")
        with pytest.raises(ActorDeadError, match="no actor"):
            await ref.ask(1)
        for _ in range(2):
            local = await far.spawn(Recorder, name="r")
            await far.spawn(Recorder, name="barrier")
            await near.ref("far/barrier").ask(1)
            assert await ref.ask(1) == 1
            await local.stop()
            await far.ref("barrier").stop()
            with pytest.raises(ActorDeadError):
                await ref.ask(1)


async def test_asks_that_wait_in_a_mailbox_fail_when_the_actor_stops() -> None:
    gate = asyncio.Event()
    async with two() as (near, far):
        local = await far.spawn(Gated, gate=gate, name="slow", mailbox_bytes=1)
        ref = near.ref("far/slow")
        first = asyncio.ensure_future(ref.ask("first"))
        await far.spawn(Recorder, name="r")
        await near.ref("far/r").ask("barrier")
        stop = asyncio.ensure_future(local.stop())
        await asyncio.sleep(0)
        asks = [
            asyncio.ensure_future(ref.ask(b"x" * 30_000)) for _ in range(4)
        ]  # some of them wait for credit
        await near.ref("far/r").ask("barrier")
        gate.set()
        assert await first == "first"
        for ask in asks:
            with pytest.raises(ActorDeadError):
                await ask
        assert await stop is True


async def test_a_remote_actor_is_stopped_after_the_messages_it_has() -> None:
    async with two() as (near, far):
        local = await far.spawn(Recorder, name="r")
        ref = near.ref("far/r")
        for number in range(100):
            ref.tell(number)
        assert await ref.stop() is True
        assert local.statistics().processed >= 100
        assert await ref.stop() is False


async def test_a_remote_death_is_told_to_watchers_once() -> None:
    class Watcher(Recorder):
        def on_message(self, message: Any) -> Any:
            if message == "watch":
                for _ in range(2):
                    self.watch(self.ref("far/r"))
                return None
            return super().on_message(message)

    async with two() as (near, far):
        local = await far.spawn(Recorder, name="r")
        watcher = await near.spawn(Watcher)
        await watcher.ask("watch")
        local.tell("raise")
        reason = await near.ref("far/r").wait_stopped()
        assert await watcher.ask("all") == [Terminated("far/r", reason)]
        assert "as asked" in reason


async def test_a_remote_actor_that_came_back_is_watched_before_its_death_was_heard() -> None:
    class Watcher(Recorder):
        async def on_message(self, message: Any) -> Any:
            if message == "replace":
                watched = self.ref("far/r")
                self.watch(watched)
                await watched.stop()
                await far.spawn(Recorder, name="r")
                while not watched.alive:
                    await asyncio.sleep(0)
                for _ in range(2):
                    self.watch(self.ref("far/r"))
                return None
            return super().on_message(message)

    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        watcher = await near.spawn(Watcher)
        await watcher.ask("replace")
        assert await watcher.ask("all") == [Terminated("far/r", "stopped")]
        await far.ref("r").stop()
        await near.ref("far/r").wait_stopped()
        assert await watcher.ask("all") == [Terminated("far/r", "stopped")] * 2


async def test_a_lost_peer_fails_its_asks_and_tells_watchers() -> None:
    gate = asyncio.Event()
    async with two() as (near, far):
        await far.spawn(Gated, gate=gate, name="slow")
        ref = near.ref("far/slow")
        asks = [asyncio.ensure_future(ref.ask(number)) for number in range(3)]
        dead = asyncio.ensure_future(ref.wait_stopped())
        await asyncio.sleep(0)
        gate.set()
        far.link("near").abort()
        for ask in asks:
            with pytest.raises(Exception, match="lost"):
                await ask
        assert "lost" in await dead
        assert near.peers == []


async def test_refs_travel_and_work_where_they_arrive() -> None:
    class Guest(Actor):
        async def on_message(self, message: Any) -> Any:
            host = message.host if isinstance(message, Invitation) else message
            return await host.ask("hello from " + self.actor_ref.address)

    async with two() as (near, far):
        home = await near.spawn(Recorder, name="home")
        await far.spawn(Guest, name="guest")
        await far.spawn(Recorder, name="r")
        guest = near.ref("far/guest")
        assert await guest.ask(Invitation(home)) == "hello from far/guest"
        assert await guest.ask(home) == "hello from far/guest"
        returned = await near.ref("far/r").ask("me")
        assert returned == near.ref("far/r")
        assert await guest.ask(returned) == "hello from far/guest"
        assert await far.ref("r").ask("count") == 1


async def test_a_class_that_only_one_side_can_find_is_registered() -> None:
    class Private(msgspec.Struct):
        text: str

    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        with pytest.raises(ActorError, match="register"):
            await near.ref("far/r").ask(Private("x"))
    async with two() as (near, far):
        await far.spawn(Recorder, name="r")
        near.register(Private)
        far.register(Private)
        assert await near.ref("far/r").ask(Private("x")) == Private("x")


async def test_one_actor_serves_senders_of_its_own_and_of_other_systems() -> None:
    async with two() as (near, far):
        local = await far.spawn(Recorder, name="r")
        remote = near.ref("far/r")
        for number in range(50):
            await asyncio.gather(local.send(("local", number)), remote.send(["remote", number]))
        seen = [list(message) for message in await local.ask("all")]
        for who in ("local", "remote"):
            assert [number for name, number in seen if name == who] == list(range(50))
