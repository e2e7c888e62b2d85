"""Mutated bytes at everything that listens in a run over ZeroMQ: data path, wire and signs of life; from strangers, and from
one who knows the key of the run. The tests send a sample; the whole campaign is one command:

    python -m tests.integration.hostile_flood 1000000 --seed 1 --sanitized
"""

from __future__ import annotations

import argparse
import asyncio
import random
import socket
import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from time import monotonic

import zmq

from actorstream.errors import BrokenError
from actorstream.native.keepalive import KeepaliveThread, PeerState, tag_of
from actorstream.testing.transport.payload import SCHEMA, sample, verify
from actorstream.testing.transport.side import PLAN
from actorstream.transports.base import Frame, FrameKind
from actorstream.transports.network.interfaces import socket_address
from actorstream.transports.network.message import (
    ACK,
    BYE,
    CLOCK,
    CREDIT,
    GATHER,
    HEAD,
    HELLO,
    PROMISES,
    STREAM,
    STREAM_END,
    WHOLE,
    Envelope,
)
from actorstream.transports.zmq.sockets import curve_keys
from actorstream.transports.zmq.wire import WIRE_PLAN, Wire
from tests.integration.hostile_streams import flood_control, flood_same_host, flood_signs, flood_streams
from tests.integration.zmq_pairs import SECRET, fabric, free_port, pair
from tests.native.sanitized_core import run_module


def messages(envelope: Envelope) -> list[list[bytes]]:
    """Messages that are right in themselves, as the parts of which ZeroMQ makes them."""
    jumbo = bytes(range(256))
    frame = Frame(FrameKind.DATA, None, rows=3, nbytes=256, schema=SCHEMA.fingerprint)
    return [
        [envelope.frame(frame, 0, 5, 0, 0, len(jumbo)) + jumbo],
        [envelope.frame(frame, 1, 5, 0, 0, len(jumbo)), jumbo],
        [b"".join(envelope.frame(frame, 0, 5, 0, 0, len(jumbo)) + jumbo for _ in range(3))],
        [b"".join(envelope.frame(frame, 1, 5, 0, 0, len(jumbo)) for _ in range(3)), jumbo, jumbo, jumbo],
        [envelope.control(CREDIT, 5, 0, 1, struct.pack("<QQ", 2**63, 7))],
        [envelope.control(PROMISES, 5, 0, 0, struct.pack("<Iq", 0, 9))],
        [envelope.control(HELLO, 0, 0, 0, bytes(40))],
        [envelope.control(CLOCK, 5, 0, 0, struct.pack("<qq", 2**40, 10**6))],
        [envelope.control(ACK, 0, 2**40)],
        [envelope.control(STREAM, 5, 0, 7, b"bytes of a stream")],
        [envelope.control(STREAM_END, 5, 0, 7)],
        [envelope.control(GATHER, 5, 0, 1, b"\x92\xc4\x00\xc4\x00")],
        [envelope.control(BYE, 5, 0)],
    ]


def mutated(parts: list[bytes], draw: random.Random) -> list[bytes]:
    """The parts with some bytes changed, cut, doubled, or lengths that promise 2 GiB."""
    made = [bytearray(part) for part in parts]
    for _ in range(draw.randint(1, 4)):
        part = draw.choice(made)
        change = draw.randrange(6)
        if change == 0 and part:
            part[draw.randrange(len(part))] ^= 1 << draw.randrange(8)
        elif change == 1:
            del part[draw.randrange(len(part) + 1) :]
        elif change == 2:
            part += draw.randbytes(draw.randrange(64))
        elif change == 3 and len(part) >= HEAD.size:
            struct.pack_into("<I", part, HEAD.size - 4, 2**31)
        elif change == 4 and len(made) < 5:
            made.append(bytearray(draw.randbytes(draw.randrange(300))))
            break
        elif len(part) > HEAD.size:
            part[HEAD.size :] = draw.randbytes(len(part) - HEAD.size)
    return [bytes(part) for part in made]


async def flood_data_path(count: int, draw: random.Random) -> None:
    """A worker takes in `count` messages of a peer that knows the key, and lives."""
    names = [f"ipc://@actorstream-flood-{draw.getrandbits(64)}-{worker}" for worker in range(2)]
    broken = 0
    async with pair(fabric(names), fabric(names)) as (_, b):
        exchange = b.transport._exchange  # type: ignore[attr-defined]
        link = exchange.links[0]
        right = messages(Envelope(0, 1, PLAN, SECRET))
        for _ in range(count):
            parts = draw.choice(right)
            head = bytearray(parts[0])
            if int.from_bytes(head[40:48], "little"):
                step = WHOLE.size + (256 if len(parts) == 1 else 0)
                for number, at in enumerate(range(0, len(head), step)):
                    struct.pack_into("<Q", head, at + 40, link.seen + 1 + number)
            made = mutated([bytes(head), *parts[1:]], draw)
            exchange.arrivals.take(memoryview(made[0]), made[1:])
            if link.lost or link.left:
                broken += 1
                link.lost, link.left = "", False
                for receiver in exchange.receivers.values():
                    receiver._lost = ""
            _drain(b)
    assert broken > count // 4


def _drain(side: object) -> None:
    """Reads what was taken for a frame: it has rows, or is refused."""
    while True:
        try:
            frame = side.receiver(0).peek()  # type: ignore[attr-defined]
        except BrokenError:
            return
        if frame is None:
            return
        if frame.payload is not None:
            with suppress(BrokenError):
                frame.payload.table(SCHEMA)
        side.receiver(0).consume()  # type: ignore[attr-defined]


def flood_wire(count: int, draw: random.Random) -> None:
    """A wire takes in `count` messages of a peer that knows the key, and lives."""
    ports = [free_port(), free_port()]
    addresses = [f"tcp://127.0.0.1:{port}" for port in ports]
    wires = [
        Wire(rank, addresses, addresses, addresses[rank], SECRET, curve=True, away_s=4.0) for rank in range(2)
    ]
    try:
        _gather_once(wires)
        asyncio.run_coroutine_threadsafe(_feed(wires[1], count, draw), wires[1]._loop).result()
    finally:
        for wire in wires:
            wire.close(0.1)


async def _feed(wire: Wire, count: int, draw: random.Random) -> None:
    link, right = wire.links[0], messages(Envelope(0, 1, WIRE_PLAN, SECRET))
    for _ in range(count):
        parts = draw.choice(right)
        head = bytearray(parts[0])
        if int.from_bytes(head[40:48], "little"):
            struct.pack_into("<Q", head, 40, link.seen + 1)
        made = mutated([bytes(head), *parts[1:]], draw)
        wire._take(memoryview(made[0]), made[1:])
        link.lost, link.left, wire._mismatch = "", False, None
        wire._early.clear()
        wire._gathered.clear()


def _gather_once(wires: list[Wire]) -> None:
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda wire: wire.gather(b"%d" % wire.rank, 0, 20.0), wires))
    assert found == [[b"0", b"1"]] * 2


def _stranger(port: int) -> zmq.Socket[bytes]:
    push = zmq.Context.instance().socket(zmq.PUSH)
    push.linger = 0
    public, private = curve_keys(SECRET)
    push.curve_publickey, push.curve_secretkey, push.curve_serverkey = public, private, public
    push.connect(f"tcp://127.0.0.1:{port}")
    return push


async def flood_ports(count: int, draw: random.Random) -> None:
    """Strangers send `count` messages and raw bytes to a worker's port; it goes on with its peer."""
    addresses = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    port = int(addresses[1].rsplit(":", 1)[1])
    async with pair(fabric(addresses), fabric(addresses)) as (a, b):
        right = messages(Envelope(0, 1, PLAN, bytes(32)))  # of another run
        with closing(_stranger(port)) as push:
            push.sndhwm = 0
            for number in range(count):
                push.send_multipart(mutated(draw.choice(right), draw))
                if number % 500 == 499:
                    await _raw(port, draw)
                    await a.send(sample(a, number))
                    verify(await b.receive(), number)


async def _raw(port: int, draw: random.Random) -> None:
    """Bytes that are no ZeroMQ."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(draw.randbytes(draw.choice((1, 10, 64, 5000))))
    await writer.drain()
    writer.transport.abort()


def flood_keepalive(count: int, draw: random.Random) -> None:
    """Datagrams of strangers, and mutated ones with the right tag, at the signs of life."""
    ports = [free_port(), free_port()]
    keys = [bytes([number]) * 16 for number in range(2)]
    socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2)]
    threads = []
    for own, sock in enumerate(socks):
        sock.bind(("127.0.0.1", ports[own]))
        thread = KeepaliveThread(sock.fileno(), own, 1, every_s=0.01, limit_s=36_000.0, grace_s=600.0)
        thread.add(1 - own, socket_address("127.0.0.1", ports[1 - own]), keys[own], keys[1 - own])
        thread.start()
        threads.append(thread)
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(count):
                whole = bytearray(struct.pack("<IHHIIqqq", 0x766C4153, 1, 1, 0, 1, 1, 1, 1))
                if draw.random() < 0.5:
                    whole = bytearray(mutated([bytes(whole)], draw)[0])
                key = keys[draw.randrange(2)] if draw.random() < 0.5 else bytes(16)
                stranger.sendto(
                    bytes(whole) + struct.pack("<Q", tag_of(key, bytes(whole))), ("127.0.0.1", ports[1])
                )
        end = monotonic() + 20.0
        while threads[0].state(1) != PeerState.ALIVE or threads[1].state(0) != PeerState.ALIVE:
            assert monotonic() < end
        assert threads[1].refused > 0
    finally:
        for thread, sock in zip(threads, socks):
            thread.close(leaves=False)
            sock.close()


FLOODS: dict[str, Callable[[int, random.Random], object]] = {
    "data path": lambda count, draw: asyncio.run(flood_data_path(count, draw)),
    "wire": flood_wire,
    "ports": lambda count, draw: asyncio.run(flood_ports(count, draw)),
    "signs of life": flood_keepalive,
    "streams": flood_streams,
    "memory of a host": flood_same_host,
    "control": lambda count, draw: flood_control(count, draw, mutated),
    "signs of life over a stream": lambda count, draw: flood_signs(count, draw, mutated),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, help="messages at each")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=FLOODS, help="one of them")
    parser.add_argument(
        "--sanitized", action="store_true", help="with the core under AddressSanitizer and UBSan"
    )
    parsed = parser.parse_args()
    if parsed.sanitized:
        words = [str(parsed.count), "--seed", str(parsed.seed)]
        words += ["--only", parsed.only] if parsed.only else []
        sys.exit(run_module("tests.integration.hostile_flood", *words))
    for name, flood in FLOODS.items():
        if parsed.only not in (None, name):
            continue
        begun = monotonic()
        flood(parsed.count, random.Random(parsed.seed))
        print(
            f"{name}: {parsed.count} messages of seed {parsed.seed} in {monotonic() - begun:.1f} s: ok",
            flush=True,
        )


if __name__ == "__main__":
    main()
