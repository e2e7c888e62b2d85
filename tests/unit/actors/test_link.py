"""Both ends of the handshake, and what a link does with a peer that breaks the rules; the peer is bytes on a socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from actorstream.actors import Actor, ManualClock, System
from actorstream.actors.failure import Failure
from actorstream.actors.link import HANDSHAKE_SECONDS
from actorstream.actors.wire import (
    HEADER,
    LENGTH_BYTES,
    PROTOCOL,
    ActorFrameKind,
    Alive,
    Control,
    Credit,
    Dead,
    DefineActor,
    DefineType,
    FrameReader,
    Goodbye,
    Hello,
    Welcome,
    control_frame,
    read_control,
)
from actorstream.errors import ActorDeadError, ActorError, BrokenError


def frame(kind: int, number: int, target: int, ask: int, body: bytes = b"") -> bytes:
    return HEADER.pack(HEADER.size - LENGTH_BYTES + len(body), kind, 0, number, target, ask) + body


class Echo(Actor):
    def on_message(self, message: Any) -> Any:
        return message


class Peer:
    """The other end, by hand."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        self.sock = sock
        self.reader = FrameReader(1 << 20)
        self.frames: list[Any] = []

    async def say(self, *parts: Control | bytes) -> None:
        data = b"".join(part if isinstance(part, bytes) else control_frame(part) for part in parts)
        await asyncio.get_running_loop().sock_sendall(self.sock, data)

    async def hear(self) -> Any:
        """The next frame; control frames decoded. None: the link was closed."""
        while not self.frames:
            try:
                data = await asyncio.get_running_loop().sock_recv(self.sock, 1 << 16)
            except ConnectionError:
                return None
            if not data:
                return None
            self.frames += [(*rest, bytes(body)) for *rest, body in self.reader.feed(data)]
        found = self.frames.pop(0)
        return read_control(found[4]) if found[0] == ActorFrameKind.CONTROL else found

    async def hear_all(self) -> list[Any]:
        """Everything until the link is closed."""
        heard = []
        while (found := await self.hear()) is not None:
            heard.append(found)
        return heard


HELLO = Hello(PROTOCOL, "peer", 7, 1 << 20)


@asynccontextmanager
async def before_handshake(**options: Any) -> AsyncIterator[tuple[System, Peer, asyncio.Future[str]]]:
    ours, theirs = socket.socketpair()
    with theirs:
        async with System("town", **options) as system:
            await system.spawn(Echo, name="echo")
            adopting = asyncio.ensure_future(system.adopt(ours, timeout=30))
            yield system, Peer(theirs), adopting
            if not adopting.done():
                theirs.close()
            await asyncio.gather(adopting, return_exceptions=True)
            theirs.close()


@asynccontextmanager
async def connected(**options: Any) -> AsyncIterator[tuple[System, Peer]]:
    async with before_handshake(**options) as (system, peer, adopting):
        await peer.say(HELLO, Welcome())
        assert await adopting == "peer"
        assert isinstance(await peer.hear(), Hello)
        assert isinstance(await peer.hear(), Welcome)
        yield system, peer


async def test_each_side_says_hello_with_its_version_and_name() -> None:
    async with before_handshake(max_frame=12345) as (_, peer, _adopting):
        hello = await peer.hear()
        assert (hello.protocol, hello.name, hello.max_frame) == (PROTOCOL, "town", 12345)


async def test_another_version_is_refused_with_both_numbers() -> None:
    async with before_handshake() as (system, peer, adopting):
        await peer.say(Hello(99, "peer", 7, 1 << 20))
        with pytest.raises(BrokenError, match=f"99.*{PROTOCOL}"):
            await adopting
        (_, goodbye) = await peer.hear_all()
        assert goodbye.refused
        assert system.peers == []


async def test_a_refusal_is_told_to_who_connected() -> None:
    async with before_handshake() as (_, peer, adopting):
        await peer.say(HELLO, Goodbye("not today", refused=True))
        with pytest.raises(BrokenError, match="not today"):
            await adopting


async def test_a_peer_that_says_nothing_is_given_up() -> None:
    clock = ManualClock()
    async with before_handshake(clock=clock) as (_, peer, adopting):
        await peer.hear()
        clock.advance(HANDSHAKE_SECONDS)
        with pytest.raises(BrokenError, match="nothing valid"):
            await adopting


@pytest.mark.parametrize(
    "parts",
    [
        [b"GET / HTTP/1.1\r\nHost: town\r\n\r\n"],
        [Welcome()],
        [HELLO, HELLO],
        [HELLO, DefineActor(0, "echo")],
        [frame(ActorFrameKind.TELL, 0, 0, 0, b"\x01")],
        [HELLO, frame(ActorFrameKind.ASK, 0, 0, 1, b"\x01")],
        [HEADER.pack(1 << 20, 0, 0, 0, 0, 0)],
        [frame(ActorFrameKind.CONTROL, 0, 0, 0, b"\xc1\xc1")],
    ],
)
async def test_who_breaks_the_rules_of_the_handshake_is_cut_off(parts: list[Any]) -> None:
    async with before_handshake() as (system, peer, adopting):
        await peer.say(*parts)
        with pytest.raises(BrokenError):
            await adopting
        assert all(not isinstance(found, tuple) for found in await peer.hear_all())
        assert system.peers == []


@pytest.mark.parametrize(
    "parts",
    [
        [frame(ActorFrameKind.TELL, 0, 9, 0, b"\x01")],
        [frame(ActorFrameKind.ASK, 0, 9, 1, b"\x01")],
        [DefineActor(0, "echo"), DefineActor(0, "echo")],
        [DefineType(2, "a:B"), DefineType(2, "a:B")],
        [Credit(3, 10)],
        [Dead(0, "never named")],
        [Alive(0)],
        [Welcome()],
        [HELLO],
        [frame(77, 0, 0, 0)],
        [DefineActor(0, "echo"), frame(77, 0, 0, 0)],
        [HEADER.pack(1 << 30, 1, 0, 0, 0, 0)],
    ],
)
async def test_who_breaks_the_rules_later_is_cut_off_and_the_system_lives_on(parts: list[Any]) -> None:
    async with connected() as (system, peer):
        lost = asyncio.ensure_future(system.wait_peer_lost("peer"))
        await asyncio.sleep(0)
        await peer.say(*parts)
        await peer.hear_all()
        assert "peer" in await lost
        assert system.peers == []
        assert await system.ref("echo").ask("x") == "x"


async def test_a_peer_that_sends_more_than_its_credit_is_cut_off() -> None:
    gate = asyncio.Event()

    class Slow(Actor):
        async def on_message(self, message: Any) -> None:
            await gate.wait()

    async with connected() as (system, peer):
        await system.spawn(Slow, name="slow", mailbox_bytes=1)
        await peer.say(DefineActor(0, "slow"))
        window = (await peer.hear()).size
        lost = asyncio.ensure_future(system.wait_peer_lost("peer"))
        await asyncio.sleep(0)
        await peer.say(
            *[frame(ActorFrameKind.TELL, 0, 0, 0, msgspec.msgpack.encode(b"x" * 1000))] * (window // 1000 + 1)
        )
        assert "without credit" in await lost
        gate.set()


async def test_a_message_that_does_not_decode_is_answered_or_dropped_and_the_link_lives_on() -> None:
    async with connected() as (_, peer):
        await peer.say(DefineActor(0, "echo"), DefineType(2, "no_module:Thing"))
        await peer.say(
            frame(ActorFrameKind.TELL, 2, 0, 0, b"\xc0"), frame(ActorFrameKind.TELL, 0, 0, 0, b"\xc1")
        )
        await peer.say(
            frame(ActorFrameKind.ASK, 2, 0, 1, b"\xc0"), frame(ActorFrameKind.ASK, 0, 0, 2, b"\xa1x")
        )
        heard = [await peer.hear() for _ in range(3)][1:]
        answers = {ask: (kind, body) for kind, _, _, ask, body in heard}
        failure = msgspec.msgpack.decode(answers[1][1], type=Failure)
        assert answers[1][0] == ActorFrameKind.ERROR
        assert failure.type == "actorstream.errors:ActorError"
        assert "no_module:Thing" in failure.text
        assert answers[2] == (ActorFrameKind.ANSWER, b"\xa1x")


async def test_an_end_of_the_socket_without_a_goodbye_is_a_loss() -> None:
    async with connected() as (system, peer):
        ref = system.ref("peer/actor")
        ask = asyncio.ensure_future(ref.ask("x"))
        assert await peer.hear() == DefineActor(0, "actor")
        assert (await peer.hear())[0] == ActorFrameKind.ASK
        peer.sock.close()
        with pytest.raises(BrokenError, match="'peer' is lost"):
            await ask
        with pytest.raises(BrokenError, match="not connected"):
            ref.tell("x")


async def test_a_goodbye_is_an_orderly_end() -> None:
    async with connected() as (system, peer):
        ask = asyncio.ensure_future(system.ref("peer/actor").ask("x"))
        await peer.hear()
        await peer.say(Goodbye("shutting down"))
        with pytest.raises(ActorDeadError, match="shutting down"):
            await ask


async def test_a_wrong_answer_fails_its_ask_only() -> None:
    async with connected() as (system, peer):
        ref = system.ref("peer/actor")
        asks = [asyncio.ensure_future(ref.ask(number)) for number in range(3)]
        numbers = [found[3] for found in [await peer.hear() for _ in range(4)] if isinstance(found, tuple)]
        await peer.say(
            frame(ActorFrameKind.ANSWER, 99, 0, numbers[0]),
            frame(ActorFrameKind.ANSWER, 0, 0, numbers[1], b"\xc1"),
            frame(ActorFrameKind.ANSWER, 0, 0, 4711, b"\x01"),
            frame(ActorFrameKind.ANSWER, 0, 0, numbers[2], b"\x05"),
        )
        for ask in asks[:2]:
            with pytest.raises(ActorError):
                await ask
        assert await asks[2] == 5


async def test_an_unreadable_failure_fails_its_ask_and_cuts_the_peer_off() -> None:
    async with connected() as (system, peer):
        ask = asyncio.ensure_future(system.ref("peer/actor").ask(1))
        await peer.hear()
        number = (await peer.hear())[3]
        await peer.say(frame(ActorFrameKind.ERROR, 0, 0, number, b"\xc1"))
        with pytest.raises(BrokenError):
            await ask
        await peer.hear_all()
        assert system.peers == []


async def test_many_messages_of_one_turn_leave_in_one_write() -> None:
    async with connected() as (system, peer):
        ref = system.ref("peer/actor")
        for number in range(100):
            ref.tell(number)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        data = await asyncio.get_running_loop().sock_recv(peer.sock, 1 << 16)
        assert len(FrameReader(1 << 20).feed(data)) == 101


async def test_requests_of_a_peer_that_does_not_read_wait_and_go_on_in_order() -> None:
    log: list[int] = []

    class Verbose(Actor):
        def on_message(self, message: int) -> bytes:
            log.append(message)
            return b"x" * 1_000_000

    async with connected() as (system, peer):
        await system.spawn(Verbose, name="verbose")
        await peer.say(DefineActor(0, "verbose"))
        await peer.hear()
        for number in range(1, 101):
            await peer.say(frame(ActorFrameKind.ASK, 0, 0, number, msgspec.msgpack.encode(number)))
            await system.ref("echo").ask("barrier")
        assert len(log) < 100  # the rest waits for the peer to read
        peer.reader.limit = 2_000_000
        answered = []
        while len(answered) < 100:
            found = await peer.hear()
            if isinstance(found, tuple):
                answered.append(found[3])
        assert answered == log == list(range(1, 101))


@pytest.mark.parametrize("in_order", [True, False], ids=["goodbye", "loss"])
async def test_what_has_arrived_of_a_peer_that_does_not_read_is_delivered_when_it_ends(
    in_order: bool,
) -> None:
    log: list[int] = []

    class Verbose(Actor):
        def on_message(self, message: int) -> bytes:
            log.append(message)
            return b"x" * 1_000_000

    async with connected() as (system, peer):
        verbose = await system.spawn(Verbose, name="verbose")
        link, lost = system.link("peer"), asyncio.ensure_future(system.wait_peer_lost("peer"))
        await peer.say(DefineActor(0, "verbose"), frame(ActorFrameKind.ASK, 0, 0, 1, b"\x01"))
        while not link._paused:
            await asyncio.sleep(0)
        await peer.say(frame(ActorFrameKind.TELL, 0, 0, 0, b"\x02"))
        while not link._held:
            await asyncio.sleep(0)
        if in_order:
            await peer.say(Goodbye("done"))
        else:
            peer.sock.close()
        await lost
        await verbose.ask(3)
        assert log == [1, 2, 3]
