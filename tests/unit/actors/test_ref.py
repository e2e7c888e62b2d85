from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from actorstream.actors import Actor, ActorRef, ManualClock, System
from actorstream.actors.size import estimate
from actorstream.errors import ActorDeadError, ActorError, AskTimeoutError, MailboxFullError


class Note(msgspec.Struct):
    text: str


class Recorder(Actor):
    """Keeps what it is told; answers an ask of "all" with everything so far."""

    def on_start(self) -> None:
        self.seen: list[Any] = []

    def on_message(self, message: Any) -> Any:
        if message == "all":
            return self.seen
        if message == "raise":
            raise ValueError("as asked")
        self.seen.append(message)
        return message


class Gated(Recorder):
    """Holds every message until its gate opens."""

    def __init__(self, gate: asyncio.Event) -> None:
        self.gate = gate

    async def on_message(self, message: Any) -> Any:
        await self.gate.wait()
        return super().on_message(message)


async def test_messages_are_passed_by_reference_and_in_order() -> None:
    async with System() as system:
        ref = await system.spawn(Recorder)
        notes = [Note(str(number)) for number in range(300)]
        for note in notes:
            ref.tell(note)
        seen = await ref.ask("all")
        assert [id(note) for note in seen] == [id(note) for note in notes]


async def test_tell_and_send_from_one_sender_keep_their_order_when_credit_runs_out() -> None:
    async with System() as system:
        ref = await system.spawn(Recorder, mailbox_bytes=10 * estimate(1))
        for number in range(500):
            if number % 3:
                await ref.send(number)
            else:
                try:
                    ref.tell(number)
                except MailboxFullError:
                    await ref.send(number)
        assert await ref.ask("all") == list(range(500))


async def test_an_ask_gets_the_hooks_return_value() -> None:
    async with System() as system:
        ref = await system.spawn(Recorder)
        assert await ref.ask(Note("x")) == Note("x")


async def test_an_exception_goes_to_the_asker_and_the_actor_stays_usable() -> None:
    async with System() as system:
        ref = await system.spawn(Recorder)
        with pytest.raises(ValueError, match="as asked"):
            await ref.ask("raise")
        assert await ref.ask(1) == 1


async def test_tell_without_credit_says_so_and_send_waits_for_it() -> None:
    async with System() as system:
        gate = asyncio.Event()
        ref = await system.spawn(Gated, gate=gate, name="slow", mailbox_bytes=1)
        ref.tell("first")
        with pytest.raises(MailboxFullError, match="'slow'"):
            ref.tell("second")
        waiting = asyncio.ensure_future(ref.send("third"))
        await asyncio.sleep(0)
        assert ref.statistics().waiting == 1
        gate.set()
        await waiting
        assert await ref.ask("all") == ["first", "third"]


async def test_credit_comes_back_only_when_the_message_has_been_processed() -> None:
    async with System() as system:
        gate = asyncio.Event()
        ref = await system.spawn(Gated, gate=gate)
        message = "x" * 1000
        ref.tell(message)
        await asyncio.sleep(0)
        assert ref.statistics().messages == 0
        assert ref.statistics().bytes == estimate(message)
        gate.set()
        await ref.ask("all")
        assert ref.statistics().bytes == 0
        assert ref.statistics().peak_bytes >= estimate(message)


async def test_a_send_that_is_cancelled_leaves_nothing_behind() -> None:
    async with System() as system:
        gate = asyncio.Event()
        ref = await system.spawn(Gated, gate=gate, mailbox_bytes=1)
        ref.tell("first")
        large = asyncio.ensure_future(ref.send("given up"))
        small = asyncio.ensure_future(ref.send("kept"))
        await asyncio.sleep(0)
        large.cancel()
        gate.set()
        await small
        assert await ref.ask("all") == ["first", "kept"]


async def test_an_ask_that_is_not_answered_in_time_fails_and_leaves_nothing_behind() -> None:
    clock = ManualClock()
    async with System(clock=clock) as system:
        gate = asyncio.Event()
        ref = await system.spawn(Gated, gate=gate, name="slow")
        ask = asyncio.ensure_future(ref.ask(Note("x"), timeout=5))
        await asyncio.sleep(0)
        clock.advance(5)
        with pytest.raises(AskTimeoutError, match=r"'slow' did not answer a Note within 5 s"):
            await ask
        assert clock.alarms == 0
        gate.set()
        assert await ref.ask("all", timeout=None) == [Note("x")]


async def test_the_systems_timeout_counts_unless_the_ask_has_its_own() -> None:
    clock = ManualClock()
    async with System(clock=clock, ask_timeout=3) as system:
        gate = asyncio.Event()
        ref = await system.spawn(Gated, gate=gate)
        asks = [asyncio.ensure_future(ref.ask(1)), asyncio.ensure_future(ref.ask(2, timeout=None))]
        await asyncio.sleep(0)
        clock.advance(1000)
        with pytest.raises(AskTimeoutError):
            await asks[0]
        gate.set()
        assert await asks[1] == 2


async def test_an_ask_that_gets_no_credit_in_time_fails_and_is_never_delivered() -> None:
    clock = ManualClock()
    async with System(clock=clock) as system:
        gate = asyncio.Event()
        ref = await system.spawn(Gated, gate=gate, mailbox_bytes=1)
        ref.tell("first")
        ask = asyncio.ensure_future(ref.ask("late", timeout=5))
        await asyncio.sleep(0)
        clock.advance(5)
        with pytest.raises(AskTimeoutError, match="no credit"):
            await ask
        gate.set()
        assert await ref.ask("all") == ["first"]


async def test_all_messages_before_a_stop_are_processed() -> None:
    seen: list[int] = []

    class Listener(Actor):
        def on_message(self, message: int) -> None:
            seen.append(message)

    async with System() as system:
        ref = await system.spawn(Listener)
        for number in range(200):
            ref.tell(number)
        assert await ref.stop() is True
        assert seen == list(range(200))


async def test_everything_to_a_dead_actor_fails_and_says_why() -> None:
    async with System() as system:
        ref = await system.spawn(Recorder, name="late")
        await ref.stop()
        assert not ref.alive
        for call in (ref.send, ref.ask):
            with pytest.raises(ActorDeadError, match=r"'late'.*stopped"):
                await call(1)
        with pytest.raises(ActorDeadError, match="'late'"):
            ref.tell(1)
        assert await ref.stop() is False


async def test_what_is_left_in_the_mailbox_when_an_actor_stops_is_answered() -> None:
    async with System() as system:
        gate = asyncio.Event()
        ref = await system.spawn(Gated, gate=gate, mailbox_bytes=3 * estimate("x"))
        ref.tell("first")
        stops = [asyncio.ensure_future(ref.stop()) for _ in range(3)]
        await asyncio.sleep(0)
        asks = [asyncio.ensure_future(ref.ask(number)) for number in range(4)]  # some of them wait for credit
        sends = [asyncio.ensure_future(ref.send(number)) for number in range(2)]
        await asyncio.sleep(0)
        gate.set()
        for call in (*asks, *sends):
            with pytest.raises(ActorDeadError):
                await call
        assert await asyncio.gather(*stops) == [True, True, True]
        assert ref.statistics().dropped == 3  # one more was let in when "first" was done


async def test_asking_or_awaiting_oneself_fails_at_once_instead_of_never() -> None:
    class Selfish(Actor):
        async def on_message(self, message: str) -> Any:
            me: ActorRef = self.actor_ref
            if message == "ask":
                return await me.ask("x")
            if message == "stop":
                return await me.stop()
            while True:
                await me.send("x" * 100)

    async with System() as system:
        ref = await system.spawn(Selfish, mailbox_bytes=2000)
        for message in ("ask", "stop"):
            with pytest.raises(ActorError, match=r"self|method"):
                await ref.ask(message)
        with pytest.raises(MailboxFullError):
            await ref.ask("fill")


async def test_refs_of_one_actor_are_equal_and_name_it() -> None:
    async with System("town") as system:
        ref = await system.spawn(Recorder, name="baker")
        assert system.ref("baker") == ref == system.ref("town/baker")
        assert {ref, system.ref("baker")} == {ref}
        assert (ref.name, ref.address, repr(ref)) == ("baker", "town/baker", "<ActorRef town/baker>")


async def test_one_can_wait_for_an_actors_end() -> None:
    async with System() as system:
        ref = await system.spawn(Recorder)
        waiting = asyncio.ensure_future(ref.wait_stopped())
        await asyncio.sleep(0)
        ref.tell("raise")
        assert "as asked" in await waiting
        assert "as asked" in await ref.wait_stopped()
