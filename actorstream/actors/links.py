"""All links of a system: listening, connecting, adopting, and which link leads to which peer."""

from __future__ import annotations

import asyncio
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from actorstream.actors.address import Address, connected_socket, listening_socket
from actorstream.actors.link import PeerLink
from actorstream.actors.peer_end import SocketEnd
from actorstream.actors.remote import RemoteRef
from actorstream.actors.typetable import qualified_name
from actorstream.actors.wire import Hello
from actorstream.errors import BrokenError, ClosedError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from actorstream.actors.cell import Cell
    from actorstream.actors.peer_end import PeerEnd
    from actorstream.actors.ref import ActorRef
    from actorstream.actors.system import System

log = logging.getLogger("actorstream.actors")


class Links:
    """`peers`: system name -> the link that requests go by. Two systems may have two links, if each connected to the
    other; each then sends by the one that it had first, so order is kept."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.identity = int.from_bytes(os.urandom(7), "little")
        self.peers: dict[str, PeerLink] = {}
        self.links: set[PeerLink] = set()
        self.registered: dict[str, type] = {}
        self.address = ""
        self._closed = False
        self._server: asyncio.Server | None = None
        self._socket_file: tuple[Path, int] | None = None
        self._came: dict[str, list[asyncio.Future[None]]] = {}
        self._went: dict[str, list[asyncio.Future[str]]] = {}

    # -- making links ---------------------------------------------------------------------------------------------

    async def listen(self, text: str) -> None:
        sock, address = listening_socket(Address.parse(text))
        loop = self.system.loop
        if address.family == "unix":
            if not address.host.startswith("@"):
                path = Path(address.host)
                self._socket_file = (path, path.stat().st_ino)
            self._server = await loop.create_unix_server(lambda: PeerLink(self), sock=sock)
        else:
            self._server = await loop.create_server(lambda: PeerLink(self), sock=sock)
        self.address = str(address)

    async def connect(self, text: str, timeout: float) -> str:
        try:
            async with asyncio.timeout(timeout):
                sock = await connected_socket(Address.parse(text))
        except TimeoutError:
            raise BrokenError(f"cannot connect to {text} within {timeout:g} s") from None
        return await self.adopt(SocketEnd(sock), None, timeout)

    async def adopt(self, end: PeerEnd, peer: str | None, timeout: float) -> str:
        if self._closed:
            end.close()
            raise ClosedError(f"system {self.system.name!r} has stopped")
        link = await end.join(self.system.loop, lambda: PeerLink(self, peer))
        try:
            async with asyncio.timeout(timeout):
                return await link.established
        except TimeoutError:
            who = f"system {peer!r}" if peer else "the other end"
            error = BrokenError(f"{who} did not finish the handshake within {timeout:g} s")
            link.break_off(error)
            raise error from None
        except asyncio.CancelledError:
            link.break_off(BrokenError("connecting was cancelled"))
            raise

    def objection(self, hello: Hello, expected: str | None) -> str:
        """Why a peer is not accepted; empty: it is."""
        name = self.system.name
        if self._closed:
            return f"system {name!r} is stopping"
        if not hello.name or "/" in hello.name:
            return f"{hello.name!r} is not a system's name"
        if hello.name == name:
            return f"both ends are named {name!r}; names of connected systems differ"
        if expected is not None and hello.name != expected:
            return f"system {name!r} expects {expected!r} here, not {hello.name!r}"
        for link in self.links:
            if link.peer == hello.name and link.identity != hello.identity and link.closed is None:
                return f"system {name!r} is connected to another system named {hello.name!r}"
        return ""

    def opened(self, link: PeerLink) -> None:
        self.peers.setdefault(link.peer, link)
        for future in self._came.pop(link.peer, ()):
            if not future.done():
                future.set_result(None)

    def gone(self, link: PeerLink, error: Exception) -> None:
        self.links.discard(link)
        if self.peers.get(link.peer) is not link:
            return
        del self.peers[link.peer]
        for other in self.links:
            if other.peer == link.peer and other.closed is None and other.established.done():
                self.peers[link.peer] = other
                return
        for future in self._went.pop(link.peer, ()):
            if not future.done():
                future.set_result(str(error))

    # -- using them -----------------------------------------------------------------------------------------------

    def link(self, peer: str) -> PeerLink:
        link = self.peers.get(peer)
        if link is None:
            connected = ", ".join(sorted(self.peers)) or "none"
            raise BrokenError(
                f"system {self.system.name!r} is not connected to system {peer!r}; connected: {connected}"
            )
        return link

    def ref(self, address: str) -> ActorRef:
        """The ref for an address that came in a message; whoever uses it learns whether there is such an actor."""
        found = self.system.find(address)
        if found is not None:
            return found
        system, _, actor = address.partition("/")
        return RemoteRef(self.system, system, actor)

    async def wait_peer(self, name: str) -> None:
        if name not in self.peers:
            future: asyncio.Future[None] = self.system.loop.create_future()
            self._came.setdefault(name, []).append(future)
            await future

    async def wait_peer_lost(self, name: str) -> str:
        if name not in self.peers:
            return f"system {name!r} is not connected"
        future: asyncio.Future[str] = self.system.loop.create_future()
        self._went.setdefault(name, []).append(future)
        return await future

    def register(self, messages: Iterable[type[Any]]) -> None:
        for cls in messages:
            self.registered[qualified_name(cls)] = cls

    def actor_spawned(self, cell: Cell) -> None:
        for link in self.links:
            link.actors.spawned(cell)

    def actor_died(self, cell: Cell) -> None:
        for link in self.links:
            link.actors.died(cell)

    async def close(self) -> None:
        """Stops listening, says goodbye on every link and waits until what was gathered is written."""
        self._closed = True
        if self._server is not None:
            self._server.close()
        if self._socket_file is not None:
            path, inode = self._socket_file
            if path.exists() and path.stat().st_ino == inode:
                path.unlink()
        links = list(self.links)
        for link in links:
            link.say_goodbye(f"system {self.system.name!r} ends")
        lost = [link.lost for link in links]
        if lost:
            _, late = await asyncio.wait(lost, timeout=self.system.stop_timeout)
            if late:
                for link in links:
                    link.abort()
                await asyncio.wait(late, timeout=1.0)
        for futures in self._came.values():
            for future in futures:
                if not future.done():
                    future.set_exception(ClosedError(f"system {self.system.name!r} has stopped"))
