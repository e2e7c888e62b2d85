"""A program that stands between hosts: it forwards tcp and udp ports to a host with a delay, loses datagrams, and cuts or blocks
connections when it is told to.

    python -m tests.integration.relay DELAY LOSS ADDRESS PORT:TARGET...

For each PORT of ADDRESS it forwards to the same port of TARGET. Lines on standard input: `cut` (ends all connections), `block`
and `pass` (forwards nothing, forwards again).
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections import deque
from contextlib import suppress

Address = tuple[str, int]


class Relay:
    """Args: delay: seconds of each direction. loss: share of datagrams that are lost."""

    def __init__(self, delay: float, loss: float) -> None:
        self.delay, self.loss = delay, loss
        self.passes = asyncio.Event()
        self.passes.set()
        self.draw = random.Random(5)
        self.ways: set[asyncio.StreamWriter] = set()
        self.tasks: set[asyncio.Task[None]] = set()

    async def serve(self, address: str, port: int, target: str) -> None:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                back, forth = await asyncio.open_connection(target, port)
            except OSError:
                writer.transport.abort()
                return
            self.ways |= {writer, forth}
            for source, sink in ((reader, forth), (back, writer)):
                self.keep(self.pump(source, sink))

        await asyncio.start_server(connected, address, port)
        await asyncio.get_running_loop().create_datagram_endpoint(
            lambda: Datagrams(self, (target, port)), local_addr=(address, port)
        )

    def keep(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[arg-type]
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Forwards one direction; what was read waits for its time in a queue, so that the delay takes no throughput."""
        loop = asyncio.get_running_loop()
        waiting: deque[tuple[float, bytes]] = deque()
        some = asyncio.Event()

        async def write() -> None:
            while True:
                await some.wait()
                while waiting:
                    due, data = waiting[0]
                    await asyncio.sleep(max(0.0, due - loop.time()))
                    await self.passes.wait()
                    waiting.popleft()
                    if not data:
                        sink.transport.abort()
                        return
                    sink.write(data)
                    with suppress(OSError):
                        await sink.drain()
                some.clear()

        self.keep(write())
        data = b"x"
        while data:
            try:
                data = await source.read(1 << 16)
            except OSError:
                data = b""
            waiting.append((loop.time() + self.delay, data))
            some.set()
            while len(waiting) > 200:
                await asyncio.sleep(self.delay or 0.001)

    def cut(self) -> None:
        for way in self.ways:
            way.transport.abort()
        self.ways.clear()


class Datagrams(asyncio.DatagramProtocol):
    """Forwards what comes to one port."""

    def __init__(self, relay: Relay, target: Address) -> None:
        self.relay, self.target = relay, target

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self.transport = transport

    def datagram_received(self, data: bytes, address: Address) -> None:
        relay = self.relay
        if relay.passes.is_set() and relay.draw.random() >= relay.loss:
            asyncio.get_running_loop().call_later(relay.delay, self.transport.sendto, data, self.target)


async def main(delay: float, loss: float, address: str, ports: list[str]) -> None:
    relay = Relay(delay, loss)
    for each in ports:
        port, _, target = each.partition(":")
        await relay.serve(address, int(port), target)
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        match line.strip():
            case "cut":
                relay.cut()
            case "block":
                relay.passes.clear()
            case "pass":
                relay.passes.set()
        print("done", flush=True)


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1]), float(sys.argv[2]), sys.argv[3], sys.argv[4:]))
