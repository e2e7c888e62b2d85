"""Streams of bytes in messages: all arrives in order, a window bounds what is under way, and an end is an end."""

from __future__ import annotations

import asyncio
import random
import socket

import pytest

from actorstream.errors import BrokenError
from actorstream.transports.network.message import CREDIT, CREDITS, STREAM, STREAM_END
from actorstream.transports.network.stream_pump import PIECE, WINDOW, StreamPump


class Pair:
    """Two pumps that hand their messages to each other at once, and the sockets of those who use them."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        (self.near, first), (self.far, second) = socket.socketpair(), socket.socketpair()
        self.under_way = self.most = 0
        self.first = StreamPump(first, loop, lambda kind, body: self._to_second(kind, body))
        self.second = StreamPump(second, loop, lambda kind, body: hand(self.first, kind, body))
        for sock in (self.near, self.far):
            sock.setblocking(False)

    def _to_second(self, kind: int, body: bytes) -> None:
        self.under_way += len(body) if kind == STREAM else 0
        hand(self.second, kind, body)

    def close(self) -> None:
        for each in (self.first, self.second, self.near, self.far):
            each.close()


def hand(pump: StreamPump, kind: int, body: bytes) -> None:
    if kind == STREAM:
        pump.arrived(body)
    elif kind == STREAM_END:
        pump.end()
    else:
        assert kind == CREDIT
        pump.credit(CREDITS.unpack(body)[1])


async def test_bytes_arrive_in_order_and_then_the_end() -> None:
    pair = Pair()
    loop = asyncio.get_running_loop()
    data = random.Random(1).randbytes(5 * WINDOW + 17)

    async def write() -> None:
        await loop.sock_sendall(pair.near, data)
        pair.near.shutdown(socket.SHUT_WR)

    writing = asyncio.ensure_future(write())
    found = bytearray()
    while part := await loop.sock_recv(pair.far, 1 << 17):
        found += part
    await writing
    assert bytes(found) == data
    pair.close()


async def test_whoever_does_not_read_holds_up_the_writer() -> None:
    pair = Pair()
    loop = asyncio.get_running_loop()
    writing = asyncio.ensure_future(loop.sock_sendall(pair.near, bytes(20 * WINDOW)))
    before = -1
    while before != pair.under_way:  # until nothing moves any more
        before = pair.under_way
        for _ in range(200):
            await asyncio.sleep(0)
    assert not writing.done()
    assert pair.under_way <= 2 * WINDOW + PIECE
    writing.cancel()
    pair.close()


async def test_a_peer_that_sends_more_than_it_may_or_credits_what_was_not_sent_is_refused() -> None:
    pair = Pair()
    with pytest.raises(BrokenError, match="allowed"):
        for _ in range(100):
            pair.first.arrived(bytes(PIECE))
    with pytest.raises(BrokenError, match="were sent"):
        pair.first.credit(1)
    pair.close()
