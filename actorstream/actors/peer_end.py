"""The end of a way to another system, whatever carries its bytes: what `System.adopt` takes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Protocol, TypeVar

Made = TypeVar("Made", bound=asyncio.Protocol)


class PeerEnd(Protocol):
    """One end of a stream of bytes whose other end another system has."""

    async def join(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Made]) -> Made:
        """Makes a protocol and joins it to this end, by a transport as asyncio has them: `write`, `close`, `abort`,
        `get_write_buffer_size`, `pause_reading`, `resume_reading`. Once."""

    def close(self) -> None:
        """Lets go of an end that was not joined."""


class SocketEnd:
    """A connected stream socket."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    async def join(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Made]) -> Made:
        self.sock.setblocking(False)
        if self.sock.family == socket.AF_UNIX:
            return (await loop.create_unix_connection(make, sock=self.sock))[1]
        return (await loop.create_connection(make, sock=self.sock))[1]

    def close(self) -> None:
        self.sock.close()
