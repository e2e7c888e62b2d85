"""Whoever reaches a worker's socket with whatever bytes stops nobody, and nothing without a key of the run is read."""

from __future__ import annotations

import asyncio
import random
import struct

import pytest
import zmq

from actorstream.errors import BrokenError
from actorstream.testing.transport.payload import SCHEMA, sample, verify
from actorstream.testing.transport.side import PLAN, Side, expect
from actorstream.transports.base import Frame, FrameKind
from actorstream.transports.network.message import ACK, CREDIT, HEAD, HELLO, PROMISES, Envelope
from tests.integration.zmq_pairs import SECRET, fabric, free_port, pair

SEEDS = 1200


def messages(envelope: Envelope) -> list[list[bytes]]:
    """Messages that are right in themselves, as the parts of which ZeroMQ makes them."""
    jumbo = bytes(range(256))
    frame = Frame(FrameKind.DATA, None, rows=3, nbytes=256, schema=SCHEMA.fingerprint)
    return [
        [envelope.frame(frame, 0, 5, 0, 0, len(jumbo)) + jumbo],
        [envelope.frame(frame, 1, 5, 0, 0, len(jumbo)), jumbo],
        [envelope.control(CREDIT, 5, 0, 1, struct.pack("<QQ", 2**63, 7))],
        [envelope.control(PROMISES, 5, 0, 0, struct.pack("<Iq", 0, 9))],
        [envelope.control(HELLO, 0, 0, 0, bytes(40))],
        [envelope.control(ACK, 0, 2**40)],
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


@pytest.mark.parametrize("curve", [True, False], ids=["encrypted", "plain"])
async def test_strangers_at_the_port_change_nothing(curve: bool) -> None:
    addresses = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    async with pair(fabric(addresses, curve=curve), fabric(addresses, curve=curve)) as (a, b):
        stranger = Envelope(0, 1, PLAN, bytes(32))
        draw = random.Random(16)
        with zmq.Context() as context, context.socket(zmq.PUSH) as push:
            push.linger = 0
            push.sndtimeo = 50 if curve else 5000
            push.connect(addresses[1])
            refused = 0
            for seed in range(SEEDS // 3):
                right = draw.choice(messages(stranger))
                try:
                    push.send_multipart(mutated(right, draw) if seed % 4 else right)
                    refused += 1
                except zmq.Again:
                    break  # nobody takes it: there is no encryption without the run's key
            if not curve:
                await b.until(
                    lambda: b.transport.statistics()["refused"] == refused or _poke(b),  # type: ignore[attr-defined]
                    "all refused messages",
                )
            for seed in range(5):
                await a.send(sample(a, seed))
                verify(await b.receive(), seed)
        expect(curve == (b.transport.statistics()["refused"] == 0), "refused messages")  # type: ignore[attr-defined]


def _poke(side: Side) -> bool:
    """Rings a bit, since a message that is refused rings none."""
    side.transport.doorbell.ring(1000)
    return False


async def test_bytes_that_are_no_zeromq_do_not_stop_a_listening_worker() -> None:
    addresses = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    draw = random.Random(7)
    async with pair(fabric(addresses), fabric(addresses)) as (a, b):
        port = int(addresses[1].rsplit(":", 1)[1])
        for length in (1, 10, 64, 5000):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(draw.randbytes(length))
            await writer.drain()
            writer.transport.abort()
        await a.send(sample(a, 0))
        verify(await b.receive(), 0)


async def test_a_worker_of_the_run_that_sends_what_it_must_not_is_lost_and_its_peer_lives() -> None:
    """A real peer greets; then messages with its key, but changed bytes, come in its place."""
    draw = random.Random(17)
    names = ["ipc://@actorstream-test-hostile-0", "ipc://@actorstream-test-hostile-1"]
    broken = 0
    async with pair(fabric(names), fabric(names)) as (_, b):
        exchange = b.transport._exchange  # type: ignore[attr-defined]
        link = exchange.links[0]
        envelope = Envelope(0, 1, PLAN, SECRET)
        for _ in range(SEEDS):
            seen = link.seen
            for parts in messages(envelope):
                head = bytearray(parts[0])
                if int.from_bytes(head[40:48], "little"):
                    struct.pack_into("<Q", head, 40, seen + 1)
                made = mutated([bytes(head), *parts[1:]], draw)
                exchange._take(memoryview(made[0]), made[1] if len(made) > 1 else None)
                if link.lost:
                    broken += 1
                    link.lost = ""
                    for receiver in exchange.receivers.values():
                        receiver._lost = ""
                seen = link.seen
            while (frame := _peeked(b)) is not None:
                if frame.payload is not None:
                    with pytest.raises((BrokenError, Exception)):
                        frame.payload.table(SCHEMA)
                b.receiver(0).consume()
    assert broken > SEEDS


def _peeked(side: Side) -> Frame | None:
    try:
        return side.receiver(0).peek()
    except BrokenError:
        return None
