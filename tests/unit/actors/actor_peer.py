"""The other process of tests/conformance/test_actor_processes.py: a system with a few actors on inherited sockets.

Run as `python -c "import actor_peer; actor_peer.main()" NAME LOOP PEER=FD…`, so that both sides know its classes as
`actor_peer:Class`.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from typing import Any

import msgspec
import uvloop

from actorstream.actors import Actor, ActorRef, System

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


class Item(msgspec.Struct, frozen=True, gc=False):
    sender: str
    number: int


class OddError(Exception):
    pass


class Recorder(Actor):
    def on_start(self) -> None:
        self.seen: list[Item] = []

    async def on_message(self, message: Any) -> Any:
        if isinstance(message, Item):
            self.seen.append(message)
            return message
        if message == "seen":
            return [[item.sender, item.number] for item in self.seen]
        if message == "count":
            return len(self.seen)
        if message == "raise":
            raise OddError("from afar", 7)
        if message == "for ever":
            await asyncio.Event().wait()
        return os.getpid()


class Speaker(Actor):
    """Tells the recorders of other systems to record; answers when it has sent all. Kills its process when asked."""

    def __init__(self, system: System) -> None:
        self.system = system

    async def on_message(self, message: Any) -> int:
        if message == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        systems, count = message
        for name in systems:
            await self.system.wait_peer(name)
        refs: list[ActorRef] = [self.ref(f"{name}/recorder") for name in systems]
        me = self.actor_ref.address
        for number in range(count):
            for ref in refs:
                await ref.send(Item(me, number))
        return count * len(refs)


async def serve(name: str, sockets: dict[str, int]) -> None:
    async with System(name) as system:
        await system.spawn(Recorder, name="recorder")
        await system.spawn(Speaker, name="speaker", system=system)
        await asyncio.gather(
            *(system.adopt(socket.socket(fileno=fd), peer=peer) for peer, fd in sockets.items())
        )
        await system.wait_peer_lost("test")


def main() -> None:
    name, loop, *pairs = sys.argv[1:]
    sockets = {peer: int(fd) for peer, _, fd in (pair.partition("=") for pair in pairs)}
    with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
        runner.run(serve(name, sockets))
