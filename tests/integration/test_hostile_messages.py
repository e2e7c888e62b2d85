"""Whoever reaches a worker's socket with whatever bytes stops nobody, and nothing without a key of the run is read."""

from __future__ import annotations

import asyncio
import random

import pytest
import zmq

from actorstream.testing.transport.payload import sample, verify
from actorstream.testing.transport.side import PLAN, Side, expect
from actorstream.transports.network.message import Envelope
from tests.integration.hostile_flood import FLOODS, messages, mutated
from tests.integration.zmq_pairs import fabric, free_port, pair

SEEDS = 1200


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


@pytest.mark.parametrize("what", FLOODS)
def test_mutated_messages_of_one_who_knows_the_key_stop_nobody(what: str) -> None:
    """A sample; `python -m tests.integration.hostile_flood 1000000` is the campaign."""
    FLOODS[what](SEEDS, random.Random(17))
