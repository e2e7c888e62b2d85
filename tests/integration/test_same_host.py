"""Workers of one host that started on their own share memory; those of other hosts are reached over the network."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from actorstream.errors import ConfigurationError
from actorstream.testing.transport.check import pipes
from actorstream.testing.transport.payload import sample, verify
from actorstream.testing.transport.side import PLAN, Side
from actorstream.transports.base import Channel, Frame, FrameKind
from actorstream.transports.network.same_host import SameHost, own_place
from actorstream.transports.network.send_channel import NetworkSendChannel
from actorstream.transports.shm.channel import ShmSendChannel
from actorstream.transports.sizing import SPARE_BITS
from actorstream.transports.zmq import ZmqFabric, ZmqTransport
from tests.integration.zmq_pairs import SECRET, free_port

CHANNELS = pipes((0, 1), (1, 0), (0, 2), (2, 1), slots=64)
MANY = pipes((0, 1), *[(2, 0)] * SPARE_BITS, (2, 0), slots=1)
ELSEWHERE = bytes(16)


def fabrics(channels: list[Channel]) -> list[ZmqFabric]:
    """Of three workers, of whom the third is on another host, as far as they know."""
    addresses = [f"tcp://127.0.0.1:{free_port()}" for _ in range(3)]
    places = [own_place(), own_place(), ELSEWHERE]

    def make(rank: int) -> ZmqFabric:
        same_host = SameHost(rank, places, SECRET, 20.0)
        return ZmqFabric(3, channels, PLAN, addresses=addresses, secret=SECRET, same_host=same_host)

    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(make, range(3)))


async def test_each_channel_takes_the_way_of_its_pair_and_one_doorbell_rings_for_all() -> None:
    made = fabrics(CHANNELS)
    sides = [Side(ZmqTransport, each, rank, list(CHANNELS), deadline=20.0) for rank, each in enumerate(made)]
    await asyncio.gather(*(side.transport.start() for side in sides))
    assert isinstance(sides[0].sender(0), ShmSendChannel)
    assert isinstance(sides[0].sender(2), NetworkSendChannel)
    ways = [(0, 1, 0), (1, 0, 1), (0, 2, 2), (2, 1, 3)]
    for seed in range(20):
        for sender, receiver, channel in ways:
            await sides[sender].send(sample(sides[sender], seed), channel)
            verify(await sides[receiver].receive(channel), seed)
    for sender, receiver, channel in ways:
        await sides[sender].send(Frame(FrameKind.END), channel)
        assert (await sides[receiver].receive(channel)).kind == FrameKind.END
    await asyncio.gather(*(side.transport.close() for side in sides))
    for each in made:
        each.close()


async def test_a_doorbell_in_shared_memory_rings_for_any_number_of_channels_to_other_hosts() -> None:
    made = fabrics(MANY)
    sides = [Side(ZmqTransport, each, rank, list(MANY), deadline=20.0) for rank, each in enumerate(made)]
    await asyncio.gather(*(side.transport.start() for side in sides))
    last = len(MANY) - 1
    try:
        waiting = asyncio.create_task(sides[0].receive(last))
        await sides[2].send(sample(sides[2], 0), last)
        verify(await waiting, 0)
    finally:
        await asyncio.gather(*(side.transport.close() for side in sides))
        for each in made:
            each.close()


def test_shared_memory_takes_files_only_for_the_workers_of_its_host() -> None:
    made = fabrics(CHANNELS)
    for each in made[:2]:
        assert each.near is not None
        assert len(each.near.hand_over().descriptors) == 1 + 2 * 2
    for each in made:
        each.close()


def test_a_worker_of_the_same_host_that_does_not_come_is_said() -> None:
    places = [own_place(), own_place()]
    with pytest.raises(ConfigurationError, match=r"worker 1 of the same host did not ask.*same_host"):
        SameHost(0, places, SECRET, 0.1).share(2, pipes((0, 1)), PLAN)
    with pytest.raises(ConfigurationError, match="worker 0 of the same host"):
        SameHost(1, places, SECRET, 0.1).share(2, pipes((0, 1)), PLAN)
