"""Producers outside the plan that do what they must not: what the worker reads stays what it has checked, and others get in."""

from __future__ import annotations

import asyncio
import errno
import os
import random
import socket
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest
from actorstream.native._core import ffi

from actorstream.errors import ActorstreamError, BrokenError
from actorstream.events.batch import Batch
from actorstream.events.jumbo import JumboTuple, decode, encode
from actorstream.events.schema import Schema
from actorstream.native.channel import Entry
from actorstream.transports.base import Frame, FrameKind, ReceiveChannel
from actorstream.transports.shm import ShmTransport, handshake, listener, outside
from actorstream.transports.shm.handshake import (
    VERSION,
    ListenToken,
    ProducerHello,
    receive_offer,
    send_message,
)
from tests.integration.test_attach import BIT, PLAN, Host

SCHEMA = Schema.from_dict({"number": "int", "word": "str"}, name="Outside")


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    made = Host()
    await made.transport.start()
    yield made
    await made.transport.close()
    made.fabric.close()


async def pair(host: Host) -> tuple[Any, ReceiveChannel]:
    token = await host.transport.listen(BIT)
    sender = await ShmTransport.attach(token)
    return sender, await host.transport.accept(token)


def rows(sender: Any, count: int = 100) -> JumboTuple:
    words = [f"word {n}" for n in range(count)]
    return encode(
        [Batch.of_columns(SCHEMA, {"number": np.arange(count), "word": words})], sender.arena, SCHEMA
    )


def connected(token: str) -> socket.socket:
    """Somebody on the socket of a token, who has said nothing yet."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK)
    connection.connect(ListenToken.parse(token).address)
    return connection


async def test_rows_stay_what_was_checked_whatever_the_producer_writes_afterwards(host: Host) -> None:
    sender, end = await pair(host)
    jumbo = rows(sender)
    await sender.send(Frame(FrameKind.DATA, jumbo, rows=100, nbytes=jumbo.nbytes))
    batch = decode(SCHEMA, (await host.next(end)).payload)
    words = batch["word"]
    jumbo.block.view()[:] = 0x7F
    assert words.to_pylist() == [f"word {n}" for n in range(100)]
    assert [event.number for event in batch.events()] == list(range(100))
    sender.close()


@pytest.mark.parametrize(("first", "count"), [(-1000, 500), (10, -5), (0, 101), (2**62, 2**62)])
async def test_rows_that_a_jumbo_tuple_does_not_have_are_refused(host: Host, first: int, count: int) -> None:
    sender, end = await pair(host)
    jumbo = rows(sender)
    await sender.send(Frame(FrameKind.DATA, jumbo, first=first, rows=count, nbytes=jumbo.nbytes))
    with pytest.raises(BrokenError, match=f"sent rows {first} to"):
        end.peek()
    sender.close()


@pytest.mark.parametrize("kind", [0, 5, 77])
async def test_entries_that_are_no_frames_are_refused(host: Host, kind: int) -> None:
    sender, end = await pair(host)
    assert sender._ring.send(Entry(kind=kind, rows=1))
    with pytest.raises(BrokenError, match=f"kind {kind}"):
        end.peek()
    sender.close()


async def test_a_block_that_is_shorter_than_a_header_is_refused(host: Host) -> None:
    sender, end = await pair(host)
    jumbo = rows(sender)
    jumbo.block.view()[24:32].view(np.uint64)[0] = 10
    await sender.send(Frame(FrameKind.DATA, jumbo, rows=1, nbytes=64))
    with pytest.raises(BrokenError, match="a jumbo tuple of 10 bytes"):
        end.peek()
    sender.close()


@pytest.mark.parametrize("seed", range(20))
async def test_whatever_stands_in_the_shared_memory_the_worker_reads_rows_or_says_what_is_wrong(
    host: Host, seed: int
) -> None:
    rng = random.Random(seed)
    sender, end = await pair(host)
    jumbos = [rows(sender, 1 + rng.randrange(200)) for _ in range(20)]
    for jumbo in jumbos:
        sender.send_nowait(Frame(FrameKind.DATA, jumbo, rows=jumbo.rows, nbytes=jumbo.nbytes))
    memory = sender._line._memory if seed % 2 else None
    shared = [np.frombuffer(jumbo.block.view(), np.uint8) for jumbo in jumbos]
    if memory is not None:
        shared.append(np.frombuffer(ffi.buffer(memory.pointer(0), memory.nbytes), np.uint8))
    for _ in range(200):
        target = rng.choice(shared)
        at = rng.randrange(min(len(target), 4096)) & ~7
        size = min(rng.choice((1, 4, 8)), len(target) - at)
        target[at : at + size] = rng.choice((0, 0xFF, 0x7F, rng.randrange(256)))
        try:
            frame = end.peek()
            if frame is not None:
                if frame.payload is not None:
                    decode(SCHEMA, frame.payload, frame.first, frame.rows).events()
                end.consume()
        except ActorstreamError:
            if rng.random() < 0.3:
                break
    end.close()
    sender.close()


async def test_a_producer_is_given_no_memory_of_the_run_but_its_channel_and_its_arena(host: Host) -> None:
    token = ListenToken.parse(await host.transport.listen(BIT))
    with connected(str(token)) as connection:
        await send_message(connection, ProducerHello(VERSION, PLAN, token.secret), [])
        _, fds = await receive_offer(connection)
    theirs = {os.fstat(fd).st_ino for fd in fds}
    assert os.fstat(host.fabric.control.fd).st_ino not in theirs
    assert not theirs & {os.fstat(fd).st_ino for fd in host.fabric.arena_fds.values()}
    for fd in fds:
        os.close(fd)


async def test_somebody_who_says_nothing_keeps_nobody_waiting(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handshake, "SECONDS", 3600.0)
    token = await host.transport.listen(BIT)
    with connected(token), connected(token):
        async with asyncio.timeout(30):
            (await ShmTransport.attach(token)).close()


async def test_a_client_that_could_not_be_accepted_does_not_end_the_listener(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    accept, failed = loop.sock_accept, []

    async def short_of_descriptors(listening: socket.socket) -> Any:
        if len(failed) < 2:
            failed.append(True)
            raise OSError(errno.EMFILE, "too many open files")
        return await accept(listening)

    monkeypatch.setattr(listener, "RETRY", 0)
    monkeypatch.setattr(loop, "sock_accept", short_of_descriptors)
    token = await host.transport.listen(BIT)
    async with asyncio.timeout(30):
        (await ShmTransport.attach(token)).close()
    assert len(failed) == 2


async def test_attaching_that_fails_leaves_no_descriptor_open(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    async def listed(connection: socket.socket) -> Any:
        offer, fds = await receive_offer(connection)
        given.extend(fds)
        return offer, fds

    def refused(*arguments: object, **named: object) -> None:
        raise BrokenError("no memory for another arena")

    monkeypatch.setattr(outside, "receive_offer", listed)
    monkeypatch.setattr(outside.Arena, "create", refused)
    with pytest.raises(BrokenError, match="another arena"):
        await ShmTransport.attach(await host.transport.listen(BIT))
    assert len(given) == handshake.DESCRIPTORS
    for fd in given:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
