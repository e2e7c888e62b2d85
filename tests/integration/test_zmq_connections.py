"""Connections over ZeroMQ that are cut, come back, stay away, or were never right."""

from __future__ import annotations

import asyncio
import resource
import socket

import pytest

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.testing.transport.check import pipes
from actorstream.testing.transport.payload import sample, verify
from actorstream.testing.transport.side import PLAN, Side
from actorstream.transports.base import Frame, FrameKind
from actorstream.transports.zmq import ZmqFabric, ZmqTransport
from tests.integration.zmq_pairs import CHANNELS, SECRET, Relay, fabric, free_port, pair

ROWS = 300


async def exchange_all(side: Side, sends: int, receives: int) -> None:
    """Sends and receives a few jumbo tuples at a time, so that always some are under way when a connection is cut."""
    for start in range(0, 240, 30):
        for seed in range(start, start + 30):
            await side.send(sample(side, seed, rows=ROWS), sends)
        for seed in range(start, start + 30):
            verify(await side.receive(receives), seed, rows=ROWS)
    await side.send(Frame(FrameKind.END), sends)
    assert (await side.receive(receives)).kind == FrameKind.END


async def receive_all(side: Side, count: int, rows: int, index: int) -> None:
    for seed in range(count):
        verify(await side.receive(index), seed, rows=rows)
    assert (await side.receive(index)).kind == FrameKind.END


@pytest.mark.parametrize("curve", [True, False], ids=["encrypted", "plain"])
async def test_connections_that_are_cut_again_and_again_lose_and_double_nothing(curve: bool) -> None:
    ports = [free_port(), free_port()]
    async with Relay(ports[0]) as to_first, Relay(ports[1]) as to_second:
        cuts = 0

        def cut(relay: Relay) -> None:
            nonlocal cuts
            if relay.bytes > 300_000:
                relay.bytes = 0
                cuts += 1
                relay.cut()

        for relay in (to_first, to_second):
            relay.on_bytes = lambda relay=relay: cut(relay)  # type: ignore[misc]
        own = [f"tcp://127.0.0.1:{port}" for port in ports]
        first = fabric([own[0], f"tcp://127.0.0.1:{to_second.port}"], curve=curve)
        second = fabric([f"tcp://127.0.0.1:{to_first.port}", own[1]], curve=curve)
        async with pair(first, second) as (a, b):
            await asyncio.gather(
                exchange_all(a, sends=0, receives=1),
                exchange_all(b, sends=1, receives=0),
            )
            for relay in (to_first, to_second):
                relay.on_bytes = lambda: None
        assert cuts >= 3


async def test_a_peer_that_stays_out_of_reach_is_lost_and_said_so() -> None:
    ports = [free_port(), free_port()]
    async with Relay(ports[1]) as relay:
        own = [f"tcp://127.0.0.1:{port}" for port in ports]
        first = fabric([own[0], f"tcp://127.0.0.1:{relay.port}"], away_s=0.6)
        async with pair(first, fabric(own)) as (a, _):
            relay.refuses = True
            relay.cut()
            frame = sample(a, 0)
            message = await a.broken(lambda: a.sender(0).send_nowait(frame), "a peer out of reach")
            assert "out of reach" in message and f"tcp://127.0.0.1:{relay.port}" in message


async def test_no_tail_is_lost_when_a_sender_closes_against_a_slow_receiver() -> None:
    names = ["ipc://@actorstream-test-tail-0", "ipc://@actorstream-test-tail-1"]
    async with pair(fabric(names), fabric(names)) as (a, b):
        frames = [sample(a, seed, rows=20_000) for seed in range(8)]
        for frame in frames:
            assert a.sender(0).send_nowait(frame)
        assert a.sender(0).send_nowait(Frame(FrameKind.END))
        closing = asyncio.ensure_future(a.transport.close())  # nothing has been read yet
        await receive_all(b, 8, 20_000, 0)
        await closing


async def test_a_worker_waits_for_a_peer_that_starts_late() -> None:
    names = ["ipc://@actorstream-test-late-0", "ipc://@actorstream-test-late-1"]
    a = Side(ZmqTransport, fabric(names), 0, list(CHANNELS), deadline=20.0)
    starting = asyncio.ensure_future(a.transport.start())
    await asyncio.sleep(0)
    assert not starting.done()
    b = Side(ZmqTransport, fabric(names), 1, list(CHANNELS), deadline=20.0)
    try:
        await asyncio.gather(starting, b.transport.start())
        await a.send(sample(a, 0))
        verify(await b.receive(), 0)
    finally:
        await asyncio.gather(a.transport.close(), b.transport.close())


async def test_a_peer_that_never_starts_is_named_with_its_address() -> None:
    names = ["ipc://@actorstream-test-never-0", "ipc://@actorstream-test-never-1"]
    a = Side(ZmqTransport, fabric(names, start_s=0.2), 0, list(CHANNELS), deadline=20.0)
    try:
        with pytest.raises(ConfigurationError, match="worker 1 at ipc://@actorstream-test-never-1"):
            await a.transport.start()
    finally:
        await a.transport.close()


async def test_a_worker_opens_the_ways_to_more_peers_than_libzmq_has_sockets_for_unless_told() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    peers = range(1, 342)  # three sockets each, and one that receives: 1,024
    names = [f"ipc://@actorstream-test-many-{worker}" for worker in (0, *peers)]
    channels = pipes(*[(0, peer) for peer in peers], slots=1, budget=1 << 16)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    try:
        many = ZmqFabric(len(names), channels, PLAN, addresses=names, secret=SECRET, start_s=0.1)
        transport = ZmqTransport(many, 0)
        try:
            with pytest.raises(
                ConfigurationError, match=r"no answer within .* worker 1 at .*, worker 341 at"
            ):
                await transport.start()
        finally:
            await transport.close()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_workers_of_different_plans_refuse_each_other() -> None:
    names = ["ipc://@actorstream-test-plans-0", "ipc://@actorstream-test-plans-1"]
    sides = [
        Side(ZmqTransport, fabric(names, plan=PLAN + worker), worker, list(CHANNELS), deadline=20.0)
        for worker in (0, 1)
    ]
    try:
        found = await asyncio.gather(*(side.transport.start() for side in sides), return_exceptions=True)
        for error in found:
            assert isinstance(error, ConfigurationError) and "start all workers from the same" in str(error)
    finally:
        await asyncio.gather(*(side.transport.close() for side in sides))


@pytest.mark.parametrize("scheme", ["ipc", "tcp"])
async def test_a_worker_with_another_secret_is_not_heard(scheme: str) -> None:
    if scheme == "tcp":
        names = [f"tcp://127.0.0.1:{free_port()}" for _ in range(2)]
    else:
        names = [f"ipc://@actorstream-test-secret-{worker}" for worker in (0, 1)]
    options = {"start_s": 0.5}
    a = Side(ZmqTransport, fabric(names, **options), 0, list(CHANNELS), deadline=20.0)
    b = Side(ZmqTransport, fabric(names, secret=bytes(32), **options), 1, list(CHANNELS), deadline=20.0)
    try:
        found = await asyncio.gather(a.transport.start(), b.transport.start(), return_exceptions=True)
        for error in found:
            assert isinstance(error, ConfigurationError) and "the same key" in str(error)
    finally:
        await asyncio.gather(a.transport.close(), b.transport.close())


async def test_a_port_in_use_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigurationError, match=f"cannot listen at {address}"):
            ZmqTransport(fabric([address, f"tcp://127.0.0.1:{free_port()}"]), 0)


async def test_a_peer_that_leaves_is_no_peer_that_is_lost() -> None:
    names = ["ipc://@actorstream-test-leave-0", "ipc://@actorstream-test-leave-1"]
    async with pair(fabric(names), fabric(names)) as (a, b):
        await a.send(Frame(FrameKind.END))
        await a.transport.close()
        assert (await b.receive()).kind == FrameKind.END
        assert b.receiver(0).peek() is None
        with pytest.raises(BrokenError, match="worker 0 has left"):
            b.sender(1).send_nowait(sample(b, 0))
