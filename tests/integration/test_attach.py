"""Producers outside the plan: other programs that are given a token, and what they may not do."""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from actorstream.errors import BrokenError, ConfigurationError
from actorstream.events.batch import Batch
from actorstream.events.jumbo import HeapBlock, decode, encode
from actorstream.events.schema import Schema
from actorstream.native.doorbell import Doorbell
from actorstream.transports.base import Channel, Frame, FrameKind, ReceiveChannel
from actorstream.transports.shm import ShmTransport
from actorstream.transports.shm.handshake import (
    ListenToken,
    ProducerHello,
    readable,
    receive_offer,
    send_message,
)

PLAN = 0xABCD
SCHEMA = Schema.from_dict({"number": "int", "word": "str"}, name="Outside")
FORWARD = Channel(0, 0, 1, 0, 0)
BIT = 5

PRODUCER = """
import asyncio, sys
import numpy as np
from actorstream.events.batch import Batch
from actorstream.events.jumbo import encode
from actorstream.events.schema import Schema
from actorstream.transports.base import Frame, FrameKind
from actorstream.transports.shm import ShmTransport

SCHEMA = Schema.from_dict({"number": "int", "word": "str"}, name="Outside")

async def main():
    channel = await ShmTransport.attach(sys.argv[1])
    for n in range(int(sys.argv[2])):
        batch = Batch.of_columns(SCHEMA, {"number": np.arange(n, n + 100), "word": ["w%d" % n] * 100})
        jumbo = encode([batch], channel.arena, SCHEMA)
        await channel.send(Frame(FrameKind.DATA, jumbo, rows=100, nbytes=jumbo.nbytes, sequence=n))
    if sys.argv[3] == "end":
        await channel.send(Frame(FrameKind.END))
        channel.close()
    elif sys.argv[3] == "hang":
        print("sent", flush=True)
        await asyncio.sleep(60)

asyncio.run(main())
"""


class Host:
    """Worker 0 of a plan of two, and waiting on its doorbell."""

    def __init__(self) -> None:
        self.fabric = ShmTransport.fabric(2, [FORWARD], PLAN)
        self.transport = ShmTransport(self.fabric, 0)

    async def rung(self, bell: Doorbell | None = None) -> None:
        bell = bell or self.transport.doorbell
        async with asyncio.timeout(30):
            while not bell.collect():
                if bell.park():
                    await readable(bell.eventfd)
                    bell.unpark()

    async def next(self, end: ReceiveChannel) -> Frame:
        while (frame := end.peek()) is None:
            await self.rung()
        end.consume()
        return frame

    async def broken(self, end: ReceiveChannel) -> str:
        while True:
            try:
                assert end.peek() is None
            except BrokenError as error:
                return str(error)
            await self.rung()


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    made = Host()
    await made.transport.start()
    yield made
    await made.transport.close()
    made.fabric.close()


def program(token: str, count: int, how: str) -> subprocess.Popen[str]:
    """Another Python program, which shares nothing with this one but the token."""
    arguments = [sys.executable, "-c", PRODUCER, token, str(count), how]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


async def test_another_program_attaches_by_its_token_and_sends_to_the_end(host: Host) -> None:
    token = await host.transport.listen(BIT, slots=4, budget=8 << 10)
    with program(token, 200, "end") as producer:
        end = await host.transport.accept(token)
        for n in range(200):
            frame = await host.next(end)
            batch = decode(SCHEMA, frame.payload)
            assert batch["number"].tolist() == list(range(n, n + 100))
            assert batch["word"][99].as_py() == f"w{n}"
        assert (await host.next(end)).kind == FrameKind.END
        assert producer.wait(30) == 0
    assert end.peek() is None


async def test_two_programs_have_a_channel_each(host: Host) -> None:
    tokens = [await host.transport.listen(bit) for bit in (BIT, BIT + 1)]
    programs = [program(token, 20, "end") for token in tokens]
    ends = [await host.transport.accept(token) for token in tokens]
    for end in ends:
        sequences = [(await host.next(end)).sequence for _ in range(20)]
        assert sequences == list(range(20))
        assert (await host.next(end)).kind == FrameKind.END
    for each in programs:
        with each:
            assert each.wait(30) == 0


async def test_a_program_that_is_killed_breaks_its_channel_and_leaves_its_rows(host: Host) -> None:
    token = await host.transport.listen(BIT)
    with program(token, 3, "hang") as producer:
        end = await host.transport.accept(token)
        assert producer.stdout is not None
        assert await asyncio.to_thread(producer.stdout.readline) == "sent\n"
        producer.kill()
        producer.wait()
        views = [decode(SCHEMA, (await host.next(end)).payload)["number"] for _ in range(3)]
        assert "outside" in await host.broken(end)
        assert [int(view[0]) for view in views] == [0, 1, 2]


async def test_a_program_that_leaves_without_an_end_mark_breaks_its_channel(host: Host) -> None:
    token = await host.transport.listen(BIT)
    with program(token, 1, "leave") as producer:
        end = await host.transport.accept(token)
        await host.next(end)
        await host.broken(end)
        assert producer.wait(30) == 0


async def test_a_worker_that_leaves_breaks_the_producers_channel(host: Host) -> None:
    token = await host.transport.listen(BIT)
    sender = await ShmTransport.attach(token)
    await host.transport.accept(token)
    await host.transport.close()
    with pytest.raises(BrokenError):
        while True:
            sender.send_nowait(Frame(FrameKind.BARRIER))
            await host.rung(sender.doorbell)
    sender.close()


async def test_rows_from_outside_are_checked_and_are_forwarded_as_a_copy(host: Host) -> None:
    other = ShmTransport(host.fabric, 1)
    token = await host.transport.listen(BIT)
    sender = await ShmTransport.attach(token)
    end = await host.transport.accept(token)
    batch = Batch.of_columns(SCHEMA, {"number": np.arange(4), "word": list("abcd")})
    jumbo = encode([batch], sender.arena, SCHEMA)
    await sender.send(Frame(FrameKind.DATA, jumbo, rows=4, nbytes=jumbo.nbytes))
    frame = await host.next(end)
    assert not end.forwardable
    assert not frame.payload.trusted
    assert host.transport.sender(FORWARD).send_nowait(frame)
    sender.close()
    arrived = other.receiver(FORWARD).peek()
    assert arrived is not None
    assert arrived.payload.block.arena_id == host.transport.arena.id
    assert not arrived.payload.trusted
    assert decode(SCHEMA, arrived.payload)["word"].to_pylist() == list("abcd")
    await other.close()


async def test_a_damaged_jumbo_tuple_from_outside_is_refused_when_it_is_read(host: Host) -> None:
    token = await host.transport.listen(BIT)
    sender = await ShmTransport.attach(token)
    end = await host.transport.accept(token)
    batch = Batch.of_columns(SCHEMA, {"number": np.arange(4), "word": list("abcd")})
    jumbo = encode([batch], sender.arena, SCHEMA)
    jumbo.block.view()[64 + 32 + 16 : 64 + 32 + 24] = 255  # the word column's data offset points far outside
    await sender.send(Frame(FrameKind.DATA, jumbo, rows=4, nbytes=512))
    frame = await host.next(end)
    with pytest.raises(BrokenError):
        decode(SCHEMA, frame.payload)["word"]
    sender.close()


async def test_a_token_lets_one_producer_in(host: Host) -> None:
    token = await host.transport.listen(BIT)
    first = await ShmTransport.attach(token)
    await host.transport.accept(token)
    with pytest.raises(BrokenError, match="nobody listens"):
        await ShmTransport.attach(token)
    first.close()


async def test_a_worker_that_gives_up_waiting_for_a_producer_may_wait_again(host: Host) -> None:
    token = await host.transport.listen(BIT)
    waiting = asyncio.create_task(host.transport.accept(token))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    sender = await ShmTransport.attach(token)
    end = await host.transport.accept(token)
    with pytest.raises(ConfigurationError, match="already"):
        await host.transport.accept(token)
    await sender.send(Frame(FrameKind.END))
    assert (await host.next(end)).kind == FrameKind.END
    sender.close()


@pytest.mark.parametrize("ends", ["with an end mark", "without one"])
async def test_nothing_is_left_of_producers_whose_channels_were_closed(host: Host, ends: str) -> None:
    gc.collect()  # what earlier tests have left must not go away between
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    frames = []
    for number in range(3):
        token = await host.transport.listen(BIT)
        sender = await ShmTransport.attach(token)
        end = await host.transport.accept(token)
        batch = Batch.of_columns(SCHEMA, {"number": np.arange(number, number + 4), "word": list("abcd")})
        jumbo = encode([batch], sender.arena, SCHEMA)
        await sender.send(Frame(FrameKind.DATA, jumbo, rows=4, nbytes=jumbo.nbytes))
        del jumbo
        frames.append(await host.next(end))
        if ends == "with an end mark":
            await sender.send(Frame(FrameKind.END))
            assert (await host.next(end)).kind == FrameKind.END
            sender.close()
        else:
            sender.close()
            await host.broken(end)
        end.close()
        with pytest.raises(ConfigurationError, match="does not listen under"):
            await host.transport.accept(token)
    del sender, end
    await asyncio.sleep(0)
    gc.collect()
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before
    assert "outside" not in Path("/proc/self/maps").read_text()
    assert [int(decode(SCHEMA, frame.payload)["number"][0]) for frame in frames] == [0, 1, 2]


async def test_a_token_of_another_plan_is_refused_and_says_why(host: Host) -> None:
    token = ListenToken.parse(await host.transport.listen(BIT))
    with pytest.raises(BrokenError, match=r"plan 0x0*1234"):
        await ShmTransport.attach(str(ListenToken(token.name, 0x1234, token.secret)))


async def test_another_version_of_the_handshake_is_refused_and_says_why(host: Host) -> None:
    token = ListenToken.parse(await host.transport.listen(BIT))
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_NONBLOCK) as connection:
        connection.connect(token.address)
        await send_message(connection, ProducerHello(99, PLAN, token.secret), [])
        with pytest.raises(BrokenError, match="version 99"):
            await receive_offer(connection)


async def test_garbage_on_the_socket_does_not_use_up_the_token(host: Host) -> None:
    token = ListenToken.parse(await host.transport.listen(BIT))
    for garbage in (b"", b"x" * 4096, b"x" * 60_000, b"\xc1"):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
            connection.connect(token.address)
            connection.send(garbage)
    (await ShmTransport.attach(str(token))).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
async def test_a_process_of_another_user_is_refused(host: Host) -> None:
    token = await host.transport.listen(BIT)
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            asyncio._set_running_loop(None)
            os.setuid(65534)
            try:
                asyncio.run(_attach(token))
                answer = "was let in"
            except BrokenError as error:
                answer = str(error)
            os.write(theirs, answer.encode())
        finally:
            os._exit(0)
    os.close(theirs)
    await readable(ours)
    answer = os.read(ours, 4096).decode()
    os.close(ours)
    os.waitpid(child, 0)
    assert "user" in answer or "gone" in answer or "hung up" in answer
    (await ShmTransport.attach(token)).close()


async def _attach(token: str) -> None:
    await ShmTransport.attach(token)


@pytest.mark.parametrize(
    "text", ["", "abc", "actorstream-shm1:xx:1:yy", "actorstream-shm1:" + "g" * 16 + ":1:" + "0" * 32]
)
async def test_what_is_no_token_is_a_configuration_error(text: str) -> None:
    with pytest.raises(ConfigurationError, match="no token"):
        await ShmTransport.attach(text)


async def test_a_bit_outside_the_doorbell_is_refused(host: Host) -> None:
    with pytest.raises(ConfigurationError, match="receive_bit 1000000"):
        await host.transport.listen(1_000_000)


async def test_an_outside_producer_may_send_what_lies_on_its_heap(host: Host) -> None:
    token = await host.transport.listen(BIT)
    sender = await ShmTransport.attach(token)
    end = await host.transport.accept(token)
    jumbo = encode([Batch.of_columns(SCHEMA, {"number": np.arange(2), "word": ["a", "b"]})], None, SCHEMA)
    assert isinstance(jumbo.block, HeapBlock)
    await sender.send(Frame(FrameKind.DATA, jumbo, rows=2, nbytes=jumbo.nbytes))
    assert decode(SCHEMA, (await host.next(end)).payload)["number"].tolist() == [0, 1]
    sender.close()
