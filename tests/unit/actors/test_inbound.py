from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from actorstream.actors import Actor, System
from actorstream.actors.inbound import RemoteReply
from actorstream.errors import ActorDeadError


class Gated(Actor):
    def __init__(self, gate: asyncio.Event) -> None:
        self.gate = gate

    async def on_message(self, message: Any) -> Any:
        await self.gate.wait()
        return message


async def test_bytes_of_a_peer_do_not_use_the_credit_of_this_process() -> None:
    gate = asyncio.Event()
    one, other = socket.socketpair()
    async with System("far") as far, System("near") as near:
        await asyncio.gather(near.adopt(one), far.adopt(other))
        local = await far.spawn(Gated, gate=gate, name="slow", mailbox_bytes=1)
        answers = [asyncio.ensure_future(near.ref("far/slow").ask(number)) for number in range(10)]
        await far.spawn(Gated, gate=asyncio.Event(), name="stopped")
        await near.ref("far/stopped").stop()  # by now all asks have arrived
        assert (local.statistics().messages, local.statistics().bytes) == (9, 0)
        local.tell("of this process")
        gate.set()
        assert await asyncio.gather(*answers) == list(range(10))


async def test_a_reply_is_given_once_and_none_to_a_link_that_is_gone() -> None:
    one, other = socket.socketpair()
    async with System("far") as far, System("near") as near:
        await asyncio.gather(near.adopt(one), far.adopt(other))
        link = far.link("near")
        reply = RemoteReply(link, 1)
        reply.set_result(1)
        written = len(link.outbox.frames)
        reply.set_result(2)
        reply.set_exception(ValueError())
        assert reply.done()
        assert len(link.outbox.frames) == written
        late = RemoteReply(link, 2)
        link.abort()
        await link.lost
        assert late.done()


async def test_a_stopping_actor_answers_a_peers_ask_at_once() -> None:
    gate = asyncio.Event()

    class SlowStop(Actor):
        async def on_stop(self) -> None:
            await gate.wait()

    one, other = socket.socketpair()
    async with System("far") as far, System("near") as near:
        await asyncio.gather(near.adopt(one), far.adopt(other))
        local = await far.spawn(SlowStop, name="slow")
        stopping = asyncio.ensure_future(local.stop())
        while local.alive:
            await asyncio.sleep(0)
        with pytest.raises(ActorDeadError, match="stopping"):
            await near.ref("far/slow").ask(1)
        near.ref("far/slow").tell(1)
        gate.set()
        assert await stopping
