"""Two workers over ZeroMQ in one event loop, as tests of connections and of hostile peers need them."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from typing import Any

from actorstream.testing.transport.check import pipes
from actorstream.testing.transport.side import PLAN, Side
from actorstream.transports.zmq import ZmqFabric, ZmqTransport

SECRET = bytes(range(32))
CHANNELS = pipes((0, 1), (1, 0), slots=64)


def free_port() -> int:
    """A port that nobody uses now."""
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def fabric(addresses: list[str], plan: int = PLAN, **options: Any) -> ZmqFabric:
    """What one worker makes of the addresses that it knows."""
    options = {"secret": SECRET, "start_s": 20.0, **options}
    return ZmqFabric(2, CHANNELS, plan, addresses=addresses, **options)


@contextlib.asynccontextmanager
async def pair(first: ZmqFabric, second: ZmqFabric) -> AsyncIterator[tuple[Side, Side]]:
    """Both workers, started; each closes its transport at the end."""
    sides = [
        Side(ZmqTransport, each, worker, list(CHANNELS), deadline=20.0)
        for worker, each in enumerate((first, second))
    ]
    try:
        await asyncio.gather(*(side.transport.start() for side in sides))
        yield sides[0], sides[1]
    finally:
        await asyncio.gather(*(side.transport.close() for side in sides))


class Relay:
    """A way over tcp to a port, whose connections a test can cut and refuse."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.refuses = False
        self.bytes = 0
        self.on_bytes: Callable[[], None] = lambda: None
        self._ways: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Relay:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.cut()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def cut(self) -> None:
        """Cuts all connections, with whatever is in them."""
        for way in self._ways:
            way.transport.abort()
        self._ways.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        back, forth = await asyncio.open_connection("127.0.0.1", self.target)
        self._ways |= {writer, forth}
        for source, sink in ((reader, forth), (back, writer)):
            task = asyncio.ensure_future(self._pump(source, sink))
            self._tasks.add(task)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(1 << 14):
                sink.write(data)
                self.bytes += len(data)
                self.on_bytes()
                await sink.drain()
        sink.transport.abort()
